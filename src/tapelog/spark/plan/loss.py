"""Offsets that are not there any more: what it means, what is said, and whether the query goes on.

failOnDataLoss=true: an error that names partition and offsets and what to do. false: a warning, and the query goes on
with what there is. Driver and executors decide by the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tapelog.spark.plan.errors import DataLossError, PlanError
from tapelog.spark.plan.values import TopicPartition

_RECREATED = "The topic was made anew, or its log was cut back"


@dataclass(frozen=True, slots=True)
class Expired:
    """Retention or deletion was faster: the log begins after the offset that was wanted."""

    of: TopicPartition
    wanted: int
    begins: int

    def __str__(self) -> str:
        gone = self.begins - self.wanted
        return f"{self.of} was to be read from offset {self.wanted}, but begins at {self.begins} now ({gone} are gone)"


@dataclass(frozen=True, slots=True)
class WentBack:
    """The partition ends before the offset that was wanted."""

    of: TopicPartition
    wanted: int
    ends: int

    def __str__(self) -> str:
        return f"{self.of} was to be read from offset {self.wanted}, but ends at {self.ends} now. {_RECREATED}"


@dataclass(frozen=True, slots=True)
class EndsEarly:
    """The partition ends before the offset up to which a batch was to be read."""

    of: TopicPartition
    wanted: int
    ends: int
    is_hidden: bool = False
    """The offset was written, but a transaction before it is open, and the query reads what is committed."""

    def __str__(self) -> str:
        return f"{self.of} was to be read up to offset {self.wanted}, but {_end(self.ends, self.is_hidden)}"


@dataclass(frozen=True, slots=True)
class StartsBeyond:
    """The partition ends before the offset that a batch was to start at."""

    of: TopicPartition
    wanted: int
    ends: int
    is_hidden: bool = False
    """As in EndsEarly."""

    def __str__(self) -> str:
        return f"{self.of} was to be read from offset {self.wanted}, but {_end(self.ends, self.is_hidden)}"


@dataclass(frozen=True, slots=True)
class CutShort:
    """The partition ends before a batch that was planned when it was longer."""

    of: TopicPartition
    wanted: int
    ends: int

    def __str__(self) -> str:
        return f"{self.of} was to be read up to offset {self.wanted}, but ends at {self.ends} now. {_RECREATED}"


@dataclass(frozen=True, slots=True)
class Gone:
    """The partition does not exist any more."""

    of: TopicPartition
    wanted: int

    def __str__(self) -> str:
        return f"{self.of} was to be read from offset {self.wanted}, but does not exist any more"


@dataclass(frozen=True, slots=True)
class MadeAnew:
    """The partition is one of another topic than the one that was read."""

    of: TopicPartition
    wanted: int
    is_proven: bool = True
    """False: the batch goes back to where the log begins, and a log that lost all its records looks the same."""

    def __str__(self) -> str:
        happened = "was deleted and made anew" + ("" if self.is_proven else ", or its log lost all its records")
        return f"topic {self.of.topic} {happened}: {self.of} was to be read from offset {self.wanted}"


@dataclass(frozen=True, slots=True)
class BeganWithoutUs:
    """A partition that is new to the query does not begin at 0."""

    of: TopicPartition
    begins: int

    def __str__(self) -> str:
        return f"{self.of} is new to this query and begins at offset {self.begins} instead of 0"


Loss = Expired | WentBack | CutShort | EndsEarly | StartsBeyond | Gone | MadeAnew | BeganWithoutUs


class TopicGoneError(PlanError):
    """A task does not find the topic that its ranges were planned for. The driver decides what that means."""


def judge(losses: Sequence[Loss], *, fail: bool, batch: bool = False) -> tuple[str, ...]:
    """A warning for each loss, or DataLossError about the first of them if the query is to fail.

    `batch`: the query has no checkpoint, and its options alone say where it starts and ends.
    """
    if not losses:
        return ()
    if not fail:
        return tuple(f"{loss}. {_goes_on(loss)} (failOnDataLoss is false)." for loss in losses)
    more = f" ({len(losses) - 1} more partitions are like it.)" if len(losses) > 1 else ""
    anew = (
        "or change the options that say where it starts and ends." if batch else "to begin anew, use a new checkpoint."
    )
    raise DataLossError(
        f"{'Data cannot be read yet' if _is_hidden(losses[0]) else 'Data was lost'}: {losses[0]}.{more}",
        _cause(losses[0]),
        f"To go on {_where(losses[0])}, set failOnDataLoss=false; {anew}",
    )


def gone_in_task(of: TopicPartition, wanted: int, told: str) -> TopicGoneError:
    """What a task says that finds no such topic, or another one. It cannot know whether rows would be skipped: brokers
    whose metadata is old say the same. So nothing of the batch may be committed, whatever failOnDataLoss is."""
    return TopicGoneError(
        f"{of} was to be read from offset {wanted}, but the cluster says: {told}.",
        "It was there when the batch was planned. Nothing of the batch was committed.",
        "Run it again: it is planned anew, and failOnDataLoss decides about rows that are lost.",
    )


def next_available(
    of: TopicPartition, wanted: int, begins: int, ends: int, *, fail: bool, batch: bool = False
) -> tuple[int, str]:
    """Where a task goes on whose next offset the broker does not have, and the warning; or DataLossError."""
    loss: Loss = Expired(of, wanted, begins) if wanted < begins else WentBack(of, wanted, ends)
    warnings = judge([loss], fail=fail, batch=batch)
    return (begins if wanted < begins else ends), warnings[0]


def _end(ends: int, is_hidden: bool) -> str:
    return f"a transaction is open at offset {ends}" if is_hidden else f"ends at {ends}"


def _is_hidden(loss: Loss) -> bool:
    return isinstance(loss, EndsEarly | StartsBeyond) and loss.is_hidden


def _cause(loss: Loss) -> str:
    match loss:
        case EndsEarly(is_hidden=True) | StartsBeyond(is_hidden=True):
            return (
                "With kafka.isolation.level=read_committed the partition is read up to that transaction only. "
                "Wait until it is committed or aborted."
            )
        case Expired():
            return (
                "Retention was faster than the query: keep data longer (retention.ms, retention.bytes), or read sooner."
            )
        case Gone():
            return "The topic was deleted, or the query is not told to read it any more."
        case BeganWithoutUs():
            return "Its first records were removed before the query found it."
        case WentBack() | CutShort() | MadeAnew():
            return "What is in it now are not the records that this query counted."
        case EndsEarly():
            return "endingOffsets lies beyond what was written, or the topic was made anew."
        case StartsBeyond():
            return "startingOffsets lies beyond what was written, or the topic was made anew."


def _where(loss: Loss) -> str:
    match loss:
        case Expired() | BeganWithoutUs():
            return f"at offset {loss.begins}"
        case WentBack():
            return f"at offset {loss.ends}"
        case EndsEarly() | CutShort():
            return f"up to offset {loss.ends}"
        case StartsBeyond():
            return "without its rows"
        case Gone():
            return "without it"
        case MadeAnew():
            return "at the start of the new topic" if loss.is_proven else "where the log begins"


def _goes_on(loss: Loss) -> str:
    if isinstance(loss, MadeAnew):
        what = "reads the new topic from its start" if loss.is_proven else "goes on where the log begins"
        return f"Rows may be missing; the query {what}"
    return "Rows may be missing; the query goes on"
