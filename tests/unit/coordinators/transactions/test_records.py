"""The transaction coordinator's records are Kafka's, byte for byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tapelog.coordinators.transactions.records import (
    decode_record,
    encode_record,
    transaction_of,
    transaction_record,
    transaction_tombstone,
)
from tapelog.coordinators.transactions.states import Transaction, TxnState
from tapelog.wire.primitives import WireError
from tapelog.wire.records.transaction_log_value import TransactionLogValue
from tests.unit.coordinators.transactions.story import TransactionStory

LIB = Path(os.environ.get("TAPELOG_KAFKA_LIB") or Path(__file__).resolve().parents[4] / ".tools" / "kafka" / "lib")
KEY = b"\x00\x00\x00\x01t"


def ongoing() -> Transaction:
    return Transaction(
        producer_id=7,
        producer_epoch=3,
        timeout_ms=1000,
        state=TxnState.ONGOING,
        updated_ms=9,
        started_ms=8,
        partitions=frozenset({("orders", 2), ("orders", 0), ("events", 1)}),
        previous_producer_id=7,
        client_version=2,
    )


def test_a_transaction_has_kafkas_bytes() -> None:
    key, value = encode_record(transaction_record("t", ongoing()))
    assert key == KEY
    partitions = (
        b"\x03" + b"\x07events\x02\x00\x00\x00\x01\x00" + b"\x07orders\x03" + bytes(4) + b"\x00\x00\x00\x02\x00"
    )
    tags = b"\x02" + b"\x00\x08" + bytes(7) + b"\x07" + b"\x02\x02\x00\x02"
    numbers = bytes(7) + b"\x07" + b"\x00\x03" + b"\x00\x00\x03\xe8" + b"\x01"
    assert value == b"\x00\x01" + numbers + partitions + bytes(7) + b"\x09" + bytes(7) + b"\x08" + tags


def test_an_empty_transaction_has_no_partitions_at_all() -> None:
    empty = ongoing()._replace(state=TxnState.EMPTY, partitions=frozenset(), started_ms=-1)
    record = transaction_record("t", empty)
    assert isinstance(record.value, TransactionLogValue)
    assert record.value.transaction_partitions is None


def test_records_come_back_as_they_were_written() -> None:
    for state in (TxnState.ONGOING, TxnState.PREPARE_COMMIT, TxnState.COMPLETE_ABORT):
        written = ongoing()._replace(state=state, next_producer_id=11, next_producer_epoch=4)
        record = decode_record(*encode_record(transaction_record("t", written)))
        assert record is not None and isinstance(record.value, TransactionLogValue)
        assert transaction_of(record.value) == written


def test_a_tombstone_has_a_key_and_no_value() -> None:
    assert encode_record(transaction_tombstone("t")) == (KEY, None)
    record = decode_record(KEY, None)
    assert record is not None and record.value is None


def test_the_same_transaction_always_has_the_same_bytes() -> None:
    one = ongoing()
    other = ongoing()._replace(partitions=frozenset(sorted(one.partitions, reverse=True)))
    assert encode_record(transaction_record("t", one)) == encode_record(transaction_record("t", other))


def test_versions_from_the_future_are_skipped_and_damage_is_not() -> None:
    assert decode_record(b"\x00\x05\x00\x01t", None) is None
    assert decode_record(KEY, b"\x00\x09what") is None
    with pytest.raises(WireError):
        decode_record(KEY[:-1], None)
    with pytest.raises(WireError):
        decode_record(KEY, b"\x00\x01\x00")
    with pytest.raises(WireError, match="no state 77"):
        transaction_of(TransactionLogValue(transaction_status=77))


def test_values_of_older_brokers_are_read() -> None:
    """Version 0 has neither tags nor compact strings."""
    old = TransactionLogValue(producer_id=7, producer_epoch=1, transaction_status=4)
    body = old.tobytes(0)
    record = decode_record(KEY, b"\x00\x00" + body)
    assert record is not None and isinstance(record.value, TransactionLogValue)
    found = transaction_of(record.value)
    assert (found.producer_id, found.state, found.previous_producer_id) == (7, TxnState.COMPLETE_COMMIT, -1)


@pytest.mark.parametrize("state", [TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE])
def test_states_that_last_for_a_step_are_never_written(state: TxnState) -> None:
    with pytest.raises(AssertionError, match="never written"):
        transaction_record("t", ongoing()._replace(state=state))


@pytest.mark.needs("java")
@pytest.mark.slow
@pytest.mark.skipif(not LIB.is_dir(), reason="needs Apache Kafka's jars (TAPELOG_KAFKA_LIB)")
def test_kafkas_dumper_decodes_the_log(tmp_path: Path) -> None:
    story = TransactionStory()
    for line in [
        "init a",
        "write a orders/0 orders/3 events/1",
        "commit a",
        "add a orders/1",
        "abort a version=3",
        "seed b 2000/32766",
        "write b orders/0 as=2000/32766",
        "commit b",
        "advance 200h",
    ]:
        story.run(line)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(batch for _, _, batch in story.bench.log.batches[0]))
    command = ["java", "-Xmx256m", "-cp", f"{LIB}/*", "org.apache.kafka.tools.DumpLogSegments"]
    arguments = ["--transaction-log-decoder", "--files", str(path)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for piece in (
        'key: {"type":"0","data":{"transactionalId":"a"}} payload: {"version":"1","data":{"producerId":1000,',
        '"transactionStatus":1,"transactionPartitions":[{"topic":"events","partitionIds":[1]},'
        '{"topic":"orders","partitionIds":[0,3]}]',
        '"previousProducerId":1000,"producerEpoch":1,"transactionTimeoutMs":60000,"transactionStatus":2',
        '"previousProducerId":2000,"nextProducerId":1001,"producerEpoch":32767',
        '"producerId":1001,"previousProducerId":2000,"producerEpoch":0',
        '"clientTransactionVersion":2',
        'key: {"type":"0","data":{"transactionalId":"b"}} payload: <DELETE>',
    ):
        assert piece in done.stdout, piece
