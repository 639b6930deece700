"""`tape cluster`: the state of a cluster, for people, programs and alarms."""

from __future__ import annotations

from typing import Annotated

import typer

from tapelog.cli.elect import elect
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout
from tapelog.cli.output import EXIT_ERR, EXIT_OK, EXIT_WARN, emit
from tapelog.cli.txn_options import open_wire
from tapelog.cli.voters import add_voter

app = typer.Typer(help="See how a cluster is: quorum, brokers, leaders, replicas.", no_args_is_help=True)


app.command("add-voter")(add_voter)
app.command("elect")(elect)


@app.command()
def describe(
    everything: Annotated[bool, typer.Option("--all", "-a", help="Name every partition that is not well.")] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Exit code 5: brokers, replicas or votes missing; 6: no quorum, disks full, partitions offline or not "
            "writable.",
        ),
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show quorum, brokers, leaders, and partitions that are under-replicated, below min.insync.replicas, offline or on
    the move; unclean elections are counted.

    Example: tape cluster describe --bootstrap 127.0.0.1:9092 --check
    """
    from tapelog.cli.cluster_asks import cluster_state
    from tapelog.cli.cluster_state import document
    from tapelog.cli.cluster_view import drawn

    with open_wire(bootstrap, properties, timeout) as wire:
        state = cluster_state(wire)
    emit(json, document(state), lambda: drawn(state, everything=everything))
    if check:
        lacking = state.under_replicated or state.gone or state.silent or state.voiceless
        unusable = state.quorum_lost or state.offline or state.below_min_isr or state.full
        raise typer.Exit(EXIT_ERR if unusable else EXIT_WARN if lacking else EXIT_OK)
