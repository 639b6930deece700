"""A cluster drawn in the terminal: the quorum, a bar of partitions per broker, and what is wrong."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.text import Text

from tapelog.cli.cluster_state import Broker, ClusterState, Partition, Quorum, Voter, numbers
from tapelog.cli.output import table
from tapelog.cli.topic_names import is_internal, own_first
from tapelog.cli.units import format_duration, format_size

VOTERS_WANTED_FROM = 3
"""Brokers from which on a single voter is told to be few."""
BAR = 40
"""Cells of the longest bar."""
SHOWN_MAX = 20
"""Partitions named one by one; the rest is counted."""


def drawn(state: ClusterState, *, everything: bool = False) -> Iterator[RenderableType]:
    """The whole picture."""
    topics = len(dict.fromkeys(one.topic for one in state.partitions))
    copies = sum(len(one.replicas) for one in state.partitions)
    up = sum(not (one.fenced or one.silent) for one in state.brokers)
    yield Text.assemble(
        ("cluster ", "bold"),
        (state.cluster_id, "bold cyan"),
        f": {up} of {_count(len(state.brokers), 'broker')} up, {_count(topics, 'topic')}, "
        f"{_count(len(state.partitions), 'partition')}, {_count(copies, 'replica')}",
    )
    yield from _alarms(state)
    yield Text()
    if state.quorum is not None:
        yield from _quorum(state.quorum)
        yield Text()
    yield from _brokers(state)
    yield Text()
    yield from _health(state, SHOWN_MAX if not everything else len(state.partitions))
    for remark in state.remarks:
        yield Text(remark, style="dim")


def _alarms(state: ClusterState) -> Iterator[RenderableType]:
    """What comes before everything else: no quorum, and nodes that are not there, with what to do."""
    if state.quorum_lost:
        words = ": nobody is elected and nothing changes until a majority of its voters is there. "
        yield Text.assemble(
            ("✘ ", "bold red"), (state.quorum_lost, "bold red"), words, "What follows may be out of date."
        )
    for ids, words in ((state.silent, "no answer from"), (state.gone, "not there (fenced):")):
        if ids:
            starts = ", ".join(f"`tape node DIR/node-{one}`" for one in ids)
            about = f"{words} broker{'' if len(ids) == 1 else 's'} {', '.join(map(str, ids))}"
            yield Text.assemble(("✘ ", "bold red"), (about, "bold red"), f"; if down, start it again: {starts}")
    led = [one for one in state.partitions if one.leader in state.silent]
    if led:
        yield Text.assemble(("✘ ", "bold red"), f"{_count(len(led), 'partition')} led by brokers that do not answer")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _quorum(quorum: Quorum) -> Iterator[RenderableType]:
    yield Text.assemble(
        ("quorum", "bold"), f" epoch {quorum.epoch}, {quorum.high_watermark:,} records of metadata committed"
    )
    now_ms = int(time.time() * 1000)
    for voter in quorum.voters:
        yield _member(voter, quorum.leader, now_ms, "voter")
    voting = [one.id for one in quorum.voters]
    for observer in quorum.observers:
        if observer.id not in voting:
            yield _member(observer, quorum.leader, now_ms, "observer")
        elif observer.id in quorum.voiceless:
            yield _member(observer, quorum.leader, now_ms, "voter no more")


def _member(voter: Voter, leader: int, now_ms: int, role: str) -> Text:
    if voter.id == leader:
        return Text.assemble(("  ★ ", "bold yellow"), (f"{voter.id:<3}", "bold"), " active controller")
    late_ms = now_ms - voter.caught_up_ms if voter.caught_up_ms >= 0 else -1
    behind = f"{voter.behind:,} behind"
    if voter.behind == 0 or 0 <= late_ms < 1000:
        mark, style, words = "●", "green", "in step"
    elif voter.caught_up_ms < 0:
        mark, style, words = "○", "red", f"{behind}, never seen"
    else:
        mark, style, words = "○", "red", f"{behind}, in step {format_duration(late_ms)} ago"
    return Text.assemble((f"  {mark} ", style), (f"{voter.id:<3}", "bold"), f" {role}, ", (words, style))


def _brokers(state: ClusterState) -> Iterator[RenderableType]:
    most = max((len(state.on(one.id)) for one in state.brokers), default=0)
    rows = [_broker_row(state, one, most) for one in state.brokers]
    has_racks = any(one.rack for one in state.brokers)
    columns = ["broker>", "address", *(["rack"] if has_racks else []), "state", "leads>", "holds>", "on disk>", ""]
    yield table(columns, [row if has_racks else [*row[:2], *row[3:]] for row in rows])
    yield Text.assemble(
        ("█", "cyan"), " leads  ", ("▒", "blue"), " follows  ", ("░", "red"), " out of sync", style="dim"
    )


def _broker_row(state: ClusterState, broker: Broker, most: int) -> list[object]:
    held = state.on(broker.id)
    leads = len(state.led_by(broker.id))
    late = sum(broker.id in one.missing for one in held)
    size = state.bytes_on(broker.id)
    return [
        Text(str(broker.id), style="bold"),
        broker.address,
        broker.rack,
        standing("fenced" if broker.fenced else "unreachable" if broker.silent else "up", broker.cordoned),
        leads,
        len(held),
        None if size is None else format_size(size),
        bar(leads, len(held) - leads - late, late, most),
    ]


def standing(state: str, cordoned: bool) -> Text:
    """How a broker is (as the document calls it), in a word or two."""
    shown = {"unreachable": "no answer"}.get(state, state)
    word = Text(shown, style="green" if state == "up" else "bold red")
    return word.append(", cordoned", "yellow") if cordoned else word


def bar(leads: int, follows: int, late: int, most: int) -> Text:
    """Cells in proportion; what exists at all gets at least one."""
    scale = min(1.0, BAR / most) if most else 0.0
    made = Text()
    for count, cell, style in ((leads, "█", "cyan"), (max(0, follows), "▒", "blue"), (late, "░", "red")):
        if count > 0:
            made.append(cell * max(1, round(count * scale)), style)
    return made


def _health(state: ClusterState, shown_max: int) -> Iterator[RenderableType]:
    offline, under, moving = state.offline, state.under_replicated, state.moving
    if not (offline or under or state.quorum_lost or state.silent):
        if state.partitions:
            yield Text.assemble(("✔ ", "green"), "every partition has a leader, and all its replicas are in sync")
        else:
            yield Text("no topics yet", style="dim")
    for number in state.voiceless:
        words = f"node {number} has a new disk and does not vote: `tape cluster add-voter` with its directory"
        yield Text.assemble(("! ", "yellow"), (words, "yellow"))
    if state.quorum is not None and len(state.quorum.voters) == 1 and len(state.brokers) >= VOTERS_WANTED_FROM:
        words = f"node {state.quorum.voters[0].id} alone votes: without it nobody is elected, nothing is changed. "
        yield Text.assemble(("! ", "yellow"), (words + "`tape cluster add-voter` makes more", "yellow"))
    if offline:
        yield Text.assemble(("✘ ", "bold red"), (f"{_count(len(offline), 'partition')} without a leader", "bold red"))
        yield from _listed(offline, shown_max)
    below = state.below_min_isr
    if below:
        words = f"{_count(len(below), 'partition')} below min.insync.replicas: writes with acks=all are refused"
        yield Text.assemble(("✘ ", "bold red"), (words, "bold red"))
        yield from _listed(below, shown_max)
    if under:
        yield Text.assemble(("! ", "yellow"), (f"{_count(len(under), 'partition')} under-replicated", "yellow"))
        yield from _listed(under, shown_max)
    for shown, words in ((offline, "without a leader"), (under, "under-replicated")):
        more = len(_own(shown)) - shown_max
        if more > 0:
            yield Text(f"{more} more {words}: --all shows them", style="dim")
    unclean = None if state.quorum is None else state.quorum.unclean_elections
    if unclean:
        words = f"{_count(unclean, 'unclean election')} so far: acknowledged records may be gone; "
        yield Text.assemble(
            ("! ", "yellow"), (words, "yellow"), "the log of the controller names partitions and brokers"
        )
    if moving:
        yield Text.assemble(("↔ ", "cyan"), f"{_count(len(moving), 'partition')} on the move")
        first = sorted(moving, key=lambda one: (own_first(one.topic), one.index))[:shown_max]
        rows = [[one.name, numbers(one.adding), numbers(one.removing)] for one in first]
        yield table(["partition", "to", "from"], rows)
    if state.not_preferred:
        yield Text.assemble(
            ("· ", "dim"),
            (f"{_count(len(state.not_preferred), 'partition')} not led by the preferred replica; ", "dim"),
            ("the controller elects it within minutes, `tape cluster elect` at once", "dim"),
        )


def _own(partitions: Iterable[Partition]) -> list[Partition]:
    """Those of users' topics."""
    return [one for one in partitions if not is_internal(one.topic)]


def _listed(partitions: list[Partition], shown_max: int) -> Iterator[RenderableType]:
    """Partitions of users' topics; those of internal ones are counted, unless all fit."""
    own = _own(partitions)
    internal = [one for one in partitions if is_internal(one.topic)]
    shown = [*own, *internal] if len(partitions) <= shown_max else own[:shown_max]
    rows = [
        [
            one.name,
            Text("none", style="bold red") if one.offline else one.leader,
            numbers(one.replicas),
            numbers(one.isr),
            Text(numbers(one.missing), style="red"),
        ]
        for one in shown
    ]
    if rows:
        yield table(["partition", "leader>", "replicas", "in sync", "missing"], rows)
    if internal and len(partitions) > shown_max:
        names = ", ".join(dict.fromkeys(one.topic for one in internal))
        yield Text(f"  and {_count(len(internal), 'partition')} of internal topics ({names}): --all shows them", "dim")
