"""One Spark session and one broker for all tests of the pipeline; everything here is left out where PySpark is absent.

TAPELOG_TEST_BOOTSTRAP=host:port runs the same tests against an existing cluster (Apache Kafka, say).
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tapelog.spark.pipeline.trouble import NOT_CONNECTED, told
from tests.support import anew

ROOT = Path(__file__).resolve().parents[2]
TOO_BUSY = (NOT_CONNECTED, told(NOT_CONNECTED)[0])
"""What Spark says, and what we make of it, when Python was not up within the ten seconds that Spark has for that."""


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """On a machine that is busy with other suites ten seconds may be too few: nothing has happened yet."""
    here = item.path.is_relative_to(Path(__file__).parent)
    return anew.protocol(item, nextitem, TOO_BUSY) if here else None


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    """The address of the cluster under test."""
    existing = os.environ.get("TAPELOG_TEST_BOOTSTRAP")
    if existing:
        yield existing
        return
    from tapelog.testing import Broker

    with Broker() as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def event_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session's event log is."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="session")
def spark(event_log: Path) -> Iterator[Any]:
    """The session: two slots, quiet, and our sources where its workers find them."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", f"file://{event_log}")
        .config("spark.eventLog.compress", "false")
        .config("spark.jars", ",".join(map(str, connector_jars())))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def connector_jars() -> list[Path]:
    """Spark's own Kafka connector, where it was fetched (bench/spark/connector.py) or a folder is named."""
    import pyspark

    fetched = ROOT / ".tools" / "spark-kafka" / pyspark.__version__
    found = sorted(Path(os.environ.get("TAPELOG_SPARK_KAFKA_JARS") or fetched).glob("*.jar"))
    return found if any("spark-sql-kafka" in jar.name for jar in found) else []


def connector_replays() -> bool:
    """Whether Spark's own source can be given a batch that another left: 4.1's ends the query (SPARK-55271)."""
    return not any("spark-sql-kafka-0-10_2.13-4.1." in jar.name for jar in connector_jars())


def limits_are_told() -> bool:
    """Whether this PySpark tells a source in Python limits and starts, and asks how far there is: from 4.2 on."""
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:
        return False
    return SupportsTriggerAvailableNow is not None


def before_42(test: Callable[..., None]) -> Callable[..., None] | None:
    """A test of how PySpark before 4.2 differs: no test at all elsewhere, since nothing is left out there."""
    return None if limits_are_told() else test


class Topic:
    """A fresh topic, and ways to fill it."""

    def __init__(self, bootstrap: str, partitions: int, config: dict[str, str] | None = None) -> None:
        self.bootstrap = bootstrap
        self.name = f"spark-{uuid.uuid4().hex[:10]}"
        new = NewTopic(self.name, partitions, 1, config=config or {})
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([new])[self.name].result(30)

    def write(self, count: int, first: int = 0, *, partition: int = -1, **options: Any) -> None:
        """Records v0, v1, … with keys k0 to k9; every third has a header."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, **options})
        for number in range(first, first + count):
            headers: list[tuple[str, str | bytes | None]] = [("n", b"%d" % number), ("none", None)]
            chosen = {} if partition < 0 else {"partition": partition}
            producer.produce(
                self.name,
                b"v%d" % number,
                b"k%d" % (number % 10),
                headers=headers if number % 3 == 0 else None,
                **chosen,
            )
        assert producer.flush(30) == 0

    def options(self, **more: object) -> dict[str, str]:
        """What a reader of it is told."""
        given = {"kafka.bootstrap.servers": self.bootstrap, "subscribe": self.name}
        return given | {name.replace("_", "."): str(value) for name, value in more.items()}


@pytest.fixture
def topic(bootstrap: str) -> Topic:
    """Three partitions."""
    return Topic(bootstrap, 3)
