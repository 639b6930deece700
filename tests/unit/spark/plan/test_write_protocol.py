"""The write protocol step by step: what is asked, and what the answers lead to. Whole lives: tests/properties."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from tapelog.client.producer_settings import OpenTransaction
from tapelog.spark.plan.write_protocol import (
    BEYOND,
    Begin,
    CountRows,
    End,
    FindOpen,
    ReadMarkers,
    ReplayError,
    Take,
    WriteError,
    WriteMarker,
    WriteRows,
    abort,
    commit,
    task,
)
from tapelog.spark.plan.write_values import Marker, Tally, Work, Written, ids_of

WORK = Work("q", "run2", 7, 3, 0, "11")
OPEN = OpenTransaction("q-3.0", 5, 1, 4)
FIVE = Tally(5, 10, 99)


def play(steps: Generator[Any, Any, Any], answer: Callable[[Any], Any]) -> tuple[list[Any], Any]:
    """All that is asked, and the result."""
    asked: list[Any] = []
    reply: Any = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as over:
            return asked, over.value
        asked.append(step)
        reply = answer(step)


def broker(markers: dict[str, Marker] | None = None, refused: str = "", open_ids: tuple[str, ...] = ()) -> Any:
    def answer(step: Any) -> Any:
        match step:
            case ReadMarkers(ids):
                return {name: marker for name, marker in (markers or {}).items() if name in ids}
            case WriteRows() | CountRows():
                return FIVE
            case WriteMarker():
                return OPEN
            case End(transactions):
                return dict.fromkeys(transactions, refused) if refused else {}
            case FindOpen(ids):
                return [name for name in ids if name in open_ids]

    return answer


def marker(batch: int, run: str = "run1", tally: Tally = FIVE, attempt: str = "9") -> Marker:
    return Marker(batch, run, attempt, tally)


def kinds(asked: list[Any]) -> list[str]:
    return [type(step).__name__ for step in asked]


def test_a_task_fences_looks_writes_and_leaves_its_transaction_open() -> None:
    asked, result = play(task(WORK), broker())
    assert kinds(asked) == ["FindOpen", "Begin", "ReadMarkers", "ReadMarkers", "WriteRows", "WriteMarker"]
    assert asked[:2] == [FindOpen(("q-3.0",)), Begin("q-3.0")]
    assert asked[2] == ReadMarkers(("q-3.0",), settled=True)
    assert asked[-1] == WriteMarker(Marker(7, "run2", "11", FIVE))
    assert result == Written(WORK, FIVE, OPEN, None)


@pytest.mark.parametrize("where", ["q-3.0", "q-3.2"])
def test_a_batch_that_is_there_is_not_written_again(where: str) -> None:
    asked, result = play(task(WORK), broker({where: marker(7)}))
    assert kinds(asked) == ["FindOpen", "Begin", "ReadMarkers", "ReadMarkers", "CountRows"]
    assert result.open is None


def test_a_replay_with_other_rows_stops_and_says_which_option_lets_it_pass() -> None:
    with pytest.raises(ReplayError, match="Batch 7 came again") as raised:
        play(task(WORK), broker({"q-3.0": marker(7, tally=Tally(6, 10, 99))}))
    assert "replayCheck" in str(raised.value)
    asked, _ = play(task(WORK, check_replay=False), broker({"q-3.0": marker(7, tally=Tally(6))}))
    assert "CountRows" not in kinds(asked)


def test_a_batch_write_that_comes_again_with_other_rows_is_told_how_to_read_repeatably() -> None:
    work = Work("q", "run2", 7, 3, 0, "11", repeats=True)
    said = []
    for one in (WORK, work):
        with pytest.raises(ReplayError) as raised:
            play(task(one), broker({"q-3.0": marker(7, tally=Tally(6, 10, 99))}))
        assert len(str(raised.value).splitlines()) == 3
        said.append("repeatable=true" in str(raised.value))
    assert said == [False, True], "a stream's batches are so anyway"


def test_an_older_checkpoint_stops_rather_than_skips() -> None:
    with pytest.raises(ReplayError, match="Batch 7 comes after batch 8"):
        play(task(WORK), broker({"q-3.1": marker(8)}))


def test_an_older_version_of_a_batch_write_is_done() -> None:
    work = Work("q", "run2", 7, 3, 0, "11", repeats=True)
    _, result = play(task(work), broker({"q-3.1": marker(8)}))
    assert result.open is None


def test_the_first_commit_of_a_run_keeps_others_out_and_looks_again() -> None:
    asked, _ = play(commit([Written(WORK, FIVE, OPEN, marker(6))]), broker())
    others = ids_of("q", 3, but=0)
    behind = tuple(name for number in range(4, 4 + BEYOND) for name in ids_of("q", number))
    assert asked == [
        Take(others),
        ReadMarkers(others, settled=True),
        FindOpen(behind),
        ReadMarkers(behind, settled=True),
        End((OPEN,), commit=True),
        FindOpen(others),
    ]


def test_a_batch_that_comes_again_in_fewer_partitions_stops_before_it_is_committed() -> None:
    written = [Written(WORK, FIVE, OPEN, marker(6))]
    for far in ("q-4.0", "q-17.3"):
        with pytest.raises(ReplayError, match="Batch 7 came again in 4 Spark partitions") as raised:
            play(commit(written), broker({far: marker(7)}))
        assert "replayCheck" in str(raised.value) and len(str(raised.value).splitlines()) == 3
    # there were more of them in an earlier batch, and behind those more still
    with pytest.raises(ReplayError, match="have committed batch 7"):
        play(commit(written), broker({"q-15.0": marker(6), "q-25.0": marker(7)}))
    assert End((OPEN,), commit=True) in play(commit(written), broker({"q-4.0": marker(6)}))[0]
    asked, _ = play(commit(written, check_replay=False), broker({"q-4.0": marker(7)}))
    assert End((OPEN,), commit=True) in asked


def test_transactions_that_are_open_behind_the_last_partition_are_ended_before_markers_are_read() -> None:
    asked, _ = play(commit([Written(WORK, FIVE, OPEN, marker(6))]), broker(open_ids=("q-5.1",)))
    took = asked.index(Take(("q-5.1",)))
    assert isinstance(asked[took + 1], ReadMarkers) and asked.index(End((OPEN,), commit=True)) > took


def test_later_commits_of_a_run_only_end_and_look_for_what_is_left_open() -> None:
    asked, _ = play(commit([Written(WORK, FIVE, OPEN, marker(6, "run2"))]), broker(open_ids=("q-3.1",)))
    assert asked == [End((OPEN,), commit=True), FindOpen(ids_of("q", 3, but=0)), Take(("q-3.1",))]


def test_a_batch_that_another_run_committed_meanwhile_is_aborted_here() -> None:
    asked, _ = play(commit([Written(WORK, FIVE, OPEN, None)]), broker({"q-3.2": marker(7)}))
    assert End((OPEN,), commit=False) in asked
    assert End((), commit=True) in asked


def test_a_batch_that_another_run_committed_meanwhile_with_other_rows_stops() -> None:
    there = broker({"q-3.2": marker(7, tally=Tally(4, 10, 99))})
    with pytest.raises(ReplayError, match="Batch 7 came again with other rows"):
        play(commit([Written(WORK, FIVE, OPEN, None)]), there)
    asked, _ = play(commit([Written(WORK, FIVE, OPEN, None)], check_replay=False), there)
    assert End((OPEN,), commit=False) in asked


def test_a_refused_commit_is_fine_if_its_own_marker_is_there() -> None:
    mine = Marker(7, "run2", "11", FIVE)
    play(commit([Written(WORK, FIVE, OPEN, marker(6, "run2"))]), broker({"q-3.0": mine}, refused="fenced"))


@pytest.mark.parametrize("found", [{}, {"q-3.0": marker(7)}, {"q-3.0": marker(6, "run2")}])
def test_a_lost_transaction_stops_the_query_and_names_batch_and_option(found: dict[str, Marker]) -> None:
    with pytest.raises(WriteError, match="Batch 7 could not be committed in Spark partition 3") as raised:
        play(commit([Written(WORK, FIVE, OPEN, marker(6, "run2"), 900_000)]), broker(found, refused="fenced"))
    assert "kafka.transaction.timeout.ms is 900000 ms" in str(raised.value)
    assert len(str(raised.value).splitlines()) <= 3


def test_abort_takes_what_is_open_reported_or_not() -> None:
    written: list[Written | None] = [None, Written(WORK, FIVE, OPEN, None)]
    asked, _ = play(abort(written, None), broker(open_ids=("q-0.1",)))
    assert asked == [FindOpen((*ids_of("q", 0), *ids_of("q", 1))), Take(("q-0.1",))]
    assert play(abort([None, None], None), broker())[0] == []


def test_a_marker_is_read_back_and_a_strange_one_still_tells_its_batch() -> None:
    one = marker(4)
    assert Marker.read(one.offset, one.text()) == one
    assert Marker.read(5, "something else") == Marker(4, "", "", Tally(-1))
    assert Marker.read(0, "") is None


def test_an_attempt_that_finds_its_id_in_use_takes_the_next_one() -> None:
    asked, result = play(task(WORK), broker(open_ids=("q-3.0", "q-3.1")))
    assert asked[2] == Begin("q-3.2") and result.work.name == "q-3.2"
    asked, _ = play(commit([result]), broker())
    assert Take(("q-3.0", "q-3.1", "q-3.3")) in asked[-1:], "whoever is beside it can write no more"
    asked, _ = play(task(WORK), broker(open_ids=("q-3.0", "q-3.1", "q-3.2", "q-3.3")))
    assert asked[2] == Begin("q-3.0"), "there are no more"


def beside(late: Marker) -> Callable[[Any], Any]:
    """The driver commits another attempt's work, which left this marker, while this one writes its rows."""
    before, after = broker(open_ids=("q-3.0",)), broker({"q-3.0": late})
    has_written = False

    def answer(step: Any) -> Any:
        nonlocal has_written
        has_written = has_written or isinstance(step, WriteRows)
        return (after if has_written else before)(step)

    return answer


