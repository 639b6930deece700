"""The raw generator counts what it is answered, follows offsets and reports errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bench import frames, load
from bench.load import LoadError, Shape
from bench.sides import Side
from tests.support.waiting import until
from tests.unit.bench.toy import Handler, Toy, fetched, produced

pytestmark = pytest.mark.needs("gcc")

LONG_S = 60.0
"""A run ends after `max_mb`, however long a busy machine takes for it; this bound only ends a hung one."""
SHORT = Shape(secs=LONG_S, warm_s=0.0, max_mb=0.02)


class Here(Side):
    """This very process as the server, so that its CPU time can be read."""

    name = "here"

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__(folder, None)
        self.port = port

    @property
    def pid(self) -> int:
        return os.getpid()


def run(mode: str, handler: Handler, frame: frames.Frame, shape: Shape, folder: Path) -> load.Figures:
    with Toy(handler) as toy:
        return load.raw(mode, Here(folder, toy.port), frame, shape, None)


def test_pipelined_produce_requests_go_to_every_partition(tmp_path: Path) -> None:
    seen: set[int] = set()

    def handler(header: Any, request: Any) -> bytes:
        seen.add(request.topic_data[0].partition_data[0].index)
        return produced(header, request)

    frame = frames.produce("t", frames.batch([b"x" * 100]), 1)
    shape = Shape(conns=3, depth=4, partitions=2, secs=LONG_S, warm_s=0.0, max_mb=0.05)
    figures = run("produce", handler, frame, shape, tmp_path)
    assert seen == {0, 1}
    assert figures["req_s"] > 0
    assert figures["mb_s"] == pytest.approx(figures["req_s"] * len(frame.data) / 1e6)


def test_an_error_code_in_an_answer_is_a_failure(tmp_path: Path) -> None:
    frame = frames.produce("t", frames.batch([b"x"]), 1)
    with pytest.raises(LoadError, match="error code 3"):
        run("produce", lambda h, r: produced(h, r, error=3), frame, SHORT, tmp_path)


def test_fetch_walks_whole_batches_and_begins_again_at_the_end(tmp_path: Path) -> None:
    asked: list[int] = []
    batch = frames.batch([b"x" * 50] * 10)

    def handler(header: Any, request: Any) -> bytes:
        offset = request.topics[0].partitions[0].fetch_offset
        asked.append(offset)
        placed = offset.to_bytes(8, "big") + batch[8:]
        return fetched(header, request, placed + batch[:30], high_watermark=30)

    figures = run("fetch", handler, frames.fetch("t", 1 << 20), SHORT, tmp_path)
    assert asked[:5] == [0, 10, 20, 0, 10]
    assert figures["mb_s"] == pytest.approx(figures["req_s"] * len(batch) / 1e6)


def test_round_trips_are_measured_at_the_rate_that_was_asked_for(tmp_path: Path) -> None:
    frame = frames.produce("t", frames.batch([b"x"]), 1)
    answered = 0

    def handler(header: Any, request: Any) -> bytes:
        nonlocal answered
        answered += 1
        return produced(header, request)

    def at_the_rate() -> bool:
        """A busy machine stalls the driver, which is slower then: one undisturbed run tells."""
        nonlocal answered
        answered = 0
        figures = run("latency", handler, frame, Shape(rate=200, secs=0.5, warm_s=0.1), tmp_path)
        assert answered == 120
        assert 0 < figures["p50_us"] <= figures["p99_us"]
        assert figures["req_s"] < 220, "never faster"
        return figures["req_s"] > 180

    until(at_the_rate, "about 200 a second")
