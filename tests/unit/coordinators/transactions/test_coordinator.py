"""What the stories do not tell: batched requests, patterns, producer ids that cannot be had, waiting additions."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.coordinators.hashing import partition_of
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tapelog.wire.messages.describe_transactions_request import DescribeTransactionsRequest
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.list_transactions_request import ListTransactionsRequest
from tests.unit.coordinators.transactions.bench import TransactionBench

Codes = dict[tuple[str, int], ErrorCode]
WHERE = ("orders", 0)


@pytest.fixture
def bench() -> TransactionBench:
    return TransactionBench()


def init(bench: TransactionBench, transactional_id: str = "t") -> tuple[int, int]:
    """The producer id and epoch of a new owner."""
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    answer = bench.ask("init_producer_id", request, 5)[0]
    assert answer.error_code == 0
    return answer.producer_id, answer.producer_epoch


def admit(bench: TransactionBench, producer: tuple[int, int], *, add: bool = True, settle: bool = True) -> list[Codes]:
    """What the gate says; the list gets the answer when there is one."""
    answers: list[Codes] = []
    bench.coordinator.admit("t", *producer, [WHERE], add, answers.append)
    if settle:
        bench.settle()
    return answers


def end(bench: TransactionBench, producer: tuple[int, int], commit: bool = True) -> Any:
    request = EndTxnRequest(transactional_id="t", producer_id=producer[0], producer_epoch=producer[1], committed=commit)
    return bench.ask("end_txn", request, 5)[0]


# -- AddPartitionsToTxn of several transactions


def batched(*transactions: tuple[str, tuple[int, int], bool, list[int]]) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=name,
                producer_id=producer[0],
                producer_epoch=producer[1],
                verify_only=verify,
                topics=[AddPartitionsToTxnTopic(name="orders", partitions=partitions)],
            )
            for name, producer, verify, partitions in transactions
        ]
    )


def results(response: Any) -> list[tuple[str, list[str]]]:
    return [
        (
            one.transactional_id,
            [
                f"{topic.name}/{part.partition_index} {ErrorCode(part.partition_error_code).name}"
                for topic in one.topic_results
                for part in topic.results_by_partition
            ],
        )
        for one in response.results_by_transaction
    ]


def test_each_transaction_of_a_batch_has_its_own_result(bench: TransactionBench) -> None:
    one, two = init(bench, "one"), init(bench, "two")
    request = batched(
        ("one", one, False, [0, 1]),
        ("two", two, True, [2]),
        ("two", (two[0], 5), False, [2]),
        ("one", one, False, [9]),
        ("", one, False, [0]),
        ("", one, True, [0]),
    )
    answer = bench.ask("add_partitions_to_txn", request, 5)[0]
    assert results(answer) == [
        ("one", ["orders/0 NONE", "orders/1 NONE"]),
        ("two", ["orders/2 TRANSACTION_ABORTABLE"]),
        ("two", ["orders/2 PRODUCER_FENCED"]),
        ("one", ["orders/9 UNKNOWN_TOPIC_OR_PARTITION"]),
        ("", ["orders/0 INVALID_REQUEST"]),
        ("", ["orders/0 INVALID_REQUEST"]),
    ]


def test_a_batch_is_answered_when_its_last_transaction_is(bench: TransactionBench) -> None:
    one, two = init(bench, "one"), init(bench, "two")
    bench.log.held = True
    request = batched(("one", one, False, [0]), ("two", two, True, [0]))
    answers = bench.ask("add_partitions_to_txn", request, 4)
    assert answers == []
    bench.release()
    assert results(answers[0]) == [("one", ["orders/0 NONE"]), ("two", ["orders/0 TRANSACTION_ABORTABLE"])]


def test_an_empty_batch_is_answered(bench: TransactionBench) -> None:
    assert results(bench.ask("add_partitions_to_txn", AddPartitionsToTxnRequest(), 5)[0]) == []


# -- producer ids


def test_without_a_producer_id_there_is_no_new_owner(bench: TransactionBench) -> None:
    bench.no_ids = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "no room")
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000)
    assert bench.ask("init_producer_id", request, 5)[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    bench.no_ids = None
    assert init(bench) == (1000, 0)


def test_a_producer_id_that_is_not_needed_is_not_asked_for(bench: TransactionBench) -> None:
    assert init(bench) == (1000, 0)
    assert init(bench) == (1000, 1)
    assert bench.next_id == 1001


def test_two_first_owners_at_once_share_one_producer_id(bench: TransactionBench) -> None:
    request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=1000)
    first = bench.ask("init_producer_id", request, 5, settle=False)
    second = bench.ask("init_producer_id", request, 5, settle=False)
    bench.settle()
    assert [(one.producer_id, one.producer_epoch) for one in (*first, *second)] == [(1000, 0), (1000, 1)]


# -- additions that come too early


def test_an_addition_waits_for_the_completion_before_it(bench: TransactionBench) -> None:
    producer = init(bench)
    admit(bench, producer)
    bench.markers.held = True
    answer = end(bench, producer)
    producer = (answer.producer_id, answer.producer_epoch)
    early = admit(bench, producer)
    bench.advance(50)
    assert early == []
    bench.markers.release()
    bench.settle()
    assert early == [{WHERE: ErrorCode.NONE}]
    bench.advance(1000)
    assert len(early) == 1, "the answer comes once: nobody waits for the time to be over any more"
    assert end(bench, producer).error_code == ErrorCode.NONE


def test_it_does_not_wait_for_long(bench: TransactionBench) -> None:
    producer = init(bench)
    admit(bench, producer)
    bench.markers.held = True
    answer = end(bench, producer)
    early = admit(bench, (answer.producer_id, answer.producer_epoch))
    bench.advance(100)
    assert early == [{WHERE: ErrorCode.CONCURRENT_TRANSACTIONS}]
    bench.markers.release()
    bench.advance(1000)
    assert len(early) == 1


def test_who_waits_when_the_coordinator_goes_is_told(bench: TransactionBench) -> None:
    producer = init(bench)
    admit(bench, producer)
    bench.markers.held = True
    answer = end(bench, producer)
    early = admit(bench, (answer.producer_id, answer.producer_epoch))
    bench.coordinator.runtime.on_resigned(0)
    bench.settle()
    assert early == [{WHERE: ErrorCode.COORDINATOR_NOT_AVAILABLE}]


def test_markers_that_are_answered_after_the_coordinator_went_change_nothing(bench: TransactionBench) -> None:
    producer = init(bench)
    admit(bench, producer)
    bench.markers.held = True
    end(bench, producer)
    bench.coordinator.runtime.on_resigned(0)
    bench.coordinator.runtime.on_elected(0, 8)
    bench.settle()
    before = bench.log.end_offset(0)
    late, bench.markers.waiting = bench.markers.waiting[0], bench.markers.waiting[1:]
    late[2]({WHERE: ErrorCode.NONE})
    bench.settle()
    assert bench.log.end_offset(0) == before
    bench.markers.release()
    bench.settle()
    assert bench.machine.store.get("t") is not None
    assert bench.machine.completions.under_way == []


def test_a_writer_of_markers_that_breaks_is_asked_again(
    bench: TransactionBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = init(bench)
    admit(bench, producer)
    write, broken = bench.markers.write, [True, True]

    def breaks(*arguments: Any) -> None:
        if broken.pop() if broken else False:
            raise RuntimeError("a mistake")
        write(*arguments)

    monkeypatch.setattr(bench.markers, "write", breaks)
    assert end(bench, producer).error_code == ErrorCode.NONE
    bench.advance(1000)
    assert bench.machine.completions.under_way == []
    assert [where for _, where in bench.markers.written] == [WHERE]


def test_a_fenced_coordinator_stops(bench: TransactionBench) -> None:
    producer = init(bench)
    admit(bench, producer)
    bench.markers.codes[WHERE] = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    end(bench, producer)
    calls = bench.markers.calls
    bench.advance(60_000)
    assert bench.markers.calls == calls


# -- ListTransactions by pattern


def names(bench: TransactionBench, pattern: str) -> Any:
    answer = bench.ask("list_transactions", ListTransactionsRequest(transactional_id_pattern=pattern), 2)[0]
    return [one.transactional_id for one in answer.transaction_states] or ErrorCode(answer.error_code).name


def test_transactions_are_listed_by_pattern(bench: TransactionBench) -> None:
    for name in ("app-1", "app-2", "other"):
        init(bench, name)
    assert names(bench, "app-.*") == ["app-1", "app-2"]
    assert names(bench, "app") == "NONE", "the whole id must match"
    assert names(bench, "") == ["app-1", "app-2", "other"]
    assert names(bench, "app-(") == "INVALID_REGULAR_EXPRESSION"
    assert names(bench, "(a+)+$") == "NONE"


# -- placement


def test_the_topics_own_partition_count_decides_where_an_id_lives() -> None:
    bench = TransactionBench({"transaction.state.log.num.partitions": "50"})
    assert bench.coordinator.partition_for("some-id") == partition_of("some-id", 50)
    bench.topics["__transaction_state"] = 8
    assert bench.coordinator.partition_for("some-id") == partition_of("some-id", 8)


# -- since when


def began(bench: TransactionBench) -> int:
    """When the transaction began, as DescribeTransactions tells it."""
    (described,) = bench.ask("describe_transactions", DescribeTransactionsRequest(transactional_ids=["t"]), 0)
    return int(described.transaction_states[0].transaction_start_time_ms)


def test_a_transaction_began_with_its_first_partition_whatever_comes_later(bench: TransactionBench) -> None:
    producer = init(bench)
    assert began(bench) == -1
    bench.advance(100)
    first_ms = bench.clock.wall_ms()
    admit(bench, producer)
    bench.advance(100)
    bench.coordinator.admit("t", *producer, [("orders", 1)], True, lambda codes: None)
    bench.settle()
    assert began(bench) == first_ms
    bench.markers.held = True
    bench.advance(100)
    end(bench, producer)
    assert began(bench) == first_ms
    bench.markers.release()
    bench.settle()


def test_an_abort_of_nothing_is_a_transaction_that_began_then(bench: TransactionBench) -> None:
    producer = init(bench)
    bench.advance(100)
    assert end(bench, producer, commit=False).error_code == 0
    assert began(bench) == bench.clock.wall_ms()


# -- what older clients understand


@pytest.mark.parametrize("api", ["init_producer_id", "add_offsets_to_txn", "end_txn", "add_partitions_to_txn"])
@pytest.mark.parametrize("later", [False, True])
def test_a_fenced_producer_is_told_so_in_the_words_of_its_version(
    bench: TransactionBench, api: str, later: bool
) -> None:
    producer_id, epoch = init(bench)
    assert init(bench) == (producer_id, epoch + 1)
    names = {"transactional_id": "t", "producer_id": producer_id, "producer_epoch": epoch}
    topics = [AddPartitionsToTxnTopic(name="orders", partitions=[0])]
    requests: dict[str, tuple[Any, int]] = {
        "init_producer_id": (InitProducerIdRequest(**names, transaction_timeout_ms=60_000), 4),
        "add_offsets_to_txn": (AddOffsetsToTxnRequest(**names, group_id="g"), 2),
        "end_txn": (EndTxnRequest(**names, committed=True), 2),
        "add_partitions_to_txn": (
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="t",
                v3_and_below_producer_id=producer_id,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=topics,
            ),
            2,
        ),
    }
    request, since = requests[api]
    (answer,) = bench.ask(api, request, since if later else since - 1)
    if api == "add_partitions_to_txn":
        answer = answer.results_by_topic_v3_and_below[0].results_by_partition[0]
        code = answer.partition_error_code
    else:
        code = answer.error_code
    assert code == (ErrorCode.PRODUCER_FENCED if later else ErrorCode.INVALID_PRODUCER_EPOCH)


def test_a_transaction_begun_by_a_clock_that_was_ahead_times_out_all_the_same(bench: TransactionBench) -> None:
    bench.clock.wall_offset_ms += 6_000_000
    admit(bench, init(bench))
    bench.clock.wall_offset_ms -= 6_000_000
    bench.advance(40_000)
    assert bench.markers.written == []
    bench.advance(60_000)
    assert [where for _, where in bench.markers.written] == [WHERE]


def test_a_new_coordinator_does_not_end_again_what_its_log_says_is_over(bench: TransactionBench) -> None:
    """Of an older client's next transaction, which has the same epoch, that marker would be the end."""
    producer = init(bench)
    admit(bench, producer)
    prepared = bench.log.end_offset(0) + 1
    end(bench, producer, commit=False)
    admit(bench, producer)
    told = len(bench.markers.written)
    bench.coordinator.runtime.on_resigned(0)
    bench.log.committed[0] = prepared  # all of it is in the new leader's log; it knows of so much that it is committed
    bench.coordinator.runtime.on_elected(0, 8)
    bench.settle()
    assert len(bench.markers.written) == told
    bench.release()
    assert len(bench.markers.written) == told
    assert bench.machine.completions.under_way == []


def test_what_was_decided_is_told_when_what_followed_in_the_log_never_happened(bench: TransactionBench) -> None:
    producer = init(bench)
    admit(bench, producer)
    prepared = bench.log.end_offset(0) + 1
    end(bench, producer, commit=False)
    told = len(bench.markers.written)
    bench.coordinator.runtime.on_resigned(0)
    bench.log.committed[0] = prepared
    bench.coordinator.runtime.on_elected(0, 8)
    bench.settle()
    bench.log.truncate(0, prepared)
    bench.coordinator.runtime.on_append_failed(0, prepared, ErrorCode.NOT_ENOUGH_REPLICAS)
    bench.settle()
    assert len(bench.markers.written) == told + 1
