"""`tape group`: list, describe with lag, reset offsets, delete."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import ConsumerGroupDescription, OffsetSpec
from rich.text import Text

from tapelog.cli import lag as lag_module
from tapelog.cli.connect import Connection
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Group, Groups, Json, Properties, Timeout, Yes
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, CliError, emit, remark, table
from tapelog.cli.prompt import confirm
from tapelog.cli.reset import Move, Place, Target, plan_moves
from tapelog.cli.units import format_count, format_duration, parse_duration_ms, parse_moment_ms

app = typer.Typer(help="List and describe consumer groups, move their offsets, delete them.", no_args_is_help=True)


def state_name(state: Any) -> str:
    """`stable`, `empty`, `preparing rebalancing`, …"""
    return state.name.lower().replace("_", " ") if isinstance(state, ConsumerGroupState) else "unknown"


@app.command("list")
def list_groups(
    lag: Annotated[bool, typer.Option("--lag", help="Also members and lag: asks about every group.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """List consumer groups.

    Example: tape group list --lag
    """
    connection = Connection(bootstrap, properties, timeout)
    answer = connection.result(connection.admin.list_consumer_groups(request_timeout=timeout))
    rows: list[dict[str, Any]] = []
    for entry in sorted(answer.valid, key=lambda listing: listing.group_id):
        row: dict[str, Any] = {"group": entry.group_id, "state": state_name(entry.state)}
        if lag:
            found = lag_module.lags(connection, lag_module.committed(connection, entry.group_id))
            records, age_ms = lag_module.totals(found)
            row |= {"lag_records": records, "lag_seconds": None if age_ms is None else age_ms / 1000}
        rows.append(row)
    if not rows and not json:
        remark("no groups yet; a consumer with a group id makes one: `tape consume TOPIC --group NAME`")
        return
    columns = ["group", "state", *(["lag>", "lag in time>"] if lag else [])]
    shown = [
        [r["group"], r["state"], *([format_count(r["lag_records"]), _seconds(r["lag_seconds"])] if lag else [])]
        for r in rows
    ]
    emit(json, rows, lambda: [table(columns, shown)])


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else format_duration(seconds * 1000)


def described(connection: Connection, group: str) -> ConsumerGroupDescription:
    """A group that exists; CliError otherwise."""
    future = connection.admin.describe_consumer_groups([group], request_timeout=connection.timeout_s)[group]
    found: ConsumerGroupDescription = connection.result(future, group=group)
    if found.state == ConsumerGroupState.DEAD:
        raise CliError(f"there is no group `{group}`", "`tape group list` shows all", EXIT_NOT_FOUND)
    return found


@app.command()
def describe(
    group: Group,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show a group's members and, by partition, how far behind it is in records and in time.

    Lag in time is the age of the oldest record that the group has not committed.

    Example: tape group describe billing
    """
    connection = Connection(bootstrap, properties, timeout)
    found = described(connection, group)
    owners = {
        (part.topic, part.partition): member for member in found.members for part in member.assignment.topic_partitions
    }
    partitions = lag_module.lags(connection, lag_module.committed(connection, group), owners)
    records, age_ms = lag_module.totals(partitions)
    document = {
        "group": group,
        "state": state_name(found.state),
        "assignor": found.partition_assignor or None,
        "coordinator": None if found.coordinator is None else found.coordinator.id,
        "lag_records": records,
        "lag_seconds": None if age_ms is None else age_ms / 1000,
        "members": [
            {
                "member_id": member.member_id,
                "client_id": member.client_id,
                "host": member.host,
                "instance_id": member.group_instance_id,
                "partitions": [[part.topic, part.partition] for part in member.assignment.topic_partitions],
            }
            for member in sorted(found.members, key=lambda member: member.member_id)
        ],
        "partitions": [_partition(entry, owners) for entry in partitions],
    }
    emit(json, document, lambda: _description(document))


def _partition(entry: lag_module.PartitionLag, owners: dict[Place, Any]) -> dict[str, Any]:
    owner = owners.get((entry.topic, entry.partition))
    return {
        "topic": entry.topic,
        "partition": entry.partition,
        "committed": entry.committed,
        "end": entry.end,
        "lag_records": entry.records,
        "lag_seconds": None if entry.age_ms is None else entry.age_ms / 1000,
        "member": None if owner is None else owner.member_id,
    }


def _description(document: dict[str, Any]) -> list[Any]:
    members = document["members"]
    time_lag = _seconds(document["lag_seconds"])
    behind = f"{format_count(document['lag_records'])} records behind" + (f" ({time_lag})" if time_lag else "")
    head = f": {document['state']}, {len(members)} member{'' if len(members) == 1 else 's'}, {behind}"
    shown: list[Any] = [Text.assemble((document["group"], "bold"), head)]
    rows = [
        [
            part["topic"],
            part["partition"],
            part["committed"],
            part["end"],
            format_count(part["lag_records"]),
            _seconds(part["lag_seconds"]),
            part["member"],
        ]
        for part in document["partitions"]
    ]
    if rows:
        shown.append(table(["topic", "partition>", "committed>", "end>", "lag>", "lag in time>", "member"], rows))
    if members:
        rows = [[m["member_id"], m["client_id"], m["host"], m["instance_id"], len(m["partitions"])] for m in members]
        shown.append(table(["member", "client", "host", "instance", "partitions>"], rows))
    return shown


