"""Transactions through the whole node: producers of both versions, readers, offsets, crashes at every moment."""

from __future__ import annotations

import pytest

from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tests.support.rig import FLUSHED_MS, Rig
from tests.support.transactions import TxnProducer, committed_offset, visible


@pytest.fixture
def rig() -> Rig:
    return new_rig()


def new_rig(seed: int = 1, **settings: str) -> Rig:
    rig = Rig(seed, transaction_state_log_num_partitions="3", **settings)
    rig.create(partitions=3)
    return rig


def begin(rig: Rig, version: int, name: str = "t", timeout_ms: int = 60_000) -> TxnProducer:
    """A producer whose transaction has a record in two partitions."""
    producer = TxnProducer(rig, name, version, timeout_ms)
    assert producer.init() == "NONE"
    write_both(producer, b"one", b"two")
    return producer


def write_both(producer: TxnProducer, first: bytes, second: bytes) -> None:
    if producer.version < 2:
        assert producer.add(0, 1) == "NONE"
    assert producer.write(first) == "NONE"
    assert producer.write(second, index=1) == "NONE"


def both(rig: Rig) -> list[list[bytes]]:
    return [visible(rig), visible(rig, 1)]


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_is_seen_as_a_whole_when_it_is_committed(rig: Rig, version: int) -> None:
    producer = begin(rig, version)
    assert both(rig) == [[], []]
    assert producer.commit() == "NONE"
    rig.node.pass_time(3 * FLUSHED_MS)
    assert both(rig) == [[b"one"], [b"two"]]
    assert producer.state() == "CompleteCommit"


@pytest.mark.parametrize("version", [1, 2])
def test_an_aborted_transaction_is_never_seen(rig: Rig, version: int) -> None:
    producer = begin(rig, version)
    assert producer.abort() == "NONE"
    write_both(producer, b"three", b"four")
    assert producer.commit() == "NONE"
    rig.node.pass_time(3 * FLUSHED_MS)
    assert both(rig) == [[b"three"], [b"four"]]


@pytest.mark.parametrize("version", [1, 2])
def test_many_transactions_follow_each_other_without_waiting(rig: Rig, version: int) -> None:
    producer = TxnProducer(rig, version=version)
    producer.init()
    for number in range(20):
        write_both(producer, b"%d" % number, b"%d" % number)
        assert producer.end(number % 3 != 0) == "NONE"
    rig.node.pass_time(100)
    kept = [b"%d" % number for number in range(20) if number % 3 != 0]
    assert both(rig) == [kept, kept]


@pytest.mark.parametrize("version", [1, 2])
def test_a_newcomer_aborts_what_is_open_and_fences_its_producer(rig: Rig, version: int) -> None:
    old = begin(rig, version)
    new = TxnProducer(rig, version=version)
    assert new.init() == "NONE"
    assert (new.producer_id, new.epoch) == (old.producer_id, old.epoch + 2)
    assert old.write(b"zombie") == "INVALID_PRODUCER_EPOCH"
    assert old.commit() == "PRODUCER_FENCED"
    write_both(new, b"three", b"four")
    assert new.commit() == "NONE"
    rig.node.pass_time(3 * FLUSHED_MS)
    assert both(rig) == [[b"three"], [b"four"]]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_offsets_count_when_their_transaction_is_committed(rig: Rig, version: int, commit: bool) -> None:
    rig.client.call(FindCoordinatorRequest(key="g"), 3)
    producer = begin(rig, version)
    assert producer.send_offset(7) == "NONE"
    assert committed_offset(rig) == "UNSTABLE_OFFSET_COMMIT"
    assert producer.end(commit) == "NONE"
    rig.node.pass_time(3 * FLUSHED_MS)
    assert committed_offset(rig) == (7 if commit else -1)


def test_a_write_that_was_never_added_is_refused(rig: Rig) -> None:
    producer = TxnProducer(rig, version=1)
    producer.init()
    assert producer.write(b"x") == "TRANSACTION_ABORTABLE"
    assert producer.add(0) == "NONE"
    assert producer.write(b"x") == "NONE"
    assert producer.write(b"y", index=2) == "TRANSACTION_ABORTABLE"


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_that_takes_too_long_is_aborted(rig: Rig, version: int) -> None:
    producer = begin(rig, version, timeout_ms=5000)
    rig.node.pass_time(16_000)
    assert producer.state() == "CompleteAbort"
    assert producer.write(b"late") == "INVALID_PRODUCER_EPOCH"
    assert both(rig) == [[], []]
    assert producer.init() == "NONE"
    write_both(producer, b"three", b"four")
    assert producer.commit() == "NONE"
    rig.node.pass_time(3 * FLUSHED_MS)
    assert both(rig) == [[b"three"], [b"four"]]


