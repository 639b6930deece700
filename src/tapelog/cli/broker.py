"""`tape broker`: list brokers, empty one, take one out of the cluster."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tapelog.cli import voters
from tapelog.cli.disks import disks
from tapelog.cli.move_dir import move_dir
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout, Yes
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, CliError, emit, remark, table
from tapelog.cli.prompt import confirm
from tapelog.cli.rebalance import PARALLEL, Parallel, Throttle, parse_rate, planned, refuse_moving, show_and_apply
from tapelog.cli.txn_options import open_wire
from tapelog.cli.units import format_size

if TYPE_CHECKING:
    from tapelog.cli.cluster_state import Broker, ClusterState, Quorum
    from tapelog.cli.raw import Wire

app = typer.Typer(help="List brokers, empty one for maintenance, take one out for good.", no_args_is_help=True)

POLL_S = 0.3
BrokerId = Annotated[int, typer.Argument(metavar="ID", help="The broker's id; `tape broker list` shows them.")]


@app.command("list")
def list_brokers(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """List brokers: where they are, what they lead and hold.

    Example: tape broker list --json
    """
    from tapelog.cli import cluster_asks
    from tapelog.cli.cluster_state import document
    from tapelog.cli.cluster_view import standing

    with open_wire(bootstrap, properties, timeout) as wire:
        state = cluster_asks.cluster_state(wire)
    voting = [one.id for one in state.quorum.voters] if state.quorum is not None else []
    leader = state.quorum.leader if state.quorum is not None else -1
    listed: list[dict[str, object]] = document(state)["brokers"]  # type: ignore[assignment]
    for entry in listed:
        number = entry["id"]
        entry["quorum"] = "controller" if number == leader else "voter" if number in voting else None
    rows = [
        [
            entry["id"],
            entry["address"],
            entry["rack"],
            standing(str(entry["state"]), bool(entry["cordoned"])),
            entry["quorum"],
            entry["leaders"],
            entry["replicas"],
            None if entry["bytes"] is None else format_size(int(str(entry["bytes"]))),
        ]
        for entry in listed
    ]
    columns = ["broker>", "address", "rack", "state", "quorum", "leads>", "holds>", "on disk>"]
    emit(json, listed, lambda: [table(columns, rows)])


app.command("disks")(disks)
app.command("move-dir")(move_dir)


@app.command()
def drain(
    broker: BrokerId,
    plan_only: Annotated[bool, typer.Option("--plan", help="Only show what would be moved where.")] = False,
    throttle: Throttle = None,
    parallel: Parallel = PARALLEL,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Move everything off a broker, with progress; it stays in the cluster, empty.

    Example: tape broker drain 3 --throttle 50MiB --yes
    """
    from tapelog.cli import cluster_asks

    rate = parse_rate(throttle)
    with open_wire(bootstrap, properties, timeout) as wire:
        state = cluster_asks.cluster_state(wire)
        known(state, broker)
        refuse_moving(state)
        changes = planned(state, leave=[broker], only_leave=True)
        cordoned: list[bool] = []
        show_and_apply(
            wire,
            state,
            changes,
            apply=not plan_only,
            rate=rate,
            parallel=parallel,
            yes=yes,
            json=json,
            how=f"`tape broker drain {broker}`",
            agreed=lambda: cordoned.append(_cordon(wire, broker, True)),
        )
    if not json and not plan_only:
        news = "gets nothing new" if all(cordoned) else "may still get new topics"
        also = f"`tape broker remove {broker}` takes it out, `tape broker restore {broker}` takes it back in"
        remark(f"broker {broker} holds nothing and {news}; {also}")


