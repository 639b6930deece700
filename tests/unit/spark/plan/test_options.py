"""The options of a read: Spark's names, defaults, preference and refusals; mistakes are answered in three lines."""

from __future__ import annotations

import pickle

import pytest

from tapelog.client.settings import Address
from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.limits import AtOffsets, AtTimestamp, AtTimestamps, Earliest, Latest
from tapelog.spark.plan.names import BEYOND, SOURCE
from tapelog.spark.plan.options import COLUMNS, Assign, ReadOptions, Subscribe, SubscribePattern, read_options
from tapelog.spark.plan.values import TopicPartition
from tests.tidy.rules import ROOT

BASE = {"kafka.bootstrap.servers": "a:9092", "subscribe": "orders"}
A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def read(streaming: bool = False, /, **more: str) -> ReadOptions:
    return read_options(BASE | {name.replace("__", "."): value for name, value in more.items()}, streaming=streaming)


def refused(options: dict[str, str], *, streaming: bool = False) -> str:
    with pytest.raises(OptionError) as raised:
        read_options(options, streaming=streaming)
    text = str(raised.value)
    assert text.count("\n") <= 2 and all(text.split("\n"))
    return text


def test_the_defaults_are_those_of_sparks_kafka_source() -> None:
    batch, stream = read(), read(True)
    assert batch.connection.bootstrap == (Address("a", 9092),)
    assert batch.subscription == Subscribe(("orders",))
    assert (batch.starting, batch.ending) == (Earliest(), Latest())
    assert stream.starting == Latest()
    assert batch.columns == COLUMNS[:-1] and not batch.include_headers
    assert batch.fail_on_data_loss and batch.isolation == "read_uncommitted"
    assert (batch.poll_timeout_ms, batch.offset_attempts, batch.offset_retry_ms) == (None, 3, 10)
    assert stream.max_trigger_delay_ms == 15 * 60_000
    assert batch.max_offsets is batch.min_offsets is batch.max_bytes is None
    assert batch.min_partitions is batch.max_records is None
    assert batch.warnings == ()


def test_names_are_taken_in_any_case() -> None:
    options = {"KAFKA.Bootstrap.Servers": "a:9092", "SUBSCRIBE": "t", "failondataloss": "FALSE", "MinPartitions": "7"}
    found = read_options(options, streaming=False)
    assert found.subscription == Subscribe(("t",))
    assert not found.fail_on_data_loss and found.min_partitions == 7


def test_every_option_of_the_source_is_taken() -> None:
    values = {
        "assign": '{"a":[0,1]}',
        "startingOffsets": '{"a":{"0":5,"1":-2}}',
        "endingOffsets": '{"a":{"0":9,"1":-1}}',
        "startingOffsetsByTimestampStrategy": "latest",
        "failOnDataLoss": "false",
        "kafkaConsumer.pollTimeoutMs": "512",
        "fetchOffset.numRetries": "5",
        "fetchOffset.retryIntervalMs": "20",
        "partition.metadata.cache.ttl.ms": "1000",
        "minPartitions": "4",
        "maxRecordsPerPartition": "1000",
        "groupIdPrefix": "mine",
        "includeHeaders": "true",
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.group.id": "g",
        "kafka.isolation.level": "read_committed",
        "kafka.max.partition.fetch.bytes": "8388608",
        "kafka.client.id": "me",
        "maxDecompressedBytes": "128m",
    }
    found = read_options(values, streaming=False)
    assert found.subscription == Assign((A0, A1))
    assert found.starting == AtOffsets(((A0, 5), (A1, -2)))
    assert found.ending == AtOffsets(((A0, 9), (A1, -1)))
    assert not found.fail_on_data_loss and found.include_headers and found.columns == COLUMNS
    assert (found.poll_timeout_ms, found.offset_attempts, found.offset_retry_ms) == (512, 5, 20)
    assert (found.min_partitions, found.max_records, found.partition_cache_ms) == (4, 1000, 1000)
    assert (found.group_id, found.group_id_prefix) == ("g", "mine")
    assert found.isolation == "read_committed" and found.fetch_bytes == 8 * 2**20
    assert found.connection.client_id == "me" and len(found.connection.bootstrap) == 2
    assert found.max_decompressed_bytes == 128 * 2**20


