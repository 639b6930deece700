"""Apache Kafka's own tester of compaction: it writes keys over and over, deletes some, and compares what is left.

Between its runs the broker is killed, so that the second begins with what a cleaner left that was cut off.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tapelog.testing import Broker
from tests.clients.programs import java, prepare, run

pytestmark = [pytest.mark.needs("java"), pytest.mark.slow, pytest.mark.timeout(600)]

TESTER = "org.apache.kafka.tools.LogCompactionTester"
SETTINGS = {
    "log.cleaner.backoff.ms": 200,
    "log.cleaner.min.cleanable.ratio": 0.01,
    "log.index.interval.bytes": 1024,
    "log.index.size.max.bytes": 40,
}
"""Segments roll when their index is full: every 80 kB or so."""
MESSAGES = 20_000
PAUSE_S = 5
"""The tester's help calls them milliseconds; they are seconds."""


def compared_by_kafka(broker: Broker, place: Path, compression: str) -> tuple[int, int, int]:
    """How many records the tester wrote and read, and how many values it compared."""
    place.mkdir()
    load = ["--messages", str(MESSAGES), "--duplicates", "10", "--percent-deletes", "10", "--topics", "2"]
    how = ["--sleep", str(PAUSE_S), "--compression-type", compression]
    command = java(f"-Djava.io.tmpdir={place}", TESTER, "--bootstrap-server", broker.bootstrap, *load, *how)
    out = run(command)
    assert "Data verification is completed" in out
    counts = re.search(r"(\d+) rows of data produced, (\d+) rows of data consumed", out)
    values = re.search(r"Validated (\d+) values, 0 mismatches", out)
    assert counts and values, out
    return int(counts[1]), int(counts[2]), int(values[1])


def test_kafkas_tester_of_compaction_finds_every_latest_value_and_much_less_than_was_written(tmp_path: Path) -> None:
    prepare("java")
    with Broker(settings=SETTINGS) as broker:
        for compression in ("none", "zstd"):
            written, read, compared = compared_by_kafka(broker, tmp_path / compression, compression)
            assert written == 2 * MESSAGES
            assert read < 0.9 * written, "the cleaner has been there"
            assert compared > MESSAGES / 10
            broker.kill()
            broker.restart()
