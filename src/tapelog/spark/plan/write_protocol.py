"""Exactly once, as a machine without I/O: what a task and the driver ask of the brokers, in which order, and why.

A task writes its rows and a marker (batch, run, tally) inside one transaction and leaves it open; the driver ends it.
Each function here is a generator: it yields what it asks, is sent the answer, and returns its result. sink/asking
performs them on a cluster, tests/properties on a model that kills anybody between two steps.

Each Spark partition has a few transactional ids, one per running attempt (`SLOTS`), so that a speculative attempt does
not end the work of the one it races. Taking an id (InitProducerId) aborts what its owner left open and fences him, and
waits for a commit that is under way; it never undoes one. A marker lies in the group named like its id. Three facts
carry the proof:

- only the driver commits, and only what a task of its own run reported;
- what is committed carries its marker, so whoever reads the markers of all ids knows whether the batch is there;
- before a run commits a partition for the first time it takes all its other ids: from then on nobody of an earlier run
  (a driver's worker that outlived it, say) can commit, and what he had committed shows in the markers read after that.

All this goes by the number of a Spark partition. A batch that comes again in fewer of them would write anew what the
missing ones have committed; so the first commit of a run looks at the numbers behind its own, too.

Attempts are numbered from 0 on in each attempt of their stage, so two that run beside each other may have one number.
An attempt that finds the transaction of another one under its id takes another id (`_unused`): the transaction may be
one that the driver is about to commit.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from tapelog.client.producer_settings import OpenTransaction
from tapelog.spark.plan.errors import DOCS, PlanError, listed
from tapelog.spark.plan.write_values import Marker, Tally, Work, Written, ids_of
from tapelog.wire.sink_markers import SLOTS, id_of

BEYOND: Final = 16
"""So many Spark partitions in a row without a marker, and there are none behind them."""


@dataclass(frozen=True, slots=True)
class Take:
    """Init these ids: what they left open is aborted and its owners are fenced. Answer: nothing."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """Init this id and write with it from now on. Answer: nothing."""

    id: str


@dataclass(frozen=True, slots=True)
class ReadMarkers:
    """Markers by id, those that exist; `settled`: wait for transactions under way. Answer: dict[str, Marker]."""

    ids: tuple[str, ...]
    settled: bool


@dataclass(frozen=True, slots=True)
class WriteRows:
    """Write all rows inside the transaction, until each is acknowledged. Answer: Tally."""


@dataclass(frozen=True, slots=True)
class CountRows:
    """Go through the rows without writing. Answer: Tally."""


@dataclass(frozen=True, slots=True)
class WriteMarker:
    """Write the marker inside the transaction. Answer: OpenTransaction."""

    marker: Marker


@dataclass(frozen=True, slots=True)
class End:
    """End these transactions. Answer: dict[OpenTransaction, str], the refused ones and why."""

    transactions: tuple[OpenTransaction, ...]
    commit: bool


@dataclass(frozen=True, slots=True)
class FindOpen:
    """Which of these ids have an open transaction? Answer: list[str], or None if brokers do not tell."""

    ids: tuple[str, ...]


Step: TypeAlias = Take | Begin | ReadMarkers | WriteRows | CountRows | WriteMarker | End | FindOpen


class WriteError(PlanError):
    """A write cannot go on. At most three lines, and the batch is named."""


class ReplayError(WriteError):
    """A batch that is written again has other rows than the first time, or is older than what is there."""


def task(work: Work, *, check_replay: bool = True) -> Generator[Step, Any, Written]:
    """What one attempt does; the transaction in its result is open."""
    work = yield from _unused(work)
    yield Begin(work.name)
    own: dict[str, Marker] = yield ReadMarkers((work.name,), settled=True)
    # others' may be settled late: the driver looks again, once nobody can change them
    others: dict[str, Marker] = yield ReadMarkers(ids_of(work.prefix, work.partition, but=work.slot), settled=False)
    last = newest({**others, **own})
    if last is not None and _is_done(work, last):
        if check_replay and last.batch == work.batch and last.tally.rows >= 0:
            tally: Tally = yield CountRows()
            _check_same(work, last, tally)
        return Written(work, last.tally, None, last)
    tally = yield WriteRows()
    if tally.rows == 0:
        return Written(work, tally, None, last)
    opened: OpenTransaction = yield WriteMarker(Marker(work.batch, work.run, work.attempt, tally))
    if work.moved is not None:  # the other one may have been committed meanwhile: nobody would end this one soon
        others = yield ReadMarkers(ids_of(work.prefix, work.partition, but=work.slot), settled=False)
        there = newest(others)
        if there is not None and there.batch >= work.batch:
            yield End((opened,), commit=False)
            _is_written(work, there, tally, check_replay)  # or else it raises
            return Written(work, there.tally, None, there)
    return Written(work, tally, opened, last)


def _unused(work: Work) -> Generator[Step, Any, Work]:
    """The same work, in a slot without an open transaction if there is one. Brokers before 3.0 do not tell.

    What is left open by the dead is not taken for long: the driver ends it with the batch.
    """
    if not (yield FindOpen((work.name,))):
        return work
    others = [slot % SLOTS for slot in range(work.slot + 1, work.slot + SLOTS)]
    names = {id_of(work.prefix, work.partition, slot): slot for slot in others}
    busy: list[str] | None = yield FindOpen(tuple(names))
    if busy is None:  # the coordinator of another slot is an older broker
        return work
    free = [slot for name, slot in names.items() if name not in busy]
    return replace(work, moved=free[0]) if free else work


def commit(written: Sequence[Written], *, check_replay: bool = True) -> Generator[Step, Any, None]:
    """End the transactions of a batch; WriteError where one could not be committed. Repeating it does no harm."""
    chosen = [one for one in written if one.open is not None]
    strangers = [one for one in chosen if one.before is None or one.before.run != one.work.run]
    there = yield from _keep_others_out(strangers, check_replay)
    if strangers and check_replay:
        yield from _check_beyond(strangers[0].work, 1 + max(one.work.partition for one in written))
    doubles = tuple(one.open for one in there if one.open is not None)
    if doubles:
        yield End(doubles, commit=False)
    due = {one.open: one for one in chosen if one not in there and one.open is not None}
    refused: dict[OpenTransaction, str] = yield End(tuple(due), commit=True)
    lost = {}
    for transaction, reason in refused.items():
        one = due[transaction]
        found: dict[str, Marker] = yield ReadMarkers((one.work.name,), settled=False)
        last = found.get(one.work.name)
        if last is None or (last.batch, last.run, last.attempt) != (one.work.batch, one.work.run, one.work.attempt):
            lost[one.work.partition] = reason
    yield from _leave_nothing_open(written)
    if lost:
        first = next(iter(lost))
        raise WriteError(
            f"Batch {written[0].work.batch} could not be committed in Spark partition {listed(lost)}: {lost[first]}.",
            f"Its transaction timed out (kafka.transaction.timeout.ms is {due_timeout(written)}), or another run of "
            "the query or a late attempt of the task took over. Nothing is lost or twice:",
            "start the query again, and it writes what is missing of the batch. Where batches take long, raise the "
            "option (and transaction.max.timeout.ms of the brokers).",
        )


def abort(written: Sequence[Written | None], prefix: str | None) -> Generator[Step, Any, None]:
    """After a failure: end what tasks left open, whether they reported or not. Never undoes a commit."""
    known = next((one.work.prefix for one in written if one is not None), prefix)
    if known is None:
        return  # nobody told the query's name: its next start, or the time limit, ends them
    ids = tuple(name for partition in range(len(written)) for name in ids_of(known, partition))
    still: list[str] | None = yield FindOpen(ids)
    if still is None:
        still = [one.open.transactional_id for one in written if one is not None and one.open is not None]
        still += [id_of(known, partition, 0) for partition, one in enumerate(written) if one is None]
    if still:
        yield Take(tuple(still))


def newest(markers: Mapping[str, Marker]) -> Marker | None:
    """The one of the latest batch."""
    return max(markers.values(), key=lambda marker: marker.batch, default=None)


def due_timeout(written: Sequence[Written]) -> str:
    """The time limit of a batch's transactions, for a message."""
    return "off" if any(one.two_phase for one in written) else f"{written[0].timeout_ms} ms"


