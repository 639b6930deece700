"""Reads and writes on Apache Kafka itself, with TLS and logins as Java clients have them; where no secret must be."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import Topic, connector_jars, connector_replays
from tests.spark.recreated import cases
from tests.spark.test_sink import Copy, values
from tests.spark.test_swaps import Query
from tests.support.kafka_dumper import NEEDS_DUMPER
from tests.support.kafka_server import PASSWORD, SCRAM_PASSWORD, USER, KafkaServer
from tests.support.waiting import until

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")
pytestmark = NEEDS_DUMPER

STORE_PASSWORD = "store-secret"
KEY_MARK = "BEGIN PRIVATE KEY"


@pytest.fixture(scope="module")
def kafka(spark: Any) -> Iterator[KafkaServer]:
    from pyspark_tapelog import register

    register(spark, publish=False, brief=False)  # hides secrets in plans
    with KafkaServer() as server:
        yield server


@pytest.fixture
def source(kafka: KafkaServer) -> Topic:
    return Topic(kafka.on.plain, 3)


def scram(kafka: KafkaServer, place: Path) -> dict[str, str]:
    """SASL_SSL with SCRAM by JAAS, and a truststore as PEM in the option itself."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        "kafka.bootstrap.servers": kafka.on.sasl_tls,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": f'{module} required username="{USER}" password="{SCRAM_PASSWORD}";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": kafka.authority.pem.decode(),
    }


def plain(kafka: KafkaServer, place: Path) -> dict[str, str]:
    """The same with PLAIN and a truststore as a PKCS12 file."""
    trust = place / "trust.p12"
    trust.write_bytes(kafka.authority.pkcs12(STORE_PASSWORD.encode()))
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return scram(kafka, place) | {
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{module} required username="{USER}" password="{PASSWORD}";',
        "kafka.ssl.truststore.type": "PKCS12",
        "kafka.ssl.truststore.location": str(trust),
        "kafka.ssl.truststore.password": STORE_PASSWORD,
        "kafka.ssl.truststore.certificates": "",
    }


def mutual(kafka: KafkaServer, place: Path) -> dict[str, str]:
    """SSL with a certificate of our own, key and chain as PEM in options."""
    signed = kafka.authority.sign("spark")
    return {
        "kafka.bootstrap.servers": kafka.on.mutual,
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": kafka.authority.pem.decode(),
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.key": signed.key_pem().decode(),
        "kafka.ssl.keystore.certificate.chain": signed.certificate_pem.decode(),
    }


SECRETS = (PASSWORD, SCRAM_PASSWORD, STORE_PASSWORD, KEY_MARK)


@pytest.mark.parametrize("way", [scram, plain, mutual])
def test_rows_are_copied_and_no_secret_is_told(
    spark: Any, kafka: KafkaServer, source: Topic, event_log: Path, tmp_path: Path, way: Any
) -> None:
    given = {name: value for name, value in way(kafka, tmp_path).items() if value}
    target = Topic(kafka.on.plain, 3)
    source.write(60)
    rows = spark.read.format("tapelog").options(**(source.options() | given)).load()
    written = rows.select("key", "value").write.format("tapelog").options(**given).option("topic", target.name)
    written.mode("append").save()
    stream = spark.readStream.format("tapelog").options(**(source.options(startingOffsets="earliest") | given)).load()
    sink = stream.select("key", "value").writeStream.format("tapelog").options(**given).option("topic", target.name)
    query = sink.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination(120)
    assert query.exception() is None
    assert values(target) == Counter({b"v%d" % number: 2 for number in range(60)})

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        for frame in (rows, stream):
            frame.explain(mode="extended")
            frame.explain(mode="formatted")
        query.explain(extended=True)
    told = shown.getvalue() + str(query.recentProgress)
    told += "".join(path.read_text(errors="replace") for path in tmp_path.glob("checkpoint/**/*") if path.is_file())
    until(lambda: str(query.runId) in logged(event_log), "the query is in the event log")
    assert_no_secret(told + logged(event_log))