def test_limits_of_triggers_are_read_with_sparks_units() -> None:
    found = read(
        True, maxOffsetsPerTrigger="100", minOffsetsPerTrigger="10", maxTriggerDelay="2m", maxBytesPerTrigger="1g"
    )
    assert (found.max_offsets, found.min_offsets, found.max_trigger_delay_ms) == (100, 10, 120_000)
    assert found.max_bytes == 2**30
    delays = {"500": 500, "5s": 5000, "1min": 60_000, "2h": 7_200_000, "1d": 86_400_000, "7ms": 7, "1500us": 1}
    assert {text: read(True, maxTriggerDelay=text).max_trigger_delay_ms for text in delays} == delays


def test_a_timestamp_for_all_wins_over_those_by_partition_and_these_over_offsets() -> None:
    offsets = {"startingOffsets": "earliest"}
    times = offsets | {"startingOffsetsByTimestamp": '{"a":{"0":1000}}'}
    every = times | {"startingTimestamp": "500", "startingOffsetsByTimestampStrategy": "LATEST"}
    assert read(True, **offsets).starting == Earliest()
    assert read(True, **times).starting == AtTimestamps(((A0, 1000),), "error")
    assert read(True, **every).starting == AtTimestamp(500, "latest")
    assert read(endingTimestamp="5", endingOffsets="nonsense").ending == AtTimestamp(5, "error")


def test_a_stream_has_no_end() -> None:
    for name in ("endingOffsets", "endingOffsetsByTimestamp"):
        assert name in refused(BASE | {name: "latest"}, streaming=True)
    assert "endingTimestamp" in read(True, endingTimestamp="5").warnings[0]  # Spark passes it over, too


def test_a_batch_neither_begins_at_the_latest_nor_ends_at_the_earliest() -> None:
    assert "latest" in refused(BASE | {"startingOffsets": "Latest"})
    assert "a-1" in refused(BASE | {"startingOffsets": '{"a":{"0":3,"1":-1}}'})
    assert "earliest" in refused(BASE | {"endingOffsets": "earliest"})
    assert "a-0" in refused(BASE | {"endingOffsets": '{"a":{"0":-2}}'})


def test_the_ends_of_a_batch_must_fit() -> None:
    start = BASE | {"startingOffsets": '{"a":{"0":5}}'}
    assert "a-1" in refused(start | {"endingOffsets": '{"a":{"0":9,"1":9}}'})
    assert "4" in refused(start | {"endingOffsets": '{"a":{"0":4}}'})
    read_options(start | {"endingOffsets": '{"a":{"0":-1}}'}, streaming=False)
    times = {"startingOffsetsByTimestamp": '{"a":{"0":5}}', "endingOffsetsByTimestamp": '{"a":{"0":4}}'}
    assert "endingOffsetsByTimestamp" in refused(BASE | times)


def test_limits_of_triggers_are_ignored_in_a_batch_and_it_is_said() -> None:
    found = read(maxOffsetsPerTrigger="1", minOffsetsPerTrigger="1", maxTriggerDelay="1s", maxBytesPerTrigger="1m")
    assert [warning.split()[0] for warning in found.warnings] == [
        "maxOffsetsPerTrigger",
        "minOffsetsPerTrigger",
        "maxTriggerDelay",
        "maxBytesPerTrigger",
    ]


def test_exactly_one_way_to_name_topics() -> None:
    assert "None of them" in refused({"kafka.bootstrap.servers": "a:1"})
    assert "assign and subscribe" in refused(BASE | {"assign": '{"a":[0]}'})
    assert read(subscribe=" a , b,a,, ").subscription == Subscribe(("a", "b"))
    assert "subscribe" in refused(BASE | {"subscribe": " , "})
    only = {"kafka.bootstrap.servers": "a:1"}
    assert "assign" in refused(only | {"assign": "a"})
    assert "subscribePattern" in refused(only | {"subscribePattern": " "})
    assert "subscribePattern" in refused(only | {"subscribePattern": "a("})
    pattern = read_options(only | {"subscribePattern": " a.* "}, streaming=True)
    assert pattern.subscription == SubscribePattern("a.*")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("failOnDataLoss", "yes", "true or false"),
        ("includeHeaders", "1", "true or false"),
        ("minPartitions", "0", "1 or more"),
        ("minPartitions", "a", "whole number"),
        ("maxRecordsPerPartition", "-3", "1 or more"),
        ("maxOffsetsPerTrigger", "0", "1 or more"),
        ("startingTimestamp", "yesterday", "whole number"),
        ("startingOffsetsByTimestampStrategy", "earliest", "error or latest"),
        ("startingOffsets", "first", "earliest, latest, or offsets"),
        ("startingOffsetsByTimestamp", "{", "milliseconds by partition"),
        ("maxTriggerDelay", "5 parsecs", "15m"),
        ("maxBytesPerTrigger", "0", "64m"),
        ("maxBytesPerTrigger", "much", "64m"),
        ("kafkaConsumer.pollTimeoutMs", "-1", "1 or more"),
        ("partition.metadata.cache.ttl.ms", "0", "-1"),
        ("kafka.isolation.level", "serializable", "read_committed"),
        ("kafka.security.protocol", "TLS", "SASL_SSL"),
        ("kafka.bootstrap.servers", "a", "host:port"),
        ("kafka.request.timeout.ms", "soon", "whole number"),
        ("columns", "key,vlaue", "timestampType"),
        ("columns", "", "timestampType"),
    ],
)
def test_a_wrong_value_names_its_option_and_what_is_expected(name: str, value: str, said: str) -> None:
    text = refused(BASE | {name.lower(): value}, streaming=True)
    assert name in text and said in text


