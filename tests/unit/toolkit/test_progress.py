"""Progress: what may be committed never skips what is not finished."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tapelog.toolkit.progress import Progress
from tests.unit.toolkit.fakes import offsets, record

HERE = ("in", 0)


def at(progress: Progress) -> int | None:
    position = progress.positions().get(HERE)
    return None if position is None else position.offset


def test_the_position_stands_behind_the_last_record_that_is_finished_without_a_gap() -> None:
    progress = Progress()
    for offset in (3, 4, 7):
        progress.take(record(offset))
    assert at(progress) is None
    progress.finish(record(4))
    assert at(progress) is None
    progress.finish(record(3))
    assert at(progress) == 5
    progress.finish(record(7))
    assert at(progress) == 8


def test_committed_work_is_over_and_the_rest_stays() -> None:
    progress = Progress()
    for offset in (1, 2):
        progress.take(record(offset))
    progress.finish(record(1))
    progress.committed(progress.positions())
    assert (len(progress), at(progress)) == (1, None)
    assert offsets(progress.undo()) == [2]


def test_what_was_given_back_blocks_commits_until_it_is_finished() -> None:
    progress = Progress()
    for offset in (1, 2, 3):
        progress.take(record(offset))
    progress.give_back([record(1)])
    progress.finish(record(2))
    progress.finish(record(3))
    assert (len(progress), at(progress)) == (2, None)
    progress.take(record(1))
    progress.finish(record(1))
    assert at(progress) == 4


def test_undone_work_includes_what_was_finished_and_not_what_was_given_back_before() -> None:
    progress = Progress()
    for offset in (1, 2, 3):
        progress.take(record(offset))
    progress.finish(record(1))
    progress.give_back([record(3)])
    assert offsets(progress.undo()) == [1, 2]
    assert (len(progress), at(progress)) == (0, None)
    progress.take(record(1))
    progress.finish(record(1))
    assert at(progress) == 2, "2 and 3 are still to be done"


def test_forgotten_partitions_have_no_position() -> None:
    progress = Progress()
    progress.take(record(1))
    progress.finish(record(1))
    progress.forget([HERE])
    assert not progress.positions() and not len(progress)


@given(st.lists(st.sampled_from(["take", "finish", "return", "retake", "commit", "undo"]), max_size=60), st.randoms())
def test_no_position_ever_passes_an_unfinished_record(steps: list[str], chance: st.DataObject) -> None:
    progress, following = Progress(), 0
    open_: set[int] = set()
    back: set[int] = set()
    done: set[int] = set()
    pick = chance.choice  # type: ignore[attr-defined]
    for step in steps:
        if step == "take":
            progress.take(record(following))
            open_.add(following)
            following += 1
        elif step == "finish" and open_:
            offset = pick(sorted(open_))
            progress.finish(record(offset))
            open_.discard(offset)
            done.add(offset)
        elif step == "return" and open_:
            offset = pick(sorted(open_))
            progress.give_back([record(offset)])
            open_.discard(offset)
            back.add(offset)
        elif step == "retake" and back:
            offset = min(back)
            progress.take(record(offset))
            back.discard(offset)
            open_.add(offset)
        elif step == "commit":
            positions = progress.positions()
            progress.committed(positions)
            if HERE in positions:
                done -= set(range(positions[HERE].offset))
        elif step == "undo":
            again = set(offsets(progress.undo()))
            assert again == open_ | done
            back |= again
            open_, done = set(), set()
        position = at(progress)
        assert position is None or not [offset for offset in open_ | back if offset < position]