@app.command()
def restore(
    broker: BrokerId,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Let a drained broker take part again; `tape rebalance` then gives it its share.

    Example: tape broker restore 3 && tape rebalance --apply --yes
    """
    from tapelog.cli import cluster_asks

    with open_wire(bootstrap, properties, timeout) as wire:
        known(cluster_asks.cluster_state(wire, sizes=False, quorum=False), broker)
        lifted = _cordon(wire, broker, False)
    words = f"broker {broker} takes part again; `tape rebalance --plan` shows what would move there"
    emit(json, {"broker": broker, "restored": lifted}, lambda: [Text(words)])


def _cordon(wire: Wire, number: int, closed: bool) -> bool:
    """Keep new replicas away from a broker, or let them come (cordoned.log.dirs, KIP-1066). False if it cannot."""
    from tapelog.cli.cluster_asks import CORDON
    from tapelog.cli.throttle import BROKER, DELETE, SET, change

    try:
        change(wire, [(BROKER, str(number), [(CORDON, SET, "*") if closed else (CORDON, DELETE, None)])])
    except CliError:
        return False
    return True


def known(state: ClusterState, number: int) -> Broker:
    """The broker, or an error that names those there are."""
    found = state.broker(number)
    if found is None:
        ids = ", ".join(str(one.id) for one in state.brokers)
        raise CliError(f"there is no broker {number}", f"there are {ids}: `tape broker list`", EXIT_NOT_FOUND)
    return found


@app.command()
def remove(
    broker: BrokerId,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for it to stop.")] = 60.0,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Take an empty, stopped broker out of the cluster for good; a voter leaves the quorum, too.

    Example: tape broker drain 3 --yes && tape broker remove 3 --yes
    """
    from tapelog.cli import cluster_asks

    with open_wire(bootstrap, properties, timeout) as wire:
        state = cluster_asks.cluster_state(wire, sizes=False)
        found = known(state, broker)
        held = state.on(broker)
        if held:
            raise CliError(
                f"broker {broker} still holds {len(held)} replica{'' if len(held) == 1 else 's'}",
                f"`tape broker drain {broker}` moves them first",
                EXIT_FAILED,
            )
        confirm(f"take broker {broker} ({found.address}) out of the cluster?", yes)
        if not found.fenced:
            _wait_until_stopped(wire, broker, wait, json)
        left = state.quorum is not None and _leave_quorum(wire, state.quorum, broker)
        _unregister(wire, broker)
    document = {"removed": broker, "left_quorum": left}
    words = f"broker {broker} is out of the cluster" + (" and of the quorum" if left else "")
    emit(json, document, lambda: [Text(f"{words}; its directory can be deleted")])


def _wait_until_stopped(wire: Wire, number: int, wait_s: float, json: bool) -> None:
    """A broker that runs would register again at once: its process must end first."""
    from tapelog.cli import cluster_asks

    deadline = time.monotonic() + wait_s
    told = False
    while True:
        found = next((one for one in cluster_asks.brokers(wire)[2] if one.id == number), None)
        if found is None or found.fenced:
            return
        if time.monotonic() >= deadline:
            raise CliError(
                f"broker {number} still runs at {found.address}",
                f"stop its process (SIGTERM), then `tape broker remove {number}` again",
                EXIT_FAILED,
            )
        if not told and not json:
            remark(f"stop broker {number} now (SIGTERM to its process); waiting up to {wait_s:g} s")
            told = True
        time.sleep(POLL_S)


def _leave_quorum(wire: Wire, quorum: Quorum, number: int) -> bool:
    """Remove its vote, if it has one: a voter that never comes back would count against every majority."""
    voter = next((one for one in quorum.voters if one.id == number), None)
    if voter is None:
        return False
    if len(quorum.voters) == 1:
        raise CliError(
            f"broker {number} is the only voter of the metadata quorum", "make another node a voter first", EXIT_USAGE
        )
    voters.remove(wire, number, voter.directory_id)
    return True


def _unregister(wire: Wire, number: int) -> None:
    from tapelog.cli.raw import check
    from tapelog.wire.messages.unregister_broker_request import UnregisterBrokerRequest
    from tapelog.wire.messages.unregister_broker_response import UnregisterBrokerResponse

    told = wire.ask(UnregisterBrokerRequest(number), UnregisterBrokerResponse)
    check(told.error_code, told.error_message or f"broker {number} cannot be taken out")