def test_the_least_must_not_be_above_the_most() -> None:
    assert "(5)" in refused(BASE | {"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}, streaming=True)


def test_brokers_must_be_named() -> None:
    assert "kafka.bootstrap.servers" in refused({"subscribe": "a"})


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("startingOffset", "startingOffsets"),
        ("subscribes", "subscribe"),
        ("bootstrap.servers", "kafka.bootstrap.servers"),
        ("kafka.bootstrap.server", "kafka.bootstrap.servers"),
        ("kafka.sasl.jaas.conf", "kafka.sasl.jaas.config"),
        ("maxOffsetPerTrigger", "maxOffsetsPerTrigger"),
        ("failOnDataLos", "failOnDataLoss"),
        ("kafka.ssl.trustore.location", "kafka.ssl.truststore.location"),
    ],
)
def test_an_unknown_option_is_answered_with_the_nearest(wrong: str, meant: str) -> None:
    text = refused(BASE | {wrong.lower(): "hunter2"})
    assert meant in text and "docs/guide/spark.md" in text
    assert "hunter2" not in text


def test_an_option_like_no_other_is_just_unknown() -> None:
    text = refused(BASE | {"zzzzzz": "1"})
    assert "zzzzzz" in text and "mean" not in text


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kafka.auto.offset.reset", "startingOffsets"),
        ("kafka.key.deserializer", "keyFormat"),
        ("kafka.value.deserializer", "valueFormat"),
        ("kafka.key.serializer", "encode"),
        ("kafka.enable.auto.commit", "checkpoint"),
        ("kafka.interceptor.classes", "Java"),
        ("kafka.ssl.engine.factory.class", "truststore"),
        ("kafka.sasl.oauthbearer.assertion.file", "secret"),
        ("topic", "subscribe"),
        ("valueFormat", "avro"),
        ("path", "load()"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_what_to_do(name: str, said: str) -> None:
    assert said in refused(BASE | {name.lower(): "x"})


def test_options_of_javas_consumer_without_a_meaning_here_do_not_stop_a_job() -> None:
    read(kafka__max__poll__records="4000", kafka__session__timeout__ms="6000", kafka__fetch__min__bytes="1")


def test_columns_come_in_the_order_of_the_schema() -> None:
    assert read(columns="timestampType, VALUE").columns == ("value", "timestampType")
    assert read(columns="headers,key").include_headers
    assert "disagree" in refused(BASE | {"columns": "key", "includeHeaders": "true"})
    assert "disagree" in refused(BASE | {"columns": "key,headers", "includeHeaders": "false"})


def test_read_options_travel_and_print_without_secrets() -> None:
    found = read(
        kafka__security__protocol="SASL_PLAINTEXT",
        kafka__sasl__mechanism="PLAIN",
        kafka__sasl__jaas__config='a.PlainLoginModule required username="me" password="hunter2";',
    )
    assert pickle.loads(pickle.dumps(found)) == found
    assert "hunter2" not in repr(found) and "hunter2" not in str(found)


def test_the_table_in_the_guide_names_every_option() -> None:
    page = ROOT / "docs" / "guide" / "spark.md"
    text = page.read_text(encoding="utf-8")
    assert [name for name in (*SOURCE, *BEYOND) if f"`{name}`" not in text] == []
