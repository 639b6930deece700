"""Transactions through the whole node, at moments that come seldom: the last epoch, a late marker, a coordinator
elected anew in the middle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.coordinators.outcome import Outcome
from tapelog.coordinators.transactions.machine import TransactionMachine
from tapelog.coordinators.transactions.records import transaction_record
from tapelog.node.core import NodeCore
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tests.support.rig import TOPIC, Rig, produce_request
from tests.support.transactions import TxnProducer, committed_offset, visible


@pytest.fixture
def rig() -> Rig:
    rig = Rig(transaction_state_log_num_partitions="1", offsets_topic_num_partitions="1")
    rig.create(partitions=3)
    rig.client.call(FindCoordinatorRequest(key="g"), 3)
    return rig


def core(rig: Rig) -> NodeCore:
    assert rig.node.core is not None
    return rig.node.core


def started(rig: Rig, timeout_ms: int = 60_000) -> TxnProducer:
    producer = TxnProducer(rig, timeout_ms=timeout_ms)
    assert producer.init() == "NONE"
    return producer


def use_up_epochs(rig: Rig, producer: TxnProducer, epoch: int) -> None:
    """As if the producer had ended so many transactions."""

    def skip(machine: TransactionMachine) -> Outcome[None]:
        current = machine.store.get(producer.transactional_id)
        assert current is not None
        return Outcome([transaction_record(producer.transactional_id, current._replace(producer_epoch=epoch))], None)

    answers: list[Any] = []
    core(rig).transactions.runtime.write(0, skip, answers.append, answers.append)
    rig.node.settle()
    rig.node.pass_time(100)
    assert answers == [None]
    producer.took(producer.producer_id, epoch)


def once(place: Any, method: str, instead: Callable[..., Any]) -> None:
    """The next call of the method does this instead."""
    original = getattr(place, method)

    def call(*args: Any) -> Any:
        setattr(place, method, original)
        return instead(*args)

    setattr(place, method, call)


def test_a_producer_that_is_fenced_with_the_last_epoch_does_not_get_it(rig: Rig) -> None:
    producer = started(rig, timeout_ms=5000)
    use_up_epochs(rig, producer, 32766)
    assert producer.write(b"one") == "NONE"
    rig.node.pass_time(20_000)
    assert producer.state() == "CompleteAbort"
    assert producer.abort() == "PRODUCER_FENCED"
    before = producer.producer_id
    assert producer.init() == "NONE"
    assert (producer.producer_id != before, producer.epoch) == (True, 0)
    assert producer.write(b"two") == "NONE"
    assert producer.commit() == "NONE"
    rig.node.pass_time(100)
    assert visible(rig) == [b"two"]
    partition = rig.partition()
    assert partition.log.last_stable_offset(partition.high_watermark) == partition.log.end_offset


def test_a_late_marker_does_not_refuse_the_first_batch_of_the_next_transaction(rig: Rig) -> None:
    producer = started(rig)
    assert producer.write(b"one") == "NONE"

    def refuse(*_: Any) -> None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    once(core(rig).markers, "_write_one", refuse)  # not the partition's own: compiled, that cannot be replaced
    assert producer.commit() == "NONE"
    assert producer.write(b"two") == "NONE"
    assert producer.commit() == "NONE"
    rig.node.pass_time(100)
    assert visible(rig) == [b"one", b"two"]


def test_a_late_marker_does_not_refuse_the_offsets_of_the_next_transaction(rig: Rig) -> None:
    producer = started(rig)
    assert producer.send_offset(7) == "NONE"
    once(core(rig).groups.runtime, "end_transaction", lambda *args: args[6](ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    assert producer.commit() == "NONE"
    assert producer.send_offset(8) == "NONE"
    assert producer.commit() == "NONE"
    rig.node.pass_time(100)
    assert committed_offset(rig) == 8


def test_a_group_coordinator_elected_anew_reads_a_marker_that_was_only_queued(rig: Rig) -> None:
    producer = started(rig)
    assert producer.send_offset(7) == "NONE"
    rig.node.pass_time(100)
    held = rig.hold_flushes()
    rig.later(produce_request((TOPIC, 2, rig.batch())), 9, rig.connect())
    rig.node.pass_time(5)  # a round is under way: what follows shares the next
    ended = rig.later(producer.end_request(True), 5)
    grown = CreatePartitionsTopic(name="__consumer_offsets", count=2, assignments=None)
    created = rig.later(CreatePartitionsRequest(topics=[grown], timeout_ms=1000), 3, rig.connect())
    rig.node.pass_time(20)
    held.release()
    rig.node.pass_time(1000)
    assert [answer.error_code for answer in ended] == [0]
    assert [answer.results[0].error_code for answer in created] == [0]
    machine = core(rig).groups.runtime.machine(0)
    assert machine is not None, "it is served"
    stored = machine.state.offsets.get("g", (TOPIC, 0), committed_only=True)
    assert stored is not None and stored.offset == 7


@pytest.mark.parametrize("seed", range(8))
def test_a_power_cut_leaves_no_transaction_open_in_a_page_cache_topic(seed: int) -> None:
    rig = Rig(seed, transaction_state_log_num_partitions="1")
    rig.create(tapelog_flush="page-cache")
    producer = started(rig)
    assert producer.write(b"one") == "NONE"
    rig.node.pass_time(6000)  # a checkpoint makes it durable
    assert producer.commit() == "NONE"
    rig.node.pass_time(100)
    assert producer.state() == "CompleteCommit"
    rig.reboot(rig.node.power_cut)
    rig.node.pass_time(3000)
    assert visible(rig) == [b"one"]


def test_a_broker_that_leaves_everything_to_the_page_cache_syncs_no_markers() -> None:
    rig = Rig(1, transaction_state_log_num_partitions="1", tapelog_flush="page-cache")
    rig.create()
    producer = started(rig, timeout_ms=5000)
    rig.node.pass_time(6000)
    rig.hold_flushes()
    assert producer.write(b"one") == "NONE"
    assert producer.commit() == "NONE"
    assert producer.write(b"two") == "NONE", "it waits until the first one is completed"
    assert visible(rig) == [b"one"]