@app.command()
def reset(
    group: Group,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", metavar="TOPIC[:P,P]", help="Only this topic (and partitions). Repeatable."),
    ] = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the oldest record.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end: skip everything.")] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", metavar="N", help="To this offset.")] = None,
    to_time: Annotated[
        str | None,
        typer.Option("--to-time", metavar="TIME", help="To the first record at or after, e.g. 2026-05-01T12:30Z."),
    ] = None,
    by_duration: Annotated[
        str | None, typer.Option("--by-duration", metavar="DURATION", help="That far back from now, e.g. 1h30m.")
    ] = None,
    shift: Annotated[
        int | None, typer.Option("--shift", metavar="N", help="Forward by N records, or back by -N.")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute/--dry-run", help="Do it, or only show what would be done.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Move a group's offsets. Shows the plan; --execute carries it out. The group must have no live members.

    Example: tape group reset billing --topic orders --by-duration 1h --execute
    """
    target = _target(to_earliest, to_latest, to_offset, to_time, by_duration, shift)
    connection = Connection(bootstrap, properties, timeout)
    current = lag_module.committed(connection, group)
    places = _chosen(connection, topic or [], list(current))
    if not places:
        raise CliError(
            f"group {group} has no committed offsets",
            f"name a topic: `tape group reset {group} --topic TOPIC …`",
            EXIT_NOT_FOUND,
        )
    at_time: dict[Place, int] = {}
    if target.time_ms is not None:
        asked = connection.offsets({place: OffsetSpec.for_timestamp(target.time_ms) for place in places})
        at_time = {place: offset for place, (offset, _) in asked.items()}
    bounds = connection.bounds(places)
    moves = plan_moves(places, target, current=current, bounds=bounds, at_time=at_time)
    if execute:
        _move(connection, group, moves)
    document = {
        "group": group,
        "executed": execute,
        "partitions": [
            {"topic": m.topic, "partition": m.partition, "from": m.current, "to": m.new, "clamped": m.clamped}
            for m in moves
        ],
    }
    emit(json, document, lambda: [_moves_table(moves)])
    if not json:
        remark(f"group {group} moved" if execute else "nothing was changed: add --execute to do it")


def _target(
    earliest: bool, latest: bool, offset: int | None, moment: str | None, duration: str | None, shift: int | None
) -> Target:
    now_ms = round(time.time() * 1000)
    try:
        time_ms = parse_moment_ms(moment, now_ms) if moment is not None else None
        back_ms = now_ms - parse_duration_ms(duration) if duration is not None else None
    except ValueError as error:
        raise CliError(str(error), "", EXIT_USAGE) from None
    target = Target(earliest, latest, offset, time_ms if time_ms is not None else back_ms, shift)
    if target.given() + (moment is not None and duration is not None) != 1:
        raise CliError(
            "say where to: exactly one of the targets",
            "--to-earliest, --to-latest, --to-offset N, --to-time TIME, --by-duration DURATION or --shift N",
            EXIT_USAGE,
        )
    return target


def _chosen(connection: Connection, wanted: list[str], committed: list[Place]) -> list[Place]:
    if not wanted:
        return committed
    places: list[Place] = []
    for text in wanted:
        name, _, numbers = text.partition(":")
        present = sorted(connection.topic(name).partitions)
        try:
            chosen = [int(number) for number in numbers.split(",")] if numbers else present
        except ValueError:
            raise CliError(f"{text!r} is not TOPIC or TOPIC:P,P", "--topic orders:0,1", EXIT_USAGE) from None
        for number in chosen:
            if number not in present:
                raise CliError(f"{name} has no partition {number}", f"it has 0 to {max(present)}", EXIT_NOT_FOUND)
        places += [(name, number) for number in chosen]
    return sorted(set(places))


def _move(connection: Connection, group: str, moves: list[Move]) -> None:
    future = connection.admin.describe_consumer_groups([group], request_timeout=connection.timeout_s)[group]
    try:
        members = len(connection.result(future, group=group).members)
    except CliError as error:
        if error.exit_code != EXIT_NOT_FOUND:
            raise
        members = 0  # a new group: the commit makes it
    if members:
        raise CliError(
            f"group {group} has {members} live member{'' if members == 1 else 's'}: their commits would undo this",
            f"stop them first; `tape group describe {group}` names them",
            EXIT_FAILED,
        )
    offsets = [TopicPartition(move.topic, move.partition, move.new) for move in moves]
    request = [ConsumerGroupTopicPartitions(group, offsets)]
    done = connection.admin.alter_consumer_group_offsets(request, request_timeout=connection.timeout_s)[group]
    for part in connection.result(done, group=group).topic_partitions or ():
        if part.error is not None:
            raise connection.explained(part.error, topic=part.topic, group=group)


def _moves_table(moves: list[Move]) -> Any:
    rows = [
        [
            move.topic,
            move.partition,
            move.current,
            move.new,
            None if move.current is None else f"{move.new - move.current:+,}",
            "as far as it goes" if move.clamped else "",
        ]
        for move in moves
    ]
    return table(["topic", "partition>", "from>", "to>", "change>", ""], rows)


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
