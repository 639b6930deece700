"""What a user sees: the standard error of a Spark job that fails. Each mistake takes at most three lines there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 3
SECONDS_MAX = 500

WORDS = {
    "a topic that is not there": ("ordres", "kafka.bootstrap.servers"),
    "a stream of a topic that is not there": ("ordres", "kafka.bootstrap.servers"),
    "a stream from a broker that cannot be reached": ("127.0.0.1:1", "kafka.bootstrap.servers"),
    "a schema that is none": ("valueSchema", "nothing"),
    "a stream of records of another schema": ("orders", "partition 0, offset 0", "onCorrupt"),
    "data lost by retention": ("orders-0", "failOnDataLoss"),
    "half of a checkpoint": ("checkpointLocation",),
    "a sink whose topic is not there": ("ordres", "create it"),
    "a write without a mode": ('mode("append")',),
    "a failed query that nobody waits for": ("revenue", "127.0.0.1:1", "kafka.bootstrap.servers"),
}
"""The mistakes in their order, and what must be in the lines about each."""


@pytest.fixture(scope="module")
def said() -> Iterator[dict[str, str]]:
    """Standard error between the marks, by mistake, of one job that makes them all."""
    words = [sys.executable, str(Path(__file__).resolve())]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=SECONDS_MAX, check=False, env=os.environ | {"PYTHONPATH": paths}
    )
    parts = re.findall(r"^<<< (.+?)\n(.*?)^>>>\n", done.stderr, re.MULTILINE | re.DOTALL)
    assert len(parts) == len(WORDS), done.stderr[-4000:]
    yield dict(parts)


@pytest.mark.parametrize("mistake", WORDS)
def test_a_mistake_takes_three_lines_on_the_drivers_standard_error(said: dict[str, str], mistake: str) -> None:
    lines = [line for line in said[mistake].splitlines() if not is_sparks_own(line)]
    assert 1 <= len(lines) <= LINES_MAX, said[mistake]
    for word in WORDS[mistake]:
        assert word in "\n".join(lines), said[mistake]


def is_sparks_own(line: str) -> bool:
    """Spark warns every streaming query of a setting that it turns off; before 4.2, of its trigger. Nothing failed."""
    return "ResolveWriteToStream: spark.sql.adaptive.enabled" in line or "does not support Trigger.AvailableNow" in line


# -- the job


def main() -> None:
    """Make every mistake; the interpreter's own hook tells each as if it ended the program."""
    from confluent_kafka import Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic
    from pyspark.sql import SparkSession

    import pyspark_tapelog
    from tapelog.testing import Broker

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    pyspark_tapelog.register(spark)
    with Broker() as broker, tempfile.TemporaryDirectory() as place:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(30)
        producer = Producer({"bootstrap.servers": broker.bootstrap})

        def write() -> None:
            for number in range(20):
                producer.produce("orders", b"%d" % number)
            assert producer.flush(30) == 0

        def lose(up_to: int) -> None:
            for future in admin.delete_records([TopicPartition("orders", 0, up_to)]).values():
                future.result(30)

        write()
        Job(spark, broker.bootstrap, Path(place)).make_mistakes(write, lose)
    spark.stop()


class Job:
    """The mistakes."""

    def __init__(self, spark: Any, bootstrap: str, place: Path) -> None:
        self.spark, self.place = spark, place
        self.given = {"kafka.bootstrap.servers": bootstrap, "subscribe": "orders", "startingOffsets": "earliest"}

    def batch(self, **more: str) -> None:
        self.spark.read.format("tapelog").options(**(self.given | more)).load().collect()

    def start(self, checkpoint: str, name: str | None = None, **more: str) -> Any:
        frame = self.spark.readStream.format("tapelog").options(**(self.given | more)).load()
        sink = frame.writeStream.format("noop").option("checkpointLocation", str(self.place / checkpoint))
        return (sink.queryName(name) if name else sink).trigger(availableNow=True).start()

    def stream(self, checkpoint: str, **more: str) -> None:
        self.start(checkpoint, **more).awaitTermination(60)

    def write(self, mode: str | None = "append", **more: str) -> None:
        rows = self.spark.range(5).selectExpr("cast(id as string) as value")
        to = {"kafka.bootstrap.servers": self.given["kafka.bootstrap.servers"]} | more
        writer = rows.write.format("tapelog").options(**to)
        (writer if mode is None else writer.mode(mode)).save()

    def make_mistakes(self, write: Callable[[], None], lose: Callable[[int], None]) -> None:
        """All of WORDS, in order."""
        absent = {"subscribe": "ordres"}
        nobody = {"kafka.bootstrap.servers": "127.0.0.1:1", "kafka.default.api.timeout.ms": "500"}
        none = {"valueFormat": "avro", "valueSchema": '{"type": "nothing"}'}
        fields = '[{"name": "a", "type": "long"}, {"name": "b", "type": "string"}]'
        other = {"valueFormat": "avro", "valueSchema": f'{{"type": "record", "name": "R", "fields": {fields}}}'}
        with mistake("a topic that is not there"):
            self.batch(**absent)
        with mistake("a stream of a topic that is not there"):
            self.stream("a", **absent)
        with mistake("a stream from a broker that cannot be reached"):
            self.stream("b", **nobody)
        with mistake("a schema that is none"):
            self.batch(**none)
        with mistake("a stream of records of another schema"):
            self.stream("c", **other)
        self.stream("d")
        write()
        lose(30)
        with mistake("data lost by retention"):
            self.stream("d")
        for file in (self.place / "d" / "offsets").iterdir():
            file.unlink()
        with mistake("half of a checkpoint"):
            self.stream("d")
        with mistake("a sink whose topic is not there"):
            self.write(topic="ordres")
        with mistake("a write without a mode"):
            self.write(None, topic="orders")
        with mistake("a failed query that nobody waits for"):
            query = self.start("e", "revenue", **nobody)
            over = time.monotonic() + 60
            while query.isActive and time.monotonic() < over:
                time.sleep(0.1)
            time.sleep(5)  # what is told late: telling.GRACE_SECONDS


class mistake:
    """Marks around what is said; an error is told by the hook, as when it ends a program."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        print(f"<<< {self.name}", file=sys.stderr, flush=True)

    def __exit__(self, kind: Any, error: Any, frames: Any) -> bool:
        if error is not None:
            sys.excepthook(kind, error, frames)
        time.sleep(0.5)  # Spark's log is written by other threads
        print(">>>", file=sys.stderr, flush=True)
        return True


if __name__ == "__main__":
    main()
