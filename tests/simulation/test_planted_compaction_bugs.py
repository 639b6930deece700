"""Random lives of a compacted log notice what is wrong with its cleaning. Interpreted only: compiled code cannot be
replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.log.compaction import cleaning, retention
from tapelog.log.compaction.keymap import KeyMap
from tapelog.log.compaction.retention import Judge
from tapelog.log.compaction.transactions import Transactions
from tapelog.log.validation import parse_marker
from tests.properties.test_compaction import run_seed

Plant = Callable[[pytest.MonkeyPatch], None]
LIVES = 20


def _spent_too_soon(patch: pytest.MonkeyPatch, aborts: bool) -> None:
    is_spent = Transactions.is_spent

    def planted(self: Transactions, buf: bytes, start: int, end: int) -> bool:
        marker, spent = parse_marker(buf, start, end), is_spent(self, buf, start, end)
        return spent or (marker is not None and bool(marker[0]) is aborts)

    patch.setattr(Transactions, "is_spent", planted)


def commit_markers_count_as_spent(patch: pytest.MonkeyPatch) -> None:
    """They go when their time has come, though records of their transactions are there."""
    _spent_too_soon(patch, aborts=False)


def abort_markers_count_as_spent(patch: pytest.MonkeyPatch) -> None:
    """The same of the others."""
    _spent_too_soon(patch, aborts=True)


def no_marker_is_ever_spent(patch: pytest.MonkeyPatch) -> None:
    """They stay for ever."""
    is_spent = Transactions.is_spent
    patch.setattr(Transactions, "is_spent", lambda *arguments: is_spent(*arguments) and False)


def aborted_records_stay(patch: pytest.MonkeyPatch) -> None:
    """And hide what was committed before."""
    is_aborted = Transactions.is_aborted
    patch.setattr(Transactions, "is_aborted", lambda *arguments: is_aborted(*arguments) and False)


def aborted_records_are_noted(patch: pytest.MonkeyPatch) -> None:
    """The first pass notes the keys of aborted transactions, too."""

    class Blind(Transactions):
        def is_aborted(self, buf: bytes, start: int) -> bool:
            return False

    made: list[int] = []

    def first_blind(aborted: Any) -> Transactions:
        made.append(0)
        return Blind(aborted) if len(made) % 2 else Transactions(aborted)

    patch.setattr(cleaning, "Transactions", first_blind)


def tombstones_go_at_once(patch: pytest.MonkeyPatch) -> None:
    """A consumer that is behind never learns of them."""
    stays: Any = retention.what_stays
    patch.setattr(retention, "what_stays", lambda *arguments: stays(*arguments[:-1], True))


def tombstones_never_go(patch: pytest.MonkeyPatch) -> None:
    """Whatever delete.retention.ms says."""
    stays: Any = retention.what_stays
    patch.setattr(retention, "what_stays", lambda *arguments: stays(*arguments[:-1], False))


def two_keys_count_as_one(patch: pytest.MonkeyPatch) -> None:
    """The map goes by too little of them."""
    put, get = KeyMap.put, KeyMap.get
    patch.setattr(KeyMap, "put", lambda self, key, offset: put(self, key[:-1], offset))
    patch.setattr(KeyMap, "get", lambda self, key: get(self, key[:-1]))


def a_full_map_takes_no_more_and_says_nothing(patch: pytest.MonkeyPatch) -> None:
    """What found no room counts as covered."""
    put = KeyMap.put
    patch.setattr(KeyMap, "put", lambda self, key, offset: put(self, key, offset) or True)


def active_producers_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Their last batch goes, and with it their sequence number."""
    patch.setattr(Judge, "_is_last_of_producer", lambda *_: False)


PLANTS: tuple[Plant, ...] = (
    commit_markers_count_as_spent,
    abort_markers_count_as_spent,
    no_marker_is_ever_spent,
    aborted_records_stay,
    aborted_records_are_noted,
    tombstones_go_at_once,
    tombstones_never_go,
    two_keys_count_as_one,
    a_full_map_takes_no_more_and_says_nothing,
    active_producers_are_forgotten,
)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_mistake_is_noticed(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        for seed in range(LIVES):
            run_seed(seed, 250)
