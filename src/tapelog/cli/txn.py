"""`tape txn`: transactions as their coordinators and the logs see them. `txn_end.py` has the commands that end some."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.text import Text

from tapelog.cli import txn_end
from tapelog.cli.group_info import span, words_of
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout
from tapelog.cli.output import emit, remark, table
from tapelog.cli.txn_options import older_ms, open_wire, selected
from tapelog.cli.units import format_duration, format_moment

app = typer.Typer(
    help="List and describe transactions, see who produces, find transactions that hang, and abort them.",
    no_args_is_help=True,
)

app.command("hanging")(txn_end.hanging)
app.command("abort")(txn_end.abort)

TransactionalId = Annotated[str, typer.Argument(metavar="ID", help="The transactional id.")]
Selections = Annotated[
    list[str], typer.Argument(metavar="TOPIC[:P,P]…", help="Topics, perhaps only some of their partitions.")
]


@app.command("list")
def list_all(
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Only in this state, e.g. Ongoing. Repeatable."),
    ] = None,
    producer: Annotated[
        list[int] | None, typer.Option("--producer", metavar="ID", help="Only of this producer id. Repeatable.")
    ] = None,
    older: Annotated[
        str | None, typer.Option("--older", metavar="DURATION", help="Only transactions open for at least so long.")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option("--match", metavar="REGEX", help="Only transactional ids that match (RE2).")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """List transactional ids with their state and producer.

    Example: tape txn list --state Ongoing --older 1m
    """
    from tapelog.cli import txn_asks

    with open_wire(bootstrap, properties, timeout) as wire:
        found = txn_asks.list_transactions(wire, state or (), producer or (), older_ms(older), pattern)
    document = [
        {"id": one.transactional_id, "producer_id": one.producer_id, "state": one.state, "coordinator": one.coordinator}
        for one in found
    ]
    if not found and not json:
        remark("no transactions")
        return
    rows = [[one.transactional_id, words_of(one.state), one.producer_id, one.coordinator] for one in found]
    emit(json, document, lambda: [table(["transactional id", "state", "producer>", "coordinator>"], rows)])


@app.command()
def describe(
    transactional_id: TransactionalId,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show one transactional id: state, producer and epoch, since when its transaction is open, and its partitions.

    Example: tape txn describe order-writer
    """
    from tapelog.cli import txn_asks

    with open_wire(bootstrap, properties, timeout) as wire:
        found, node = txn_asks.describe_transaction(wire, transactional_id)
    places = txn_asks.partitions_of(found)
    begun = found.transaction_start_time_ms if found.transaction_start_time_ms >= 0 else None
    document = {
        "id": transactional_id,
        "state": found.transaction_state,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "timeout_ms": found.transaction_timeout_ms,
        "started_ms": begun,
        "coordinator": node.id,
        "partitions": [list(place) for place in places],
    }
    over = begun is None or found.transaction_state.startswith(("Complete", "Empty", "Dead"))
    age = "" if over else f", open for {format_duration(max(0, time.time() * 1000 - (begun or 0)))}"
    lines = [
        Text.assemble((transactional_id, "bold"), f": {words_of(found.transaction_state)}{age}"),
        Text(
            f"producer {found.producer_id} epoch {found.producer_epoch}, "
            f"timeout {format_duration(found.transaction_timeout_ms)}, coordinator {node.id}"
        ),
    ]
    emit(json, document, lambda: [*lines, *([Text(span(places))] if places else [])])


@app.command()
def producers(
    topics: Selections,
    open_only: Annotated[bool, typer.Option("--open", help="Only those with an open transaction.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show which idempotent and transactional producers have written to partitions, and where transactions are open.

    Example: tape txn producers orders:0
    """
    wanted = selected(topics)
    from tapelog.cli import txn_asks

    with open_wire(bootstrap, properties, timeout) as wire:
        found = [one for one in txn_asks.producers(wire, wanted) if one.start_offset is not None or not open_only]
    document = [
        {
            "topic": one.topic,
            "partition": one.partition,
            "producer_id": one.producer_id,
            "producer_epoch": one.producer_epoch,
            "last_sequence": one.last_sequence,
            "last_timestamp_ms": one.last_ms,
            "coordinator_epoch": one.coordinator_epoch,
            "open_since_offset": one.start_offset,
        }
        for one in found
    ]
    if not found and not json:
        remark("no producers")
        return
    columns = ["topic", "partition>", "producer>", "epoch>", "last sequence>", "last write", "open since offset>"]
    rows = [
        [
            one.topic,
            one.partition,
            one.producer_id,
            one.producer_epoch,
            one.last_sequence,
            format_moment(one.last_ms),
            one.start_offset,
        ]
        for one in found
    ]
    emit(json, document, lambda: [table(columns, rows)])
