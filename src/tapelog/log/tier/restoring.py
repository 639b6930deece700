"""The topic setting `tapelog.tier.restore`: a new topic takes over what is in the tier of one that was lost.

`tape tier restore` creates topics with it. The controller gives such a topic its old id and later leader epochs than it
ever had; every replica begins its log where the tier ends. One text, no spaces:

    <topic id>:<first leader epoch>:<partition 0>;<partition 1>;…     a partition: <start>-<end>@<epoch>.<offset>,…
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tapelog.base import ids
from tapelog.log.producer_state import ProducerState
from tapelog.log.snapshots import render_snapshot
from tapelog.log.trim import Seed

SETTING: Final = "tapelog.tier.restore"
EPOCHS_MAX: Final = 50
"""Of a partition; older ones are not needed by consumers that were there lately."""


@dataclass(frozen=True, slots=True)
class Span:
    """What the tier has of a partition."""

    start_offset: int
    end_offset: int
    epochs: tuple[tuple[int, int], ...] = ()
    """(leader epoch, first offset), oldest first."""

    def seed(self) -> Seed:
        """What a log must know that begins where the tier ends. Producers begin anew."""
        return Seed(self.start_offset, list(self.epochs), render_snapshot(ProducerState()))


@dataclass(frozen=True, slots=True)
class Restore:
    """What the setting says."""

    topic_id: bytes
    leader_epoch: int
    partitions: tuple[Span, ...]

    def render(self) -> str:
        """The setting's text."""
        parts = []
        for span in self.partitions:
            epochs = ",".join(f"{epoch}.{start}" for epoch, start in span.epochs[-EPOCHS_MAX:])
            parts.append(f"{span.start_offset}-{span.end_offset}@{epochs}")
        return f"{ids.to_text(self.topic_id)}:{self.leader_epoch}:{';'.join(parts)}"

    def span_of(self, partition: int) -> Span | None:
        """Of one partition; None where there was none, or nothing."""
        if partition >= len(self.partitions) or self.partitions[partition].end_offset == 0:
            return None
        return self.partitions[partition]


def parse(text: str) -> Restore:
    """The inverse of render; ValueError for anything else."""
    try:
        id_text, epoch, parts = text.split(":")
        spans = []
        for part in parts.split(";"):
            offsets, _, epochs = part.partition("@")
            start, end = offsets.split("-")
            pairs = [pair.split(".") for pair in epochs.split(",")] if epochs else []
            spans.append(Span(int(start), int(end), tuple((int(one), int(at)) for one, at in pairs)))
            if not 0 <= spans[-1].start_offset <= spans[-1].end_offset:
                raise ValueError(offsets)
        return Restore(ids.from_text(id_text), int(epoch), tuple(spans))
    except ValueError as error:
        raise ValueError(f"{SETTING} is written by `tape tier restore`, not by hand ({error})") from None
