"""`tape rebalance`: even out replicas and leaders. Shows the plan first; `--apply` carries it out, with progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout, Yes
from tapelog.cli.output import EXIT_FAILED, EXIT_USAGE, CliError, emit, error_console, remark
from tapelog.cli.prompt import confirm
from tapelog.cli.rebalance_view import count, plan_view
from tapelog.cli.txn_options import open_wire
from tapelog.cli.units import format_size, parse_duration_ms, parse_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapelog.cli.cluster_state import ClusterState
    from tapelog.cli.moves import Progress
    from tapelog.cli.raw import Wire
    from tapelog.cli.rebalance_plan import Move, Place

PARALLEL = 20
WAYS = ("replicas", "bytes", "load")
WINDOW_S = (0.2, 3600.0)

Throttle = Annotated[
    str | None,
    typer.Option("--throttle", metavar="SIZE", help="Copy no more bytes a second per broker than this: 50MiB."),
]
Parallel = Annotated[int, typer.Option("--parallel", min=1, help="How many partitions move at a time.")]


def rebalance(
    plan_only: Annotated[bool, typer.Option("--plan", help="Show what would be done (which is the default).")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Do it, and show how far it is.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Take back all moves under way.")] = False,
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="replicas|bytes|load", help="Even out their number, bytes on disk, or leaders' load."
        ),
    ] = "replicas",
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="DURATION",
            help="With --by load: look at it for so long, instead of asking the nodes for their last five minutes.",
        ),
    ] = None,
    throttle: Throttle = None,
    parallel: Parallel = PARALLEL,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Even out replicas and leaders over the brokers; without --apply only shows the plan.

    --by load moves leaders only, until brokers serve the same: bytes written, read, and fetched by followers. It
    copies nothing.

    Example: tape rebalance --plan && tape rebalance --apply --throttle 50MiB --yes
    """
    from tapelog.cli import cluster_asks

    if plan_only + apply + cancel > 1:
        raise CliError("--plan, --apply and --cancel exclude each other", "give one of them", EXIT_USAGE)
    if by not in WAYS:
        raise CliError(f"--by {by} is not known", f"one of {', '.join(WAYS)}", EXIT_USAGE)
    rate, window_s = parse_rate(throttle), None if window is None else parse_window(window)
    with open_wire(bootstrap, properties, timeout) as wire:
        if cancel:
            _cancel(wire, json)
            return
        state = cluster_asks.cluster_state(wire)
        refuse_moving(state)
        loads: dict[str, Any] | None = None
        if by == "load":
            from tapelog.cli.rebalance_load import leaders_by_load

            changes, loads = leaders_by_load(wire, state, window_s)
        else:
            changes = planned(state, by_bytes=by == "bytes")
        back = [] if by == "load" else returning(state, changes)
        how: Any = {"apply": apply, "rate": rate, "parallel": parallel, "yes": yes, "json": json}
        show_and_apply(wire, state, changes, **how, loads=loads, back=back)


def _cancel(wire: Wire, json: bool) -> None:
    from tapelog.cli import moves

    taken_back = moves.cancel(wire)
    listed = [{"topic": topic, "partition": index} for topic, index in taken_back]
    emit(json, {"cancelled": listed}, lambda: [Text(f"took back {len(taken_back)} moves")])


def parse_window(text: str) -> float:
    """Seconds to look at rates."""
    try:
        seconds = parse_duration_ms(text) / 1000
    except ValueError as error:
        raise CliError(str(error), "--window 5s", EXIT_USAGE) from None
    if not WINDOW_S[0] <= seconds <= WINDOW_S[1]:
        raise CliError(f"a window of {text} is not sensible", "from 200ms to 1h: --window 5s", EXIT_USAGE)
    return seconds


def parse_rate(text: str | None) -> int | None:
    """Bytes a second, or None for no limit."""
    if text is None:
        return None
    try:
        rate = parse_size(text.removesuffix("/s"))
    except ValueError as error:
        raise CliError(str(error), "--throttle 50MiB", EXIT_USAGE) from None
    if rate <= 0:
        raise CliError("a throttle of nothing would stop all copies", "--throttle 50MiB", EXIT_USAGE)
    return rate


def refuse_moving(state: ClusterState) -> None:
    """Planning on top of moves under way would plan from a state that will not be; without a quorum nothing moves."""
    if state.quorum_lost:
        away = [*state.silent, *state.gone]
        start = f" (not there: {', '.join(map(str, away))}; start them: `tape node DIR/node-{away[0]}`)" if away else ""
        raise CliError(state.quorum_lost, f"`tape cluster describe` shows who is missing{start}", EXIT_FAILED)
    if state.moving:
        raise CliError(
            f"{len(state.moving)} partitions are on the move already",
            "wait until they have arrived (`tape cluster describe`), or take them back: `tape rebalance --cancel`",
            EXIT_FAILED,
        )