def test_a_wrong_password_is_told_without_it(spark: Any, kafka: KafkaServer, source: Topic, tmp_path: Path) -> None:
    given = scram(kafka, tmp_path)
    given["kafka.sasl.jaas.config"] = given["kafka.sasl.jaas.config"].replace(SCRAM_PASSWORD, "mistyped-secret")
    with pytest.raises(Exception) as caught:
        spark.read.format("tapelog").options(**(source.options() | given)).load().count()
    told = str(caught.value)
    assert "TapelogError" in told and "kafka.sasl.jaas.config" in told and "mistyped-secret" not in told
    with pytest.raises(Exception) as caught:
        rows = spark.range(3).selectExpr("cast(id as string) as value")
        rows.write.format("tapelog").options(**given).option("topic", source.name).mode("append").save()
    assert "TapelogError" in str(caught.value) and "mistyped-secret" not in str(caught.value)


def test_a_java_keystore_is_refused_with_the_command_that_converts_it(
    spark: Any, kafka: KafkaServer, source: Topic, tmp_path: Path
) -> None:
    given = scram(kafka, tmp_path) | {
        "kafka.ssl.truststore.type": "JKS",
        "kafka.ssl.truststore.location": "/etc/kafka/trust.jks",
        "kafka.ssl.truststore.password": STORE_PASSWORD,
    }
    del given["kafka.ssl.truststore.certificates"]
    with pytest.raises(Exception) as caught:
        spark.read.format("tapelog").options(**(source.options() | given)).load().count()
    told = str(caught.value)
    assert "keytool -importkeystore" in told and "PKCS12" in told and STORE_PASSWORD not in told


def test_a_batch_that_comes_again_is_there_once(spark: Any, kafka: KafkaServer, source: Topic, tmp_path: Path) -> None:
    target = Topic(kafka.on.plain, 3)
    query = Copy(spark, source, target, tmp_path)
    source.write(50)
    query.run()
    query.forget_last()
    query.run()
    assert values(target) == Counter({b"v%d" % number: 1 for number in range(50)})


@pytest.mark.skipif(
    not connector_jars(), reason="needs Spark's Kafka connector (python -m bench.spark.connector fetches it)"
)
def test_swaps_on_one_checkpoint_lose_and_repeat_no_row(spark: Any, source: Topic, tmp_path: Path) -> None:
    query = Query(spark, source, tmp_path / "checkpoint")
    for number, name in enumerate(["kafka", "tapelog", "kafka", "tapelog"]):
        source.write(40, number * 40)
        query.run(name)
        if number == (1 if connector_replays() else 2):
            query.die_before_the_last_commit()
    rows = query.rows()
    assert Counter(value for _, _, value in rows.elements()) == Counter(b"v%d" % number for number in range(160))
    assert query.replayed


def test_a_topic_made_anew_stops_a_query_by_name_or_is_read_from_its_start(
    spark: Any, kafka: KafkaServer, tmp_path: Path
) -> None:
    for loss, count in (("true", 0), ("false", 60)):
        topic = Topic(kafka.on.plain, 2)
        told = {"partitions": 2, "count": 60, "failOnDataLoss": loss}
        found = cases.restarted(spark, "tapelog", topic, tmp_path / loss, **told)
        assert found.got == count and found.twice == 0
        assert (f"topic {topic.name} was deleted and made anew" in found.error) == (loss == "true")
    topic = Topic(kafka.on.plain, 2)
    assert cases.batch(spark, "tapelog", topic, tmp_path, partitions=2, count=60).got == 60


def logged(folder: Path) -> str:
    """All that is in the event log by now."""
    return "".join(path.read_text(errors="replace") for path in folder.glob("**/*") if path.is_file())


def assert_no_secret(told: str) -> None:
    found = [secret for secret in SECRETS if secret in told]
    assert not found, [told[max(0, told.index(secret) - 300) : told.index(secret)] for secret in found]