def played_until_it_stops(steps: Generator[Any, Any, Any], answer: Callable[[Any], Any]) -> list[Any]:
    """All that is asked before a ReplayError."""
    asked: list[Any] = []

    def noting(step: Any) -> Any:
        asked.append(step)
        return answer(step)

    with pytest.raises(ReplayError):
        play(steps, noting)
    return asked


def test_an_attempt_whose_batch_is_committed_while_it_writes_aborts_its_own_transaction() -> None:
    there = marker(7, "run2")
    asked, result = play(task(WORK), beside(there))
    assert kinds(asked)[-4:] == ["WriteRows", "WriteMarker", "ReadMarkers", "End"]
    assert asked[-1].commit is False and (result.open, result.before) == (None, there)


@pytest.mark.parametrize("late", [marker(7, tally=Tally(4, 10, 99)), marker(9)])
def test_an_attempt_that_meets_other_rows_or_a_newer_batch_while_it_writes_stops(late: Marker) -> None:
    asked = played_until_it_stops(task(WORK), beside(late))
    assert asked[-1] == End((OPEN,), commit=False), "and leaves nothing open"


def test_unless_it_was_told_not_to_compare_or_the_version_of_a_batch_write_is_older() -> None:
    _, result = play(task(WORK, check_replay=False), beside(marker(7, tally=Tally(4))))
    assert (result.open, result.tally) == (None, Tally(4))
    _, result = play(task(Work("q", "run2", 7, 3, 0, "11", repeats=True)), beside(marker(9)))
    assert result.open is None


def test_where_only_some_coordinators_tell_of_transactions_the_attempt_keeps_its_id() -> None:
    answers = broker(open_ids=("q-3.0",))

    def older(step: Any) -> Any:
        return None if isinstance(step, FindOpen) and "q-3.0" not in step.ids else answers(step)

    asked, result = play(task(WORK), older)
    assert asked[2] == Begin("q-3.0") and result.work == WORK


def test_a_report_of_an_older_executor_is_taken() -> None:
    older = Work.__new__(Work)
    older.__setstate__(["q", "run2", 7, 3, 5, "11", False])
    assert older == Work("q", "run2", 7, 3, 5, "11") and older.name == "q-3.1"


def test_brokers_that_tell_of_no_transactions_are_written_to_as_before() -> None:
    answers = broker()
    asked, _ = play(task(WORK), lambda step: None if isinstance(step, FindOpen) else answers(step))
    assert asked[1] == Begin("q-3.0")
