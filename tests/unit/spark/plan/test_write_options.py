"""Options and columns of a write: what is taken, what is refused, and in which words."""

from __future__ import annotations

import pickle

import pytest

from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.write_columns import HEADERS, Layout, layout_of
from tapelog.spark.plan.write_options import WriteOptions, write_options

SERVERS = {"kafka.bootstrap.servers": "here:9092"}


def options(streaming: bool = True, **more: str) -> WriteOptions:
    given = {name.replace("__", "."): value for name, value in more.items()}
    return write_options(SERVERS | given, streaming=streaming)


def refused(streaming: bool = True, **more: str) -> str:
    with pytest.raises(OptionError) as raised:
        options(streaming, **more)
    assert len(str(raised.value).splitlines()) <= 3
    return str(raised.value)


def test_streams_are_exactly_once_and_batches_at_least_once_unless_told() -> None:
    assert options().exactly_once
    assert not options(streaming=False).exactly_once
    assert options(streaming=False, txnappid="a", txnversion="3").exactly_once
    assert options(streaming=False, delivery="exactlyonce").exactly_once
    assert not options(delivery="atLeastOnce").exactly_once


def test_kafkas_producer_options_are_honoured_taken_or_refused() -> None:
    told = options(kafka__compression__type="lz4", kafka__batch__size="1000", kafka__linger__ms="5", kafka__retries="3")
    assert (told.producer.compression, told.producer.batch_bytes, told.producer.acks) == (3, 1000, -1)
    assert "transactionalIdPrefix" in refused(kafka__transactional__id="x")
    assert "column partition" in refused(kafka__partitioner__class="x.Y")
    assert "needs all" in refused(kafka__acks="1")
    assert "nobody would know" in refused(delivery="atLeastOnce", kafka__acks="0")
    assert options(delivery="atLeastOnce", kafka__acks="1").producer.acks == 1


def test_sparks_own_options_pass_and_unknown_ones_name_the_nearest() -> None:
    options(checkpointlocation="/x", topic="t")
    assert "transactionalIdPrefix" in refused(transactionalidprefx="x")
    assert "belongs to reading" in refused(startingoffsets="earliest")
    assert "kafka.linger.ms" in refused(linger__ms="5")


def test_txn_app_id_and_version_come_together_and_in_batches() -> None:
    assert "txnVersion is missing" in refused(False, txnappid="a")
    assert "batch writes" in refused(True, txnappid="a", txnversion="1")
    assert "disagree" in refused(False, txnappid="a", txnversion="1", delivery="atLeastOnce")
    assert "letters" in refused(False, txnappid="a b", txnversion="1")


def test_two_phase_commit_is_used_where_offered_unless_told() -> None:
    assert options().two_phase is None
    assert options(kafka__transaction__two__phase__commit__enable="false").two_phase is False


def test_options_travel_and_show_no_secret() -> None:
    told = options(
        kafka__security__protocol="SASL_PLAINTEXT",
        kafka__sasl__mechanism="PLAIN",
        kafka__sasl__jaas__config='org.apache.kafka.common.security.plain.PlainLoginModule required username="u" '
        'password="hush";',
    )
    assert pickle.loads(pickle.dumps(told)) == told
    assert "hush" not in repr(told)


def test_columns_are_those_of_sparks_kafka_sink() -> None:
    schema = [("value", "string"), ("KEY", "binary"), ("other", "double"), ("headers", HEADERS), ("timestamp", "date")]
    assert layout_of(schema, topic="t") == Layout(0, key=1, headers=3)
    assert layout_of([("topic", "string"), ("value", "binary")], topic=None) == Layout(1, topic=0)
    assert layout_of([("topic", "int"), ("value", "binary")], topic="t") == Layout(1)
    assert layout_of([("value", "struct<a:int>")], topic="t", encoded=("value",)) == Layout(0)


@pytest.mark.parametrize(
    ("schema", "topic", "said"),
    [
        ([("key", "binary")], "t", "no column value"),
        ([("value", "binary")], None, "No topic to write to"),
        ([("value", "int")], "t", "Column value is of type int"),
        ([("value", "binary"), ("partition", "bigint")], "t", "Column partition is of type bigint"),
    ],
)
def test_columns_that_make_no_record_are_refused(schema: list[tuple[str, str]], topic: str | None, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        layout_of(schema, topic=topic)