# -- restarts


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_an_open_transaction_goes_on_after_a_restart(rig: Rig, version: int, how: str) -> None:
    producer = begin(rig, version)
    rig.reboot(getattr(rig.node, how))
    producer.reconnect()
    assert both(rig) == [[], []]
    assert producer.write(b"more") == "NONE"
    assert producer.commit() == "NONE"
    rig.node.pass_time(3 * FLUSHED_MS)
    assert both(rig) == [[b"one", b"more"], [b"two"]]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("after_ms", range(0, 24, 3))
def test_a_decision_is_carried_out_whenever_the_power_fails(version: int, commit: bool, after_ms: int) -> None:
    """The power fails some time after EndTxn was sent; if it was answered, or was not: all or nothing."""
    rig = new_rig(after_ms)
    producer = begin(rig, version)
    answers = rig.later(producer.end_request(commit), 5 if version >= 2 else 3, producer.client)
    rig.node.pass_time(after_ms)
    told = bool(answers)
    rig.reboot(rig.node.power_cut)
    producer.reconnect()
    if not told:
        assert producer.init() == "NONE", "a newcomer ends what was open"
    rig.node.pass_time(1000)
    found = both(rig)
    assert found in ([[], []], [[b"one"], [b"two"]])
    if told:
        assert found == ([[b"one"], [b"two"]] if commit else [[], []])
    if not commit:
        assert found == [[], []]
    assert producer.state() in ("CompleteCommit", "CompleteAbort", "Empty")


# -- two-phase commit


def test_two_phases_need_the_operators_consent(rig: Rig) -> None:
    assert TxnProducer(rig).init(two_phase=True) == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_transaction_waits_for_its_owner_however_long(how: str, commit: bool) -> None:
    rig = new_rig(transaction_two_phase_commit_enable="true")
    crashed = TxnProducer(rig)
    assert crashed.init(two_phase=True) == "NONE"
    write_both(crashed, b"one", b"two")
    rig.reboot(getattr(rig.node, how))
    rig.node.pass_time(3 * 3_600_000)
    successor = TxnProducer(rig)
    assert successor.init(two_phase=True, keep=True) == "NONE"
    assert successor.prepared == (crashed.producer_id, crashed.epoch)
    assert successor.state() == "Ongoing"
    crashed.reconnect()
    assert crashed.commit() == "PRODUCER_FENCED"
    assert successor.write(b"no", index=2) == "INVALID_TXN_STATE"
    rig.reboot(getattr(rig.node, how))
    successor.reconnect()
    assert both(rig) == [[], []]
    assert successor.end(commit) == "NONE"
    rig.node.pass_time(1000)
    assert both(rig) == ([[b"one"], [b"two"]] if commit else [[], []])
    write_both(successor, b"three", b"four")
    assert successor.commit() == "NONE"
    rig.node.pass_time(1000)
    assert [part[-1:] for part in both(rig)] == [[b"three"], [b"four"]]


def test_a_prepared_transaction_is_ended_by_whoever_does_not_keep_it() -> None:
    """What an administrator's forced termination does."""
    rig = new_rig(transaction_two_phase_commit_enable="true")
    crashed = TxnProducer(rig)
    assert crashed.init(two_phase=True) == "NONE"
    write_both(crashed, b"one", b"two")
    assert TxnProducer(rig).init() == "NONE"
    rig.node.pass_time(1000)
    assert rig.fetch(isolation_level=1).last_stable_offset == rig.fetch().high_watermark
    assert both(rig) == [[], []]


# -- topics that go


def test_a_transaction_ends_though_one_of_its_topics_is_gone(rig: Rig) -> None:
    rig.create("brief")
    producer = begin(rig, 2)
    assert producer.write(b"x", topic="brief") == "NONE"
    rig.delete("brief")
    assert producer.commit() == "NONE"
    rig.node.pass_time(1000)
    assert producer.state() == "CompleteCommit"
    assert both(rig) == [[b"one"], [b"two"]]


def test_without_their_topic_transactions_are_forgotten(rig: Rig) -> None:
    producer = begin(rig, 2)
    request = DeleteTopicsRequest(topic_names=["__transaction_state"], timeout_ms=1000)
    assert rig.client.call(request, 5).responses[0].error_code == 0
    assert producer.commit() == "NOT_COORDINATOR"
    assert producer.write(b"x", index=2) == "NOT_ENOUGH_REPLICAS"
    assert producer.init() == "NONE", "the first question creates it again"
    assert producer.write(b"x", index=2) == "NONE"
    assert producer.commit() == "NONE"


# -- a full disk


def test_what_a_full_disk_takes_back_was_never_said(rig: Rig) -> None:
    producer = begin(rig, 2)
    disk = rig.node.disk
    disk.capacity_bytes = disk.total_bytes() - disk.free_bytes()
    assert producer.commit() in ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
    assert producer.state() == "Ongoing"
    disk.capacity_bytes = None
    assert producer.commit() == "NONE"
    rig.node.pass_time(3000)
    assert both(rig) == [[b"one"], [b"two"]]
