"""Spark's Python workers: what is printed when few rows of many are taken, and whose sockets are touched."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tapelog.spark.source import workers

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 500
RECORDS = 60_000
"""More than the pipe between a worker and the JVM holds: the worker is still writing when the JVM has enough."""


@pytest.fixture(scope="module")
def said() -> str:
    """Standard error of a session that registers twice and takes few rows ten times."""
    words = [sys.executable, str(Path(__file__).resolve())]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=SECONDS_MAX, check=False, env=os.environ | {"PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stderr


def test_taking_few_rows_of_many_prints_no_traceback(said: str) -> None:
    assert (said.count("Traceback"), said.count("BrokenPipeError")) == (0, 0), said[-4000:]


def test_register_does_not_let_spark_warn_of_itself(said: str) -> None:
    assert "replaced a statically registered data source" not in said


def sockets_in_a_task(_: int) -> tuple[bool, bool, bool]:
    """Runs in a worker: is the way to the JVM a socket, is it told to acknowledge at once, is one of our own?"""
    option = socket.TCP_QUICKACK
    found: Any = workers._file_from_the_jvm()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as own,
        socket.socket(fileno=os.dup(found.fileno())) as jvm,
    ):
        for sock in (own, jvm):
            sock.setsockopt(socket.IPPROTO_TCP, option, 0)
        workers.acknowledge()
        asked = [bool(sock.getsockopt(socket.IPPROTO_TCP, option)) for sock in (jvm, own)]
        return jvm.getpeername() != own.getpeername(), *asked


@pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="needs TCP_QUICKACK, which Linux has")
def test_only_the_way_to_the_jvm_is_touched(spark: Any) -> None:
    assert spark.sparkContext.parallelize([0], 1).map(sockets_in_a_task).collect() == [(True, True, False)]


# -- the session


def main() -> None:
    """Ten calls that take few rows of many."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic
    from pyspark.sql import SparkSession

    import tapelog.spark
    from tapelog.testing import Broker

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    tapelog.spark.register(spark)
    tapelog.spark.register(spark.newSession())
    with Broker() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic("many", 2, 1)])["many"].result(30)
        producer = Producer({"bootstrap.servers": broker.bootstrap, "queue.buffering.max.messages": 2 * RECORDS})
        for number in range(RECORDS):
            producer.produce("many", b"%0200d" % number)
        assert producer.flush(60) == 0
        where = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "many"}
        frame = spark.read.format("tapelog").options(**where).load()
        for _ in range(3):
            frame.show(3)
            assert frame.first() is not None and len(frame.limit(5).collect()) == 5
        assert frame.head() is not None
    spark.stop()


if __name__ == "__main__":
    main()