def _keep_others_out(strangers: Sequence[Written], check_replay: bool) -> Generator[Step, Any, list[Written]]:
    """Take all other ids of partitions that this run commits for the first time; whose batch is there already."""
    others = {one.work.name: ids_of(one.work.prefix, one.work.partition, but=one.work.slot) for one in strangers}
    everything = tuple(name for ids in others.values() for name in ids)
    if not everything:
        return []
    yield Take(everything)
    found: dict[str, Marker] = yield ReadMarkers(everything, settled=True)
    there = []
    for one in strangers:
        last = newest({name: found[name] for name in others[one.work.name] if name in found})
        # its task looked before the commit was settled, and did not compare
        if last is not None and _is_written(one.work, last, one.tally, check_replay):
            there.append(one)
    return there


def _check_beyond(work: Work, partition: int) -> Generator[Step, Any, None]:
    """ReplayError if Spark partitions from this one on, of which there were more, have committed the batch."""
    while True:
        ids = tuple(name for number in range(partition, partition + BEYOND) for name in ids_of(work.prefix, number))
        still: list[str] | None = yield FindOpen(ids)
        if still:
            yield Take(tuple(still))  # nobody commits them any more
        found: dict[str, Marker] = yield ReadMarkers(ids, settled=still is not None)
        last = newest(found)
        if last is None and not still:
            return
        if last is not None and (last.batch == work.batch or (last.batch > work.batch and not work.repeats)):
            raise ReplayError(
                f"Batch {work.batch} came again in {partition} Spark partitions, but some behind them have committed "
                f"batch {last.batch}.",
                _needs(work, "no other number of partitions, no changed source options or code"),
                f"If the difference is meant, start once with option replayCheck=false. See {DOCS}.",
            )
        partition += BEYOND


