"""Produce within transactions: what waits for the coordinator, what waits behind it, what does not, and what clients
are told when it says no."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.replication.guards import HELD_BATCHES_MAX, HELD_BYTES_MAX
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.produce_response import PartitionProduceResponse
from tests.support.rig import TOPIC, Rig, produce_request

Codes = dict[tuple[str, int], ErrorCode]
INVALID_STATE = ErrorCode.INVALID_TXN_STATE
NOT_ENOUGH = ErrorCode.NOT_ENOUGH_REPLICAS
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class Gate:
    """Stands in for the coordinator: notes what it is asked, answers when told to."""

    def __init__(self, runtime: Any) -> None:
        self.runtime = runtime
        self.asked: list[tuple[str, int, int, list[tuple[str, int]], bool]] = []
        self._waiting: list[tuple[list[tuple[str, int]], Callable[[Codes], None]]] = []
        self.at_once: ErrorCode | None = None

    def admit(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: list[tuple[str, int]],
        add: bool,
        done: Callable[[Codes], None],
    ) -> None:
        self.asked.append((transactional_id, producer_id, producer_epoch, partitions, add))
        if self.at_once is not None:
            done(dict.fromkeys(partitions, self.at_once))
        else:
            self._waiting.append((partitions, done))

    def answer(self, code: ErrorCode = ErrorCode.NONE, *, number: int = 0, **others: ErrorCode) -> None:
        partitions, done = self._waiting.pop(number)
        done({key: others.get(f"p{key[1]}", code) for key in partitions})


class Desk:
    """A rig with a gate, a producer, and what its requests look like."""

    def __init__(self, **settings: str) -> None:
        self.rig = Rig(**settings)
        self.rig.create(partitions=3)
        assert self.rig.node.core is not None
        coordinators = self.rig.node.core.coordinators
        self.gate = Gate(coordinators.transactions.runtime)
        coordinators.gate = self.gate  # type: ignore[assignment]

    def batch(self, sequence: int, *, id: int = 7, epoch: int = 0, value: bytes = b"v", **options: Any) -> bytes:
        return self.rig.batch(value, producer=(id, epoch, sequence), **{"transactional": True, **options})

    def send(
        self, *batches: tuple[int, bytes], version: int = 11, client: Any = None, id: str | None = "tx", acks: int = -1
    ) -> list[Any]:
        """Produce these (partition, batch) pairs; the answer appears in the list."""
        request = produce_request(*((TOPIC, index, batch) for index, batch in batches), acks=acks)
        request.transactional_id = id
        if version >= 13:
            for topic in request.topic_data:
                topic.topic_id = self.rig.topic_id()
        return self.rig.later(request, version, client)

    def answer(self, code: ErrorCode = ErrorCode.NONE, **options: Any) -> None:
        self.gate.answer(code, **options)
        self.settle()

    def settle(self) -> None:
        self.rig.node.settle()
        self.rig.node.pass_time(30)

    def abort(self, *, epoch: int = 0, version: int = 0, id: int = 7) -> None:
        self.rig.partition().append_marker(id, epoch, False, 0, version)
        self.settle()


@pytest.fixture
def desk() -> Desk:
    return Desk()


def parts(answers: list[Any]) -> list[PartitionProduceResponse]:
    return [part for topic in answers[0].responses for part in topic.partition_responses]


def codes(answers: list[Any]) -> list[int]:
    return [part.error_code for part in parts(answers)]


# -- asking


@pytest.mark.parametrize("version", range(3, 14))
def test_the_first_batch_waits_for_the_coordinator(desk: Desk, version: int) -> None:
    answers = desk.send((0, desk.batch(0)), version=version)
    desk.settle()
    assert not answers
    assert desk.rig.partition().log.end_offset == 0
    assert desk.gate.asked == [("tx", 7, 0, [(TOPIC, 0)], version >= 12)]
    desk.answer()
    assert codes(answers) == [0]
    assert desk.rig.partition().log.last_stable_offset(1) == 0


def test_a_transaction_that_is_open_is_not_asked_for_again(desk: Desk) -> None:
    first = desk.send((0, desk.batch(0)))
    desk.answer()
    second = desk.send((0, desk.batch(1)))
    desk.settle()
    assert (codes(first), codes(second)) == ([0], [0])
    assert len(desk.gate.asked) == 1


def test_the_next_transaction_is_asked_for_again(desk: Desk) -> None:
    desk.send((0, desk.batch(0)))
    desk.answer()
    desk.abort()
    answers = desk.send((0, desk.batch(1)))
    desk.settle()
    assert not answers
    desk.answer()
    assert codes(answers) == [0]
    assert len(desk.gate.asked) == 2


def test_later_batches_wait_behind_the_first_in_order(desk: Desk) -> None:
    sent = [desk.send((0, desk.batch(n, value=b"%d" % n))) for n in range(5)]
    desk.settle()
    assert len(desk.gate.asked) == 1
    assert not any(sent)
    desk.answer()
    assert [codes(answers) for answers in sent] == [[0]] * 5
    assert [parts(answers)[0].base_offset for answers in sent] == [0, 1, 2, 3, 4]
    assert desk.rig.values() == [b"0", b"1", b"2", b"3", b"4"]


def test_other_producers_and_partitions_are_not_held_up(desk: Desk) -> None:
    waiting = desk.send((0, desk.batch(0)))
    plain = desk.send((0, desk.rig.batch(b"plain")), client=desk.rig.connect(), id=None)
    desk.settle()
    assert codes(plain) == [0]
    other = desk.send((0, desk.batch(0, id=8)), client=desk.rig.connect(), id="other")
    desk.answer(number=1)
    assert codes(other) == [0]
    assert not waiting
    elsewhere = desk.send((1, desk.batch(0)), client=desk.rig.connect())
    desk.answer(number=1)
    assert codes(elsewhere) == [0]
    assert not waiting
    assert desk.rig.partition().log.end_offset == 2


def test_one_question_for_all_partitions_of_a_request_that_need_one(desk: Desk) -> None:
    desk.send((1, desk.batch(0)))
    desk.answer()
    answers = desk.send((0, desk.batch(0)), (1, desk.batch(1)), (2, desk.rig.batch(b"plain")), (9, desk.batch(0)))
    desk.settle()
    assert desk.gate.asked[1:] == [("tx", 7, 0, [(TOPIC, 0)], False)]
    assert desk.rig.partition(index=1).log.end_offset == 2, "its transaction is open"
    assert desk.rig.partition(index=2).log.end_offset == 1
    assert not answers
    desk.answer()
    assert codes(answers) == [0, 0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_partitions_are_admitted_one_by_one(desk: Desk) -> None:
    answers = desk.send((0, desk.batch(0)), (1, desk.batch(0)))
    desk.answer(p1=ErrorCode.TRANSACTION_ABORTABLE)
    assert codes(answers) == [0, ErrorCode.TRANSACTION_ABORTABLE]
    assert desk.rig.partition(index=1).log.end_offset == 0


def test_a_coordinator_that_answers_at_once_holds_nothing(desk: Desk) -> None:
    desk.gate.at_once = ErrorCode.NONE
    answers = desk.send((0, desk.batch(0)), (1, desk.batch(0)))
    desk.settle()
    assert codes(answers) == [0, 0]
    desk.gate.at_once = INVALID_STATE
    assert codes(desk.send((2, desk.batch(0)))) == [INVALID_STATE]
    assert_nothing_held(desk)


def assert_nothing_held(desk: Desk) -> None:
    core = desk.rig.node.core
    assert core is not None
    assert core.hub.held_bytes == 0
    assert all(len(desk.rig.partition(index=index).guards) == 0 for index in range(3))


@pytest.mark.parametrize("version", [11, 12])
def test_without_verification_only_what_adds_partitions_is_asked(version: int) -> None:
    desk = Desk(transaction_partition_verification_enable="false")
    answers = desk.send((0, desk.batch(0)), version=version)
    desk.settle()
    assert len(desk.gate.asked) == (1 if version >= 12 else 0)
    assert bool(answers) == (version < 12)


# -- refusals


@pytest.mark.parametrize(
    ("said", "version", "told"),
    [
        (INVALID_STATE, 9, INVALID_STATE),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, 9, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.PRODUCER_FENCED, 9, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.PRODUCER_FENCED, 12, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, 10, INVALID_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, 11, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 11, NOT_ENOUGH),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 12, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 11, NOT_ENOUGH),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 12, NOT_ENOUGH),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, 12, NOT_ENOUGH),
        (ErrorCode.NOT_COORDINATOR, 12, NOT_ENOUGH),
        (ErrorCode.NETWORK_EXCEPTION, 12, NOT_ENOUGH),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 12, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ],
)
def test_what_the_coordinator_says_and_what_the_client_is_told(
    desk: Desk, said: ErrorCode, version: int, told: ErrorCode
) -> None:
    first = desk.send((0, desk.batch(0)), version=version)
    second = desk.send((0, desk.batch(1)), version=version)
    desk.answer(said)
    assert (codes(first), codes(second)) == ([told], [told])
    assert parts(first)[0].base_offset == -1
    assert desk.rig.partition().log.end_offset == 0
    assert_nothing_held(desk)


@pytest.mark.parametrize("version", [11, 12])
def test_a_batch_does_not_overtake_one_that_was_refused(desk: Desk, version: int) -> None:
    first = desk.send((0, desk.batch(0)), version=version)
    desk.answer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert codes(first) == [NOT_ENOUGH]
    second = desk.send((0, desk.batch(1)), version=version)
    desk.answer()
    assert codes(second) == [OUT_OF_ORDER]
    again = [desk.send((0, desk.batch(n)), version=version) for n in (0, 1)]
    desk.answer()
    assert [codes(answers) for answers in again] == [[0], [0]]


def test_a_producer_that_adds_partitions_begins_with_zero(desk: Desk) -> None:
    late = desk.send((0, desk.batch(5)), version=12)
    desk.answer()
    assert codes(late) == [OUT_OF_ORDER]
    older = desk.send((1, desk.batch(5)), version=11)
    desk.answer()
    assert codes(older) == [0]


def test_a_claim_to_another_epoch_does_not_change_where_a_producer_begins(desk: Desk) -> None:
    claim = desk.send((0, desk.batch(0, epoch=5)), version=12)
    desk.answer(ErrorCode.PRODUCER_FENCED)
    assert codes(claim) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    late = desk.send((0, desk.batch(4)), version=12)
    desk.answer()
    assert codes(late) == [OUT_OF_ORDER]


def test_batches_of_two_producers_in_one_request_are_refused(desk: Desk) -> None:
    for other in ({"id": 8}, {"epoch": 1}):
        answers = desk.send((0, desk.batch(0)), (1, desk.batch(0, **other)), (2, desk.rig.batch(b"plain")))
        assert codes(answers) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 3
    assert desk.gate.asked == []
    assert desk.rig.partition(index=2).log.end_offset == 0


def test_a_transactional_batch_needs_a_transactional_id(desk: Desk) -> None:
    answers = desk.send((0, desk.batch(0)), id=None)
    assert codes(answers) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]


def test_a_plain_batch_is_no_part_of_the_transaction(desk: Desk) -> None:
    answers = desk.send((0, desk.rig.batch(b"plain")))
    desk.settle()
    assert codes(answers) == [0]
    assert desk.gate.asked == []
    desk.send((1, desk.batch(0)))
    desk.answer()
    assert codes(desk.send((1, desk.batch(1, transactional=False)))) == [INVALID_STATE]


def test_what_cannot_be_appended_is_told_after_the_admission(desk: Desk) -> None:
    broken = bytearray(desk.batch(0))
    broken[-1] ^= 1
    answers = desk.send((0, bytes(broken)), (1, desk.batch(0)))
    desk.answer()
    assert codes(answers) == [ErrorCode.CORRUPT_MESSAGE, 0]


def test_what_is_wrong_at_a_glance_is_not_asked_for(desk: Desk) -> None:
    answers = desk.send((0, b""), (7, desk.batch(0)), (1, desk.batch(0)[:40]))
    assert codes(answers) == [
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_RECORD,
    ]
    assert codes(desk.send((0, desk.batch(0)), acks=3)) == [ErrorCode.INVALID_REQUIRED_ACKS]
    assert desk.gate.asked == []


# -- what happens meanwhile


def test_a_marker_in_between_refuses_what_waits_for_its_transaction(desk: Desk) -> None:
    sent = [desk.send((0, desk.batch(n))) for n in range(2)]
    desk.abort()
    assert [codes(answers) for answers in sent] == [[INVALID_STATE]] * 2
    desk.answer()
    assert desk.rig.partition().log.end_offset == 1, "only the marker"
    assert_nothing_held(desk)


def test_a_late_admission_does_not_admit_the_next_transaction(desk: Desk) -> None:
    desk.send((0, desk.batch(0)))
    desk.abort(epoch=1, version=2)
    late = desk.send((0, desk.batch(0, epoch=1)))
    desk.answer()
    assert not late
    assert desk.rig.partition().log.end_offset == 1
    desk.answer(INVALID_STATE)
    assert codes(late) == [INVALID_STATE]


def test_a_marker_of_another_producer_changes_nothing(desk: Desk) -> None:
    answers = desk.send((0, desk.batch(0)))
    desk.abort(id=8)
    assert not answers
    desk.answer()
    assert codes(answers) == [0]


def test_a_newer_epoch_does_not_wait_behind_a_zombie(desk: Desk) -> None:
    zombie = desk.send((0, desk.batch(0, epoch=1)))
    newer = desk.send((0, desk.batch(0, epoch=2)), client=desk.rig.connect())
    assert len(desk.gate.asked) == 2
    desk.answer(number=1)
    assert codes(newer) == [0]
    desk.answer(ErrorCode.PRODUCER_FENCED)
    assert codes(zombie) == [ErrorCode.INVALID_PRODUCER_EPOCH]


def test_a_write_that_fails_is_asked_for_again(desk: Desk) -> None:
    disk = desk.rig.node.disk
    first = desk.send((0, desk.batch(0)))
    disk.capacity_bytes = disk.total_bytes() - disk.free_bytes()
    desk.answer()
    assert codes(first) == [ErrorCode.KAFKA_STORAGE_ERROR]
    disk.capacity_bytes = None
    again = desk.send((0, desk.batch(0)))
    desk.settle()
    assert not again
    desk.answer()
    assert codes(again) == [0]


def test_a_topic_deleted_meanwhile_is_told_so(desk: Desk) -> None:
    answers = desk.send((0, desk.batch(0)))
    assert desk.rig.node.core is not None
    desk.rig.node.core.partitions.remove([desk.rig.node.core.image.topics[TOPIC]])
    desk.settle()
    assert codes(answers) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    desk.answer()


def test_a_client_that_hangs_up_disturbs_nobody(desk: Desk) -> None:
    client = desk.rig.connect()
    gone = desk.send((0, desk.batch(0)), client=client)
    behind = desk.send((0, desk.batch(1)))
    client.hang_up()
    desk.answer()
    assert not gone
    assert codes(behind) == [0]
    assert desk.rig.partition().log.end_offset == 2, "it had been sent"


def test_what_may_wait_is_bounded(desk: Desk) -> None:
    sent = [desk.send((0, desk.batch(n))) for n in range(HELD_BATCHES_MAX + 2)]
    desk.answer()
    assert [codes(answers) for answers in sent] == [[0]] * HELD_BATCHES_MAX + [[NOT_ENOUGH]] * 2
    assert desk.rig.node.core is not None
    hub = desk.rig.node.core.hub
    others = HELD_BYTES_MAX - 100
    hub.held_bytes += others
    full = desk.send((1, desk.batch(0)), (2, desk.batch(0)))
    desk.settle()
    desk.answer()
    hub.held_bytes -= others
    assert codes(full) == [0, NOT_ENOUGH]
    assert_nothing_held(desk)


def test_without_acknowledgements_an_error_closes_the_connection(desk: Desk) -> None:
    client = desk.rig.connect()
    request = produce_request((TOPIC, 0, desk.batch(0)), acks=0)
    request.transactional_id = "tx"
    client.send(request, 11, None)
    desk.answer()
    assert desk.rig.partition().log.end_offset == 1
    assert not client.connection.closed
    desk.abort()
    client.send(request, 11, None)
    desk.answer(INVALID_STATE)
    assert client.connection.closed
