"""`tape txn hanging` and `tape txn abort`: find transactions that nothing will end, and end them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tapelog.cli.group_info import words_of
from tapelog.cli.hanging import Hanging, OpenTransaction, find_hanging, is_late
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout, Yes
from tapelog.cli.output import EXIT_ERR, EXIT_NOT_FOUND, EXIT_USAGE, CliError, emit, remark
from tapelog.cli.prompt import confirm
from tapelog.cli.txn_options import older_ms, open_wire, selected
from tapelog.cli.units import format_duration

if TYPE_CHECKING:
    from tapelog.cli.raw import Wire


def hanging(
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="[TOPIC[:P,P]…]", help="Where to look; everywhere if not given.")
    ] = None,
    older: Annotated[
        str, typer.Option("--older", metavar="DURATION", help="Only what was last written to so long ago.")
    ] = "15m",
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Find transactions that are open in the log while no coordinator knows of them. Exit code 6 if there are any.

    They hold back every read_committed reader of their partition until they are aborted: each comes with the command
    that does it. `--older` should not be less than the cluster's transaction.max.timeout.ms (15 minutes).

    Example: tape txn hanging orders
    """
    from tapelog.cli import txn_asks

    wanted = selected(topics or [])
    late_ms, now_ms = older_ms(older), round(time.time() * 1000)
    with open_wire(bootstrap, properties, timeout) as wire:
        seen = txn_asks.open_transactions(txn_asks.producers(wire, wanted or None))
        late = [one for one in seen if is_late(one, now_ms, late_ms)]
        found = find_hanging(late, txn_asks.known_transactions(wire, (one.producer_id for one in late)))
    document = [
        {
            "topic": one.transaction.topic,
            "partition": one.transaction.partition,
            "producer_id": one.transaction.producer_id,
            "producer_epoch": one.transaction.producer_epoch,
            "start_offset": one.transaction.start_offset,
            "last_timestamp_ms": one.transaction.last_ms,
            "why": one.why,
            "abort": abort_command(one.transaction),
        }
        for one in found
    ]
    emit(json, document, lambda: [line for one in found for line in _hanging_lines(one, now_ms)])
    if not found and not json:
        remark(f"nothing hangs ({len(seen)} open transaction{'' if len(seen) == 1 else 's'} seen)")
    if found:
        raise typer.Exit(EXIT_ERR)


def abort_command(transaction: OpenTransaction) -> str:
    """What ends it."""
    return f"tape txn abort --hanging {transaction.topic}:{transaction.partition}:{transaction.start_offset}"


def _hanging_lines(found: Hanging, now_ms: int) -> list[Text]:
    one = found.transaction
    since = "" if one.last_ms < 0 else f", last written to {format_duration(max(0, now_ms - one.last_ms))} ago"
    what = f": open since offset {one.start_offset}{since}; {found.why} (producer {one.producer_id})"
    return [
        Text.assemble((f"{one.topic}:{one.partition}", "bold"), what),
        Text(f"  {abort_command(one)}", style="dim"),
    ]


def abort(
    transactional_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Abort this id's transaction and shut out its producer.")
    ] = None,
    hanging: Annotated[
        str | None,
        typer.Option(
            "--hanging", metavar="TOPIC:P:OFFSET", help="Abort what is open in this partition since this offset."
        ),
    ] = None,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Abort a transaction: by its id, or a hanging one where it is open (`tape txn hanging` prints the place).

    Example: tape txn abort --hanging orders:0:4711 --yes
    """
    if (transactional_id is None) == (hanging is None):
        raise CliError("say which: a transactional id, or --hanging TOPIC:P:OFFSET", "`tape txn list`", EXIT_USAGE)
    with open_wire(bootstrap, properties, timeout) as wire:
        if transactional_id is not None:
            document = _abort_id(wire, transactional_id, timeout, yes)
        else:
            document = _abort_hanging(wire, hanging or "", yes)
    emit(json, document, lambda: [Text("aborted " + ", ".join(f"{name} {value}" for name, value in document.items()))])


def _abort_id(wire: Wire, transactional_id: str, timeout: float, yes: bool) -> dict[str, Any]:
    from tapelog.cli import txn_asks

    state, node = txn_asks.describe_transaction(wire, transactional_id)
    what = f"{transactional_id} is {words_of(state.transaction_state)}"
    confirm(f"{what}: abort its transaction and shut out its producer?", yes)
    told = txn_asks.fence(wire, state, node, timeout)
    return {"id": transactional_id, "producer_id": told.producer_id, "producer_epoch": told.producer_epoch}


def _abort_hanging(wire: Wire, text: str, yes: bool) -> dict[str, Any]:
    from tapelog.cli import txn_asks

    topic, _, rest = text.partition(":")
    numbers = rest.split(":")
    if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
        raise CliError(f"{text!r} is not TOPIC:PARTITION:OFFSET", "`tape txn hanging` prints it", EXIT_USAGE)
    partition, offset = (int(number) for number in numbers)
    seen = txn_asks.open_transactions(txn_asks.producers(wire, {topic: {partition}}))
    found = next((one for one in seen if one.start_offset == offset), None)
    if found is None:
        there = ", ".join(str(one.start_offset) for one in seen) or "none"
        raise CliError(
            f"no transaction is open in {topic}:{partition} since offset {offset}",
            f"open there: {there}; `tape txn producers {topic}:{partition} --open`",
            EXIT_NOT_FOUND,
        )
    known = txn_asks.known_transactions(wire, [found.producer_id])
    if not find_hanging([found], known):
        owner = known[found.producer_id].transactional_id
        raise CliError(
            f"this transaction does not hang: `{owner}` is its transactional id",
            f"let it end, or `tape txn abort {owner}`, which tells its coordinator too",
        )
    confirm(f"abort the transaction of producer {found.producer_id} in {topic}:{partition}?", yes)
    txn_asks.write_abort_marker(wire, found)
    return {"topic": topic, "partition": partition, "producer_id": found.producer_id, "start_offset": offset}
