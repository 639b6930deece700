"""Carries out a plan: reassigns partitions a few at a time, throttled if wished, and tells how far it is.

Kafka's own APIs only: AlterPartitionReassignments, ListPartitionReassignments, ElectLeaders. The cluster copies and
switches by itself; this side asks, waits and reports, so a command that is interrupted breaks nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from tapelog.cli import cluster_asks
from tapelog.cli.cluster_state import ClusterState
from tapelog.cli.output import EXIT_FAILED, EXIT_UNREACHABLE, CliError
from tapelog.cli.raw import RawError, Wire, check
from tapelog.cli.rebalance_plan import Move, Place
from tapelog.wire.errors import ErrorCode, error_code
from tapelog.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tapelog.wire.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tapelog.wire.messages.elect_leaders_response import ElectLeadersResponse

T = TypeVar("T")
POLL_S = 0.3
LOST_S_MAX = 60.0
"""How long the cluster may be silent before waiting is given up."""
PREFERRED = 0
ELECTION_TIMEOUT_MS = 30_000
MOVING = (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.BROKER_NOT_AVAILABLE)
HARMLESS = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far: partitions and bytes; bytes of copies under way are counted as far as brokers tell."""

    done: int
    total: int
    bytes_done: int
    bytes_total: int
    under_way: tuple[Place, ...]


def carry_out(
    wire: Wire, moves: Sequence[Move], *, parallel: int, tell: Callable[[Progress], None], pause_s: float = POLL_S
) -> None:
    """Reassign, at most `parallel` partitions at a time, then let preferred leaders lead. CliError for a refusal."""
    waiting, done = list(moves), 0
    running: dict[Place, Move] = {}
    bytes_done, total = 0, sum(move.bytes for move in moves)
    while waiting or running:
        batch = waiting[: max(0, parallel - len(running))]
        if batch:
            patiently(partial(_reassign, wire, [(move.topic, move.index, list(move.after)) for move in batch]))
            running |= {(move.topic, move.index): move for move in batch}
            waiting = waiting[len(batch) :]
        ongoing = patiently(partial(cluster_asks.moving, wire))
        finished = [place for place in running if place not in ongoing]
        if finished:
            patiently(partial(prefer_leaders, wire, finished))
        for place in finished:
            bytes_done += running.pop(place).bytes
            done += 1
        copied = bytes_done + _copied(wire, list(running.values()))
        tell(Progress(done, len(moves), min(copied, total), total, tuple(running)))
        if running:
            time.sleep(pause_s)
    _verify(wire, moves)


def patiently(ask: Callable[[], T]) -> T:
    """Ask again while no broker or no controller answers: brokers restart, controllers move."""
    deadline = time.monotonic() + LOST_S_MAX
    while True:
        try:
            return ask()
        except CliError as error:
            transient = error.exit_code == EXIT_UNREACHABLE or (isinstance(error, RawError) and error.code in MOVING)
            if not transient or time.monotonic() > deadline:
                raise
        time.sleep(POLL_S)


def cancel(wire: Wire) -> list[Place]:
    """Take back every reassignment under way; returns them."""
    ongoing = sorted(cluster_asks.moving(wire))
    if ongoing:
        _reassign(wire, [(topic, index, None) for topic, index in ongoing])
    return ongoing


def _reassign(wire: Wire, wanted: Sequence[tuple[str, int, list[int] | None]]) -> None:
    topics: dict[str, list[ReassignablePartition]] = {}
    for topic, index, replicas in wanted:
        topics.setdefault(topic, []).append(ReassignablePartition(index, replicas))
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name, parts) for name, parts in topics.items()]
    )
    told = wire.ask(request, AlterPartitionReassignmentsResponse)
    check(told.error_code, told.error_message or "the cluster refuses to move partitions")
    for topic_told in told.responses:
        for part in topic_told.partitions:
            if part.error_code not in (ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS):
                about = f"{topic_told.name}:{part.partition_index} cannot be moved"
                check(part.error_code, f"{about}: {part.error_message}" if part.error_message else about)


def prefer_leaders(wire: Wire, places: Iterable[Place]) -> None:
    """Let the first replica of each partition lead, where it can."""
    topics: dict[str, list[int]] = {}
    for topic, index in places:
        topics.setdefault(topic, []).append(index)
    request = ElectLeadersRequest(
        PREFERRED, [TopicPartitions(name, numbers) for name, numbers in topics.items()], ELECTION_TIMEOUT_MS
    )
    told = wire.ask(request, ElectLeadersResponse)
    check(told.error_code, "leaders cannot be elected")
    for result in told.replica_election_results:
        for part in result.partition_result:
            if error_code(part.error_code) not in HARMLESS:
                check(part.error_code, f"the leader of {result.topic}:{part.partition_id}")


def _copied(wire: Wire, running: Sequence[Move]) -> int:
    """Bytes that the new replicas of moves under way have already."""
    targets = list(dict.fromkeys(broker for move in running for broker in move.added))
    if not targets:
        return 0
    try:
        known = [broker for broker in cluster_asks.brokers(wire)[2] if broker.id in targets]
        sizes = cluster_asks.log_sizes(wire, known, [])
    except CliError:
        return 0
    return sum(
        min(sizes.get((broker, move.topic, move.index), 0), move.bytes // len(move.added))
        for move in running
        for broker in move.added
    )


def _verify(wire: Wire, moves: Sequence[Move]) -> None:
    """What is not where it should be was taken back by somebody else."""
    now = {(one.topic, one.index): one.replicas for one in cluster_asks.partitions(wire, {})}
    astray = [
        f"{move.topic}:{move.index}"
        for move in moves
        if (move.topic, move.index) in now and sorted(now[move.topic, move.index]) != sorted(move.after)
    ]
    if astray:
        raise CliError(
            f"{len(astray)} of {len(moves)} partitions did not get where they should: {', '.join(astray[:5])}",
            "somebody may have cancelled them; `tape cluster describe` shows the state, then try again",
            EXIT_FAILED,
        )


def summary(state: ClusterState, moves: Sequence[Move]) -> list[dict[str, int]]:
    """Replicas and preferred leaders per broker, before and after, and how many it leads now."""
    after = {(move.topic, move.index): move.after for move in moves}
    found = []
    for number in sorted({broker.id for broker in state.brokers} | {one for move in moves for one in move.before}):
        pairs = [(one.replicas, after.get((one.topic, one.index), one.replicas)) for one in state.partitions]
        found.append(
            {
                "broker": number,
                "replicas": sum(number in was for was, _ in pairs),
                "replicas_after": sum(number in now for _, now in pairs),
                "leads_now": len(state.led_by(number)),
                "leaders": sum(was[:1] == (number,) for was, _ in pairs),
                "leaders_after": sum(now[:1] == (number,) for _, now in pairs),
            }
        )
    return found
