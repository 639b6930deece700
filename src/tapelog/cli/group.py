"""`tape group`: the commands of its family joined, and the small ones: list, delete, delete-offsets."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from tapelog.cli import group_check, group_describe, group_lag, group_reset
from tapelog.cli.connect import Connection
from tapelog.cli.group_info import list_all, marker_groups, type_text
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Group, Groups, Json, Properties, Timeout, Yes
from tapelog.cli.output import EXIT_USAGE, CliError, emit, remark, table
from tapelog.cli.prompt import confirm
from tapelog.cli.units import format_count

app = typer.Typer(
    help="List, describe and judge consumer groups; see their lag in records and time; move or delete their offsets.",
    no_args_is_help=True,
)
app.command("describe")(group_describe.describe)
app.command("members")(group_describe.members)
app.command("lag")(group_lag.lag)
app.command("check")(group_check.check_groups)
app.command("reset")(group_reset.reset)
app.command("export")(group_reset.export)


@app.command("list")
def list_groups(
    lag: Annotated[bool, typer.Option("--lag", help="Also lag, in records and time: asks about every group.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """List groups of every kind: classic, simple (it only commits), consumer (KIP-848), share, streams; and, called so,
    those in which Spark's exactly-once sink keeps its markers.

    Example: tape group list --lag
    """
    connection = Connection(bootstrap, properties, timeout)
    listed = list_all(connection)
    held = marker_groups(connection, listed)
    rows: list[dict[str, Any]] = [
        {
            "group": one.group,
            "type": one.kind,
            "simple": one.simple,
            "markers": one.group in held,
            "state": one.state,
        }
        for one in listed
    ]
    if lag:
        from tapelog.toolkit.lag import LagReader

        with LagReader(connection.config, admin=connection.admin, timeout_s=timeout) as reader:
            kinds = {one.group: one.kind for one in listed if one.group not in held}
            found = group_lag.measured(connection, reader, kinds)
        for row in rows:
            own = found.get(row["group"])
            row |= {"lag_records": own and own.records, "lag_seconds": own and own.seconds}
    if not rows and not json:
        remark("no groups yet; a consumer with a group id makes one: `tape consume TOPIC --group NAME`")
        return
    columns = ["group", "type", "state", *(["lag>", "lag in time>"] if lag else [])]
    shown = [
        [
            row["group"],
            type_text(row["type"], row["simple"], row["markers"]),
            row["state"],
            *(_lag_cells(row) if lag else []),
        ]
        for row in rows
    ]
    emit(json, rows, lambda: [table(columns, shown)])


def _lag_cells(row: dict[str, Any]) -> list[str | None]:
    records = row["lag_records"]
    return [None if records is None else format_count(records), group_lag.seconds_text(row["lag_seconds"])]


@app.command()
def delete(
    groups: Groups,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Delete groups with their offsets. They must have no live members.

    Example: tape group delete billing --yes
    """
    connection = Connection(bootstrap, properties, timeout)
    confirm(f"delete {', '.join(groups)} with all committed offsets?", yes)
    futures = connection.admin.delete_consumer_groups(groups, request_timeout=timeout)
    deleted: list[str] = []
    failures: list[CliError] = []
    for name, future in futures.items():
        try:
            connection.result(future, group=name)
            deleted.append(name)
        except CliError as error:
            failures.append(error)
    emit(json, {"deleted": deleted}, lambda: [Text(f"deleted {name}") for name in deleted])
    for failure in failures[1:]:
        remark(f"error: {failure.message}")
    if failures:
        raise failures[0]


@app.command("delete-offsets")
def delete_offsets(
    group: Group,
    topic: group_reset.Selection = None,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Forget what a group has committed for some topics or partitions. No live member may read those topics.

    Example: tape group delete-offsets billing --topic old-orders --yes
    """
    from tapelog.cli.raw import GROUP, Wire, check
    from tapelog.wire.messages import offset_delete_request as asks
    from tapelog.wire.messages.offset_delete_response import OffsetDeleteResponse

    if not topic:
        raise CliError(
            "say which offsets", f"--topic TOPIC[:P,P]; `tape group delete {group}` deletes all of them", EXIT_USAGE
        )
    connection = Connection(bootstrap, properties, timeout)
    committed = group_reset.committed(connection, group)
    places = group_reset.chosen(connection, topic, list(committed))
    confirm(f"delete the offsets that {group} has committed for {len(places)} partitions?", yes)
    topics = [
        asks.OffsetDeleteRequestTopic(
            name, [asks.OffsetDeleteRequestPartition(number) for t, number in places if t == name]
        )
        for name in sorted({name for name, _ in places})
    ]
    with Wire(connection) as wire:
        told = wire.ask(asks.OffsetDeleteRequest(group, topics), OffsetDeleteResponse, wire.coordinator(group, GROUP))
    hint = f"stop the members that read it; `tape group members {group}` names them"
    check(told.error_code, f"group {group}", hint)
    for answer in told.topics:
        for part in answer.partitions:
            check(part.error_code, f"{answer.name}:{part.partition_index}", hint)
    document = {"group": group, "deleted": [[name, number] for name, number in places if (name, number) in committed]}
    emit(json, document, lambda: [Text(f"deleted {name}:{number}") for name, number in document["deleted"]])
