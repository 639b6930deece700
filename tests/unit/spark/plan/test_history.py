"""Ranges that a tier holds: what a task is told, and where tasks are cut."""

from __future__ import annotations

import pickle

import pytest

from tapelog.spark.plan import OptionError, Range, read_options
from tapelog.spark.plan.history import cut_by_objects, stretches, with_history
from tapelog.spark.plan.split import split_evenly
from tapelog.spark.plan.stored import History, Stored

BASE = {"kafka.bootstrap.servers": "a:1", "subscribe": "t"}


def stored(base: int, end: int, size: int = 1000, *, first: int | None = None, aborted_from: int = -1) -> Stored:
    return Stored(f"o{base}", base, base if first is None else first, end, size, 10, 0, aborted_from)


def told(piece: Range) -> str:
    found = stretches(piece, piece.start)
    return " ".join(f"{one.start}-{one.until}{'@' + one.stored.name if one.stored else ''}" for one in found)


SHELF = History((stored(0, 100), stored(100, 200), stored(190, 300, first=200)), 300)


def test_a_range_is_read_from_the_objects_and_then_from_the_broker() -> None:
    assert told(with_history(Range("t", 0, 50, 400), SHELF)) == "50-100@o0 100-200@o100 200-300@o190 300-400"


def test_a_range_that_no_object_holds_is_the_brokers() -> None:
    piece = Range("t", 0, 300, 400)
    assert with_history(piece, SHELF).history is None
    assert with_history(piece, None) is piece


def test_a_gap_in_the_tier_is_the_brokers() -> None:
    shelf = History((stored(0, 100), stored(150, 200)), 200)
    assert told(with_history(Range("t", 0, 0, 180), shelf)) == "0-100@o0 100-150 150-180@o150"


def test_what_an_object_has_below_its_first_offset_does_not_count() -> None:
    shelf = History((stored(190, 300, first=200),), 300)
    assert told(with_history(Range("t", 0, 195, 250), shelf)) == "195-200 200-250@o190"


def test_what_is_undecided_up_there_is_the_brokers() -> None:
    shelf = History(SHELF.objects, 130)
    assert told(with_history(Range("t", 0, 50, 400), shelf)) == "50-100@o0 100-130@o100 130-400"


def test_a_task_is_told_only_of_objects_and_marks_that_concern_it() -> None:
    marks = (stored(0, 100, aborted_from=5), stored(100, 200), stored(200, 300, aborted_from=120))
    piece = with_history(Range("t", 0, 110, 150), History(SHELF.objects, 300, marks))
    assert piece.history is not None
    assert [one.name for one in piece.history.objects] == ["o100"]
    assert [one.base for one in piece.history.marks] == [200]
    assert pickle.loads(pickle.dumps(piece)) == piece
    assert pickle.loads(pickle.dumps(piece)).history == piece.history


def cuts(shelf: History, start: int, until: int, piece_bytes: int) -> list[tuple[int, int, int]]:
    pieces = cut_by_objects([with_history(Range("t", 0, start, until), shelf)], piece_bytes)
    return [(one.start, one.until, len(one.history.objects) if one.history else 0) for one in pieces]


def test_small_objects_are_read_together_and_tasks_end_where_objects_do() -> None:
    shelf = History(tuple(stored(n * 10, n * 10 + 10, 100) for n in range(6)), 60)
    assert cuts(shelf, 0, 60, 200) == [(0, 20, 2), (20, 40, 2), (40, 60, 2)]


def test_a_fat_object_is_read_by_many_tasks() -> None:
    shelf = History((stored(0, 1000, 1000),), 1000)
    assert cuts(shelf, 0, 1000, 250) == [(0, 250, 1), (250, 500, 1), (500, 750, 1), (750, 1000, 1)]


def test_the_tail_is_a_task_of_its_own() -> None:
    assert cuts(SHELF, 50, 400, 10**9) == [(50, 300, 3), (300, 400, 0)]


def test_a_stream_is_cut_by_offsets_alone() -> None:
    fat = Range("t", 0, 7, 7 + 9_600_000)
    pieces = split_evenly([fat, Range("t", 1, 0, 5)])
    assert [(one.partition, one.size) for one in pieces] == [(0, 2_400_000)] * 4 + [(1, 5)]
    assert (pieces[0].start, pieces[3].until) == (7, 9_600_007)


def test_the_tier_is_off_unless_it_is_named() -> None:
    assert read_options(BASE, streaming=True).tier is None


def test_credentials_are_secrets_on_their_way() -> None:
    given = BASE | {"tier.url": "s3://b/p/", "tier.accesskeyid": "me", "tier.secretaccesskey": "hunter2"}
    found = read_options(given, streaming=False)
    assert found.tier is not None and found.tier.url == "s3://b/p"
    assert [(name, value.text()) for name, value in found.tier.keys] == [
        ("access_key_id", "me"),
        ("secret_access_key", "hunter2"),
    ]
    assert "hunter2" not in repr(found)
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tier.url": "bucket"}, "s3://bucket/prefix"),
        ({"tier.url": "http://b/p"}, "s3://bucket/prefix"),
        ({"tier.endpoint": "http://b:1"}, "tier.url"),
        ({"tier.url": "s3://b", "tier.accountKey": "hunter2"}, "az://"),
        ({"tier.ulr": "s3://b"}, "tier.url"),
    ],
)
def test_a_tier_that_cannot_be_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError) as error:
        read_options(BASE | given, streaming=False)
    assert said in str(error.value) and "hunter2" not in str(error.value)
