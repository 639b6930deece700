"""Groups that hold the markers of Spark's exactly-once sink, told from groups that read.

The sink commits with each task's rows a marker, as the offset of a group named like the transactional id; nobody ever
reads through such a group. `spark/plan/write_values` makes names and notes, `toolkit/lag` and the command line must not
judge them as consumers. A group is one of them only by its name *and* the notes of all that it has committed; the name
alone decides where nothing is committed (yet, or any more), and then only the one that nobody chooses by accident.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

FORMAT: Final = "1"
"""With which a marker's note begins; `run attempt rows key_bytes key_sum` follow."""
SLOTS: Final = 4
"""Transactional ids of one Spark partition: attempts that run beside each other must not end each other's work."""
DEFAULT_PREFIX: Final = "tapelog"

_UUID: Final = "(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})"
_TAIL: Final = rf"-[0-9]+\.[0-{SLOTS - 1}]"
_NAME: Final = re.compile(rf"[A-Za-z0-9._-]+{_TAIL}")
_UNMISTAKABLE: Final = re.compile(rf"{DEFAULT_PREFIX}-{_UUID}{_TAIL}")
_NOTE: Final = re.compile(rf"{FORMAT} {_UUID} [0-9]+ [0-9]+ [0-9]+ [0-9]+")


def id_of(prefix: str, partition: int, slot: int) -> str:
    """A transactional id, and the group of its marker.

    >>> id_of("tapelog-app-enrich", 7, 0)
    'tapelog-app-enrich-7.0'
    """
    return f"{prefix}-{partition}.{slot}"


def may_hold_markers(group: str) -> bool:
    """Whether it is named like one: worth asking for its notes.

    >>> [may_hold_markers(name) for name in ("billing", "tapelog-app-enrich-0.0", "etl-v1.7", "etl-1.2")]
    [False, True, False, True]
    """
    return _NAME.fullmatch(group) is not None


def holds_markers(group: str, notes: Iterable[str]) -> bool:
    """Whether it holds markers and nothing else. `notes` stand beside all its offsets; bytes may follow them, as
    librdkafka does not tell where a note ends.

    >>> note = "1 4e2607c3-9795-4468-94ee-d6d7524a3557 12 100 800 77"
    >>> holds_markers("etl-1.2", [note]), holds_markers("etl-1.2", [""]), holds_markers("etl-1.2", [])
    (True, False, False)
    """
    told = list(notes)
    if not told:
        return _UNMISTAKABLE.fullmatch(group) is not None
    return may_hold_markers(group) and all(_NOTE.match(note) for note in told)