def returning(state: ClusterState, changes: Sequence[Move]) -> list[Place]:
    """Partitions that only go back to their preferred leaders: others than those that change anyway."""
    changing = [(move.topic, move.index) for move in changes]
    there = [one for one in state.not_preferred if one.replicas[0] not in state.silent]
    return [place for one in there if (place := (one.topic, one.index)) not in changing]


def planned(
    state: ClusterState, *, leave: Sequence[int] = (), by_bytes: bool = False, only_leave: bool = False
) -> list[Move]:
    """What the planner makes of this state. Brokers that are not there, or cordoned, get nothing new."""
    from tapelog.cli.rebalance_plan import CannotPlanError, Weighed, plan

    usable = {
        one.id: one.rack for one in state.brokers if not (one.fenced or one.silent or one.cordoned) or one.id in leave
    }
    weighed = [Weighed(one.topic, one.index, one.replicas, state.size_of(one)) for one in state.partitions]
    if not leave:  # replicas on brokers that are away stay where they are: they may come back
        weighed = [one for one in weighed if all(broker in usable for broker in one.replicas)]
    try:
        return plan(usable, weighed, leave=leave, by_bytes=by_bytes, only_leave=only_leave)
    except CannotPlanError as error:
        raise CliError(
            str(error),
            "add a broker first: `tape format --join` makes its directory, `tape node` starts it",
            EXIT_FAILED,
        ) from None


def show_and_apply(
    wire: Wire,
    state: ClusterState,
    changes: Sequence[Move],
    *,
    apply: bool,
    rate: int | None,
    parallel: int,
    yes: bool,
    json: bool,
    agreed: Callable[[], None] = lambda: None,
    loads: dict[str, Any] | None = None,
    back: Sequence[Place] = (),
    how: str = "--apply",
) -> None:
    """The plan, and with `apply` its execution; `agreed` is called before anything moves, once nobody objects.
    `loads`: what brokers carry before and after, of a plan by load. `back`: partitions whose preferred replica leads
    again, and nothing else. `how`: what does it, for who only saw the plan."""
    from tapelog.cli.moves import carry_out, prefer_leaders
    from tapelog.cli.throttle import throttled

    document = _document(state, changes, back) | {"applied": apply and bool(changes or back)}
    if loads is not None:
        document["load"] = loads
    if not (apply and json):
        emit(json, document, lambda: plan_view(changes, document))
    if not apply:
        if (changes or back) and not json:
            remark(f"nothing has been changed: {how} does it")
        return
    asked = [f"move {count(len(changes))} ({format_size(document['bytes'])} to copy)"] if changes else []
    asked += [f"let the preferred replica of {count(len(back))} lead again"] if back else []
    if asked:
        confirm(f"{' and '.join(asked)}?", yes)
    agreed()
    if changes:
        try:
            with throttled(wire, changes, rate), progress(quiet=json) as tell:
                carry_out(wire, changes, parallel=parallel, tell=tell)
        except KeyboardInterrupt:
            remark("interrupted: moves that have begun go on, unthrottled; `tape rebalance --cancel` takes them back")
            raise
    if back:
        prefer_leaders(wire, back)
    if json:
        emit(json, document, list)
        return
    if back:
        remark(f"the preferred replica leads {count(len(back))} again")
    if changes:
        error_console().print(Text(f"done: {count(len(changes))} as planned", style="green"))


def _document(state: ClusterState, changes: Sequence[Move], back: Sequence[Place]) -> dict[str, Any]:
    from tapelog.cli.moves import summary

    return {
        "moves": [
            {
                "topic": move.topic,
                "partition": move.index,
                "before": list(move.before),
                "after": list(move.after),
                "bytes": move.bytes,
            }
            for move in changes
        ],
        "bytes": sum(move.bytes for move in changes),
        "to_preferred_leaders": [{"topic": topic, "partition": index} for topic, index in back],
        "brokers": summary(state, changes),
    }


@contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, a line now and then elsewhere, nothing for programs."""
    if quiet:
        yield lambda told: None
        return
    if not sys.stderr.isatty():
        last = [-1]

        def line(told: Progress) -> None:
            if told.done != last[0]:
                last[0] = told.done
                copied = f"{format_size(told.bytes_done)} of {format_size(told.bytes_total)}"
                remark(f"{told.done} of {told.total} partitions, {copied}")

        yield line
        return
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"), TimeRemainingColumn())
    with Bars(*columns, console=error_console()) as bars:
        task = bars.add_task("moving", total=1.0, words="")

        def draw(told: Progress) -> None:
            share = told.bytes_done / told.bytes_total if told.bytes_total else 1.0
            words = (
                f"{told.done}/{told.total} partitions, {format_size(told.bytes_done)}/{format_size(told.bytes_total)}"
            )
            bars.update(task, completed=(told.done / told.total + share) / 2, words=words)

        yield draw
