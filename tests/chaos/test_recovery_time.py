"""After kill -9 with a large segment of one-record batches the broker serves again within two seconds of CPU time.

How long that takes by the clock is printed; on a busy machine it says more about the others.

TAPELOG_CHAOS_SEGMENT_MB: 200 here; 1024 in `make chaos` (whenever TAPELOG_CHAOS_KILLS asks for more than 50).
"""

from __future__ import annotations

import os
import struct
import threading
import time
from pathlib import Path

import pytest

from tapelog.testing import Broker
from tests.support.raw import PRODUCE, Raw, batches, create_topic, end_offset, fetch, header, produce_body, simple_batch

FULL = int(os.environ.get("TAPELOG_CHAOS_KILLS", "10")) > 50
MEGABYTES = int(os.environ.get("TAPELOG_CHAOS_SEGMENT_MB", "1024" if FULL else "200"))
LIMIT_S = 2.0
ATTEMPTS = 3
CONNECTIONS = 4
AT_ONCE = 200


def fill(bootstrap: str, topic: str, requests: int) -> None:
    """So many Produce requests of one 100-byte record each, pipelined on a few connections."""
    payload = header(PRODUCE, 7, 1) + produce_body(topic, 0, simple_batch([b"x" * 100]), acks=-1)
    packed = (struct.pack(">i", len(payload)) + payload) * AT_ONCE
    code_at = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    failures: list[BaseException] = []
    with Raw(bootstrap) as raw:
        raw.send_frame(payload)
        answer_size = 4 + len(raw.receive_frame())

    def work() -> None:
        try:
            with Raw(bootstrap, timeout=60) as raw:
                raw.send_bytes(packed)
                for left in range(requests // CONNECTIONS // AT_ONCE, 0, -1):
                    if left > 1:
                        raw.send_bytes(packed)  # the next ones are on their way while these are answered
                    answers = raw.exactly(AT_ONCE * answer_size)  # every answer has the same size
                    code = struct.unpack_from(">h", answers, len(answers) - answer_size + code_at)[0]
                    assert code == 0, f"Produce answered {code}"
        except (OSError, AssertionError) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def cpu_seconds(pid: int) -> float:
    """What a process has used; on a machine that others use too, that tells more than the clock on the wall."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _told(seconds: list[float]) -> str:
    return ", ".join(f"{one:.2f}" for one in seconds)


@pytest.mark.timeout(400 + MEGABYTES)
def test_it_serves_soon_after_a_kill_with_a_large_segment(tmp_path: Path) -> None:
    batch_size = len(simple_batch([b"x" * 100]))
    requests = MEGABYTES * (1 << 20) // batch_size
    broker = Broker(data=tmp_path / "data")
    broker.start()
    try:
        with Raw(broker.bootstrap) as raw:
            assert create_topic(raw, "large") == 0
        started = time.monotonic()
        fill(broker.bootstrap, "large", requests)
        spent = time.monotonic() - started
        print(f"{requests} one-record batches, {MEGABYTES} MB, in {spent:.1f} s ({requests / spent:,.0f} a second)")
        took: list[float] = []
        worked: list[float] = []
        for _ in range(ATTEMPTS):  # a busy machine may spoil one
            broker.kill()
            started = time.monotonic()
            broker.start()
            with Raw(broker.bootstrap, timeout=60) as raw:
                _code, end = end_offset(raw, "large")
                code, _watermark, data = fetch(raw, "large", end - 1)
                took.append(time.monotonic() - started)
                worked.append(cpu_seconds(broker.pid))
                assert code == 0 and batches(data)[-1][1] == end - 1
                assert end >= requests // CONNECTIONS // AT_ONCE * AT_ONCE * CONNECTIONS
            if worked[-1] <= LIMIT_S:
                break
            fill(broker.bootstrap, "large", 20_000)
        segments = sorted((tmp_path / "data").rglob("large-0/*.log"))
        assert segments[0].stat().st_size > 0.95 * MEGABYTES * (1 << 20)
        print(f"serving again after {_told(took)} s, {_told(worked)} s of CPU time")
        assert min(worked) <= LIMIT_S
    finally:
        broker.kill()
