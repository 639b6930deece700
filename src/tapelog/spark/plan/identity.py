"""Topics that are deleted and made anew under a stream: how the driver knows, and where such a topic is read from.

Offsets are all that a checkpoint holds, so within a run the reader on the driver remembers the ids of the topics that
they count in (`Identities`). Where the id has stayed, an end before an offset that was read means that the log was cut
back. A run that has just begun remembers nothing. Then one thing counts as proof that a topic is another one: it ends
before an offset that was read, and its leader epoch is still the first one. A change of the leader may cut a log back,
but it raises the epoch. Recovery of a damaged log may cut it back without that: such a topic is taken for another one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from tapelog.spark.plan.values import Offsets, Range
from tapelog.spark.plan.view import View

Ids: TypeAlias = Mapping[str, bytes]
"""Topic ids by name; topics of clusters without ids are left out."""

_NONE: Final = b""


class Identities:
    """The ids of the topics that a running query reads."""

    def __init__(self) -> None:
        self._now: dict[str, bytes] = {}
        self._compared: set[str] = set()
        self.begun_anew: frozenset[str] = frozenset()
        """Topics that begin anew with the batch that was asked for last."""
        self._past: set[bytes] = set()
        """Ids that were replaced: a broker whose metadata is a moment old may still tell them."""

    def unknown(self, topics: Iterable[str]) -> frozenset[str]:
        """Those that this run has not met yet."""
        return frozenset(topics) - self._now.keys()

    def changed(self, told: Ids) -> frozenset[str]:
        """Topics whose id is another one than that of the topic that was read."""
        return frozenset(
            name for name, one in told.items() if name in self._now and self._now[name] != one and one not in self._past
        )

    def settle(self, told: Ids) -> None:
        """The offsets that the query has now count in the topics with these ids: they were compared with the ends."""
        self._compared |= {name for name, one in told.items() if self._now.get(name) == one}

    def unchanged(self, told: Ids) -> frozenset[str]:
        """Topics that are those in which this run's offsets count: an end that went back is no proof against it."""
        return frozenset(name for name, one in told.items() if name in self._compared and self._now.get(name) == one)

    def learn(self, told: Ids) -> None:
        """Remember topics that are new to the run."""
        self._now = {**told, **self._now}

    def replace(self, told: Ids, names: Collection[str]) -> None:
        """From now on the query reads the topics that have these names now."""
        self.begun_anew = frozenset(names)
        for name in names:
            if name in told:
                self._past.add(self._now.get(name, _NONE))
                self._now[name] = told[name]

    def distrust(self, names: Collection[str]) -> None:
        """The query's offsets do not count in the topics of these names: next time they are `changed`."""
        self._past |= {self._now[name] for name in names if name in self._now}
        self._now.update(dict.fromkeys(names, _NONE))

    def stamp(self, pieces: Iterable[Range]) -> list[Range]:
        """The same ranges, of the topics with these ids only."""
        return stamped(pieces, self._now)


def stamped(pieces: Iterable[Range], ids: Ids) -> list[Range]:
    """The same ranges, of the topics with these ids only."""
    return [replace(piece, topic_id=ids.get(piece.topic, _NONE)) for piece in pieces]


def proven_anew(view: View, wanted: Offsets, ends: Offsets) -> frozenset[str]:
    """Topics that cannot be those in which `wanted` was read. Nothing is asked unless an end lies before it."""
    behind = [of for of, offset in wanted.items() if ends.get(of, offset) < offset]
    if not behind:
        return frozenset()
    uncut = view.uncut_ends(behind)
    return frozenset(of.topic for of in behind if uncut.get(of, wanted[of]) < wanted[of])
