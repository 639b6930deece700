"""kcat (an older librdkafka): produce, consume in every shape, metadata, offsets by time, processes in one group."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.names import Fresh, MakeTopic
from tests.support.nodes import one_node
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.needs("kcat")


def kcat(bootstrap: str, *arguments: str, stdin: bytes = b"", seconds: float = PATIENCE_S) -> bytes:
    """Run kcat to its end; its standard output."""
    done = subprocess.run(["kcat", "-b", bootstrap, *arguments], input=stdin, capture_output=True, timeout=seconds)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def envelopes(output: bytes) -> list[dict[str, Any]]:
    """kcat -J prints one JSON object a line."""
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_go_in_and_come_out(bootstrap: str, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic()
    lines = [f"key-{number}:value {number} " + "x" * 200 for number in range(500)]
    setting = f"compression.codec={codec}"
    kcat(bootstrap, "-P", "-t", topic, "-K", ":", "-X", setting, stdin="\n".join(lines).encode())
    out = kcat(bootstrap, "-C", "-t", topic, "-K", ":", "-e", "-q")
    assert out.decode().splitlines() == lines


def test_headers_nulls_and_offsets(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kcat(bootstrap, "-P", "-t", topic, "-H", "trace=1", "-H", "trace=2", "-k", "who", stdin=b"first")
    kcat(bootstrap, "-P", "-t", topic, "-Z", "-K", ":", stdin=b"gone:\n")
    first, second = envelopes(kcat(bootstrap, "-C", "-t", topic, "-J", "-e", "-q"))
    assert (first["key"], first["payload"], first["offset"]) == ("who", "first", 0)
    assert first["headers"] == ["trace", "1", "trace", "2"]
    assert abs(first["ts"] - time.time() * 1000) < 60_000
    assert (second["key"], second["payload"], second["offset"]) == ("gone", None, 1)


def test_a_file_of_ten_megabytes(bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(max_message_bytes="11000000")
    large = tmp_path / "large"
    large.write_bytes(bytes(range(1, 10)) * 1_111_111)
    kcat(bootstrap, "-P", "-t", topic, "-X", "message.max.bytes=11000000", str(large))
    assert kcat(bootstrap, "-C", "-t", topic, "-e", "-q", "-D", "") == large.read_bytes()


def test_consume_from_the_middle_the_end_and_a_time(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kcat(bootstrap, "-P", "-t", topic, stdin=b"".join(b"%d\n" % number for number in range(50)))
    time.sleep(0.05)  # so that the next batch has a later timestamp
    between = int(time.time() * 1000)
    kcat(bootstrap, "-P", "-t", topic, stdin=b"".join(b"%d\n" % number for number in range(50, 60)))

    def numbers(offset: str) -> list[int]:
        return [int(line) for line in kcat(bootstrap, "-C", "-t", topic, "-p", "0", "-o", offset, "-e", "-q").split()]

    assert numbers("beginning") == list(range(60))
    assert numbers("47") == list(range(47, 60))
    assert numbers("-5") == list(range(55, 60))
    assert numbers(f"s@{between}") == list(range(50, 60))
    assert kcat(bootstrap, "-Q", "-t", f"{topic}:0:{between}").decode().strip() == f"{topic} [0] offset 50"


@one_node
def test_metadata_names_brokers_topics_and_partitions(bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    everything = json.loads(kcat(bootstrap, "-L", "-J"))
    (broker,) = everything["brokers"]
    assert broker["name"] == bootstrap
    (one,) = [found for found in everything["topics"] if found["topic"] == topic]
    assert sorted(partition["partition"] for partition in one["partitions"]) == [0, 1, 2]
    assert {partition["leader"] for partition in one["partitions"]} == {broker["id"]}


def test_processes_of_one_group_share_a_topic(
    bootstrap: str, make_topic: MakeTopic, fresh: Fresh, tmp_path: Path
) -> None:
    topic, group = make_topic(4), fresh()
    outputs = [tmp_path / "one", tmp_path / "two"]
    settings = ["-X", "auto.offset.reset=earliest", "-X", "heartbeat.interval.ms=200", "-X", "session.timeout.ms=6000"]
    command = ["kcat", "-b", bootstrap, *settings, "-u", "-f", "%p:%s\n", "-G", group, topic]
    members: list[subprocess.Popen[bytes]] = []
    logs = [(tmp_path / "one.log"), (tmp_path / "two.log")]

    def start(index: int) -> None:
        with outputs[index].open("wb") as out, logs[index].open("wb") as log:
            members.append(subprocess.Popen(command, stdout=out, stderr=log))

    def partitions_of(index: int) -> int:
        """How many partitions the member was last assigned, by what kcat prints at each rebalance."""
        lines = [line for line in logs[index].read_text().splitlines() if "rebalanced" in line]
        return lines[-1].count(f"{topic} [") if lines and "assigned" in lines[-1] else 0

    try:
        start(0)
        until(lambda: partitions_of(0) == 4, "one process owns all")
        start(1)
        until(lambda: (partitions_of(0), partitions_of(1)) == (2, 2), "two processes share")
        for partition in range(4):
            values = b"".join(b"%d\n" % number for number in range(25))
            kcat(bootstrap, "-P", "-t", topic, "-p", str(partition), stdin=values)

        def read() -> set[str]:
            return {line for output in outputs for line in output.read_text().splitlines()}

        wanted = {f"{partition}:{number}" for partition in range(4) for number in range(25)}
        until(lambda: read() == wanted, "every record")
        members[0].terminate()
        members[0].wait(20)
        until(lambda: partitions_of(1) == 4, "the one that stayed owns all")
    finally:
        for one in members:
            one.terminate()
            one.wait(20)