def _leave_nothing_open(written: Sequence[Written]) -> Generator[Step, Any, None]:
    """Attempts that lost a race may have left a transaction, which would keep readers waiting."""
    others = tuple(
        name
        for one in written
        for name in ids_of(one.work.prefix, one.work.partition, but=None if one.open is None else one.work.slot)
    )
    still: list[str] | None = yield FindOpen(others)
    if still is not None:
        moved = [one.work for one in written if one.work.moved is not None]
        beside = [name for work in moved for name in ids_of(work.prefix, work.partition, but=work.slot)]
        still = list(dict.fromkeys([*still, *beside]))  # whose owner may be about to write
    else:
        still = [id_of(one.work.prefix, one.work.partition, slot) for one in written for slot in range(one.work.slot)]
    if still:
        yield Take(tuple(still))


def _is_written(work: Work, last: Marker, tally: Tally, check_replay: bool) -> bool:
    """Whether the batch is there already; ReplayError if it is there with other rows than these."""
    if not _is_done(work, last):
        return False
    if check_replay and last.batch == work.batch and last.tally.rows >= 0:
        _check_same(work, last, tally)
    return True


def _is_done(work: Work, last: Marker) -> bool:
    if last.batch == work.batch:
        return True
    if last.batch < work.batch:
        return False
    if work.repeats:
        return True
    raise ReplayError(
        f"Batch {work.batch} comes after batch {last.batch}, which is already in the topic (Spark partition "
        f"{work.partition}).",
        f"The query runs on an older copy of its checkpoint (its transactions are called {work.prefix}-…).",
        "Use the newest copy, or begin with a new checkpointLocation; nothing was written now.",
    )


def _needs(work: Work, among: str) -> str:
    """What a batch that comes again must be, and, for a write of its own, how a read of topics is so."""
    reads = " A batch read of topics needs option repeatable=true for it." if work.repeats else ""
    return f"Exactly once needs the same rows in the same partition ({among}).{reads}"


def _check_same(work: Work, last: Marker, tally: Tally) -> None:
    if tally == last.tally:
        return
    raise ReplayError(
        f"Batch {work.batch} came again with other rows: Spark partition {work.partition} has {tally}, but "
        f"{last.tally} were committed.",
        _needs(work, "no rand(), no changed source options or code"),
        f"If the difference is meant, start once with option replayCheck=false. See {DOCS}.",
    )
