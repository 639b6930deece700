"""`tape group describe` and `tape group members`: what a group is, who is in it, and how far behind it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tapelog.cli import configs
from tapelog.cli.connect import Connection
from tapelog.cli.group_info import GroupInfo, Member, describe_group, span, type_text
from tapelog.cli.group_lag import (
    PARTITION_COLUMNS,
    UNCOMMITTED,
    isolation_of,
    measured,
    partition_cells,
    partition_document,
    seconds_text,
)
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Group, Json, Properties, Timeout
from tapelog.cli.output import CliError, emit, table
from tapelog.cli.reset import Place
from tapelog.cli.units import format_count, format_duration, format_moment

if TYPE_CHECKING:
    from tapelog.toolkit.lag.commits import CommitLog
    from tapelog.toolkit.lag.values import GroupLag

RETENTION = "offsets.retention.minutes"
HISTORY_RECORDS_MAX = 50_000
HISTORY_S_MAX = 3.0


def describe(
    group: Group,
    uncommitted: UNCOMMITTED = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show a group of either protocol: state, members, and by partition how far behind it is in records and in time.

    Lag in time is the age of the oldest record that the group has not consumed. For a group without members it also
    says when its offsets expire, where that can be known.

    Example: tape group describe billing
    """
    from tapelog.toolkit.lag import LagReader

    connection = Connection(bootstrap, properties, timeout)
    info = describe_group(connection, group)
    isolation = isolation_of(uncommitted)
    with LagReader(connection.config, isolation=isolation, admin=connection.admin, timeout_s=timeout) as reader:
        found = measured(connection, reader, {group: info.kind}, {group: tuple(info.owners)})[group]
    history = None if info.members or info.kind == "share" else _history(connection, group)
    expiry = {} if info.members else expiries(info, found, history, retention_ms(connection, info))
    result = document(info, found, expiry, history)
    emit(json, result, lambda: view(info, found, expiry))


def members(
    group: Group,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show a group's members: where they run, what they read, and in the newer protocol their epoch and target.

    Example: tape group members billing
    """
    info = describe_group(Connection(bootstrap, properties, timeout), group)
    result = {**head_document(info), "members": [member_document(one) for one in info.members]}
    emit(json, result, lambda: [Text.assemble((group, "bold"), ": " + head_text(info)), *members_table(info, True)])


def retention_ms(connection: Connection, info: GroupInfo) -> int | None:
    """`offsets.retention.minutes` of the coordinator; None where it does not say."""
    try:
        entry = configs.described(connection, "broker", str(info.coordinator)).get(RETENTION)
        return None if entry is None or entry.value is None else int(entry.value) * 60_000
    except (CliError, ValueError):
        return None


def _history(connection: Connection, group: str) -> CommitLog | None:
    from tapelog.toolkit.lag.commits import read_commits

    with connection.explaining(group=group):
        return read_commits(
            connection.config,
            connection.admin,
            [group],
            None,
            timeout_s=connection.timeout_s,
            records_max=HISTORY_RECORDS_MAX,
            read_s_max=HISTORY_S_MAX,
        )


def expiries(info: GroupInfo, found: GroupLag, history: CommitLog | None, retention: int | None) -> dict[Place, int]:
    """When each committed offset expires, as far as the commits' own records tell."""
    from tapelog.toolkit.lag.expiry import expires_ms

    if history is None or retention is None:
        return {}
    known: dict[Place, int] = {}
    for lag in found.partitions:
        place = (lag.topic, lag.partition)
        commits = history.of(info.group, place)
        if commits and commits[-1].offset == lag.committed:
            moment = expires_ms(
                commits[-1],
                kind=info.kind,
                simple=info.simple,
                empty=not info.members,
                stood_since_ms=history.stood_since_ms.get(info.group),
                retention_ms=retention,
            )
            if moment is not None:
                known[place] = moment
    return known


def head_document(info: GroupInfo) -> dict[str, Any]:
    """The group itself, for programs."""
    return {
        "group": info.group,
        "type": info.kind,
        "simple": info.simple,
        "state": info.state,
        "assignor": info.assignor,
        "coordinator": info.coordinator,
        "epoch": info.epoch,
        "assignment_epoch": info.assignment_epoch,
    }


def member_document(member: Member) -> dict[str, Any]:
    """One member, for programs."""
    return {
        "member_id": member.member_id,
        "client_id": member.client_id,
        "host": member.host,
        "instance_id": member.instance_id,
        "rack": member.rack,
        "epoch": member.epoch,
        "protocol": member.protocol,
        "subscribed": list(member.topics),
        "subscribed_regex": member.regex,
        "partitions": [list(place) for place in member.partitions],
        "target": None if member.target is None else [list(place) for place in member.target],
    }


def document(
    info: GroupInfo, found: GroupLag, expiry: dict[Place, int], history: CommitLog | None = None
) -> dict[str, Any]:
    """Everything, for programs."""
    partitions = []
    for entry in found.partitions:
        place = (entry.topic, entry.partition)
        owner = info.owners.get(place)
        commits = [] if history is None else history.of(info.group, place)
        partitions.append(
            {
                **partition_document(entry, marker=found.markers),
                "member": None if owner is None else owner.member_id,
                "committed_ms": commits[-1].at_ms if commits else None,
                "expires_ms": expiry.get(place),
            }
        )
    return {
        **head_document(info),
        "markers": found.markers,
        "lag_records": None if found.markers else found.records,
        "lag_seconds": None if found.markers else found.seconds,
        "expires_ms": min(expiry.values(), default=None),
        "members": [member_document(one) for one in info.members],
        "partitions": partitions,
        "missing": [list(place) for place in found.missing],
    }


def head_text(info: GroupInfo) -> str:
    """The group itself in a line."""
    count = len(info.members)
    parts = [
        f"{type_text(info.kind, info.simple)} group",
        info.state,
        f"{count} member{'' if count == 1 else 's'}",
    ]
    if info.assignor:
        parts.append(f"assignor {info.assignor}")
    if info.epoch is not None:
        parts.append(f"epoch {info.epoch}")
    return ", ".join(parts)


def view(info: GroupInfo, found: GroupLag, expiry: dict[Place, int]) -> list[Any]:
    """Everything, for a person."""
    time_lag = seconds_text(found.seconds)
    behind = f"{format_count(found.records)} records behind" + (f" ({time_lag})" if time_lag else "")
    told = "holds markers of Spark's exactly-once sink, nobody reads through it" if found.markers else behind
    shown: list[Any] = [Text.assemble((info.group, "bold"), f": {head_text(info)}, {told}")]
    if expiry:
        left = min(expiry.values()) - round(time.time() * 1000)
        when = f"in {format_duration(left)}" if left > 0 else "now"
        shown.append(
            Text(f"no members: offsets expire from {format_moment(min(expiry.values()))} ({when}), {RETENTION}")
        )
    if found.partitions:
        shown.append(_partitions_table(info, found))
    shown += [
        Text(f"committed for {topic}:{number}, which is not there any more", style="dim")
        for topic, number in found.missing
    ]
    return [*shown, *members_table(info, False)]


def _partitions_table(info: GroupInfo, found: GroupLag) -> Any:
    owners = info.owners
    told = any(entry.metadata for entry in found.partitions)
    rows = []
    for entry in found.partitions:
        owner = owners.get((entry.topic, entry.partition))
        *cells, note = partition_cells(entry, marker=found.markers)
        rows.append([*cells, owner and owner.member_id, *([entry.metadata] if told else []), note])
    *columns, note = PARTITION_COLUMNS
    return table([*columns, "member", *(["metadata"] if told else []), note], rows)


def members_table(info: GroupInfo, whole: bool) -> list[Any]:
    """Members; with all of their partitions, or only how many."""
    if not info.members:
        return []
    newer = info.epoch is not None
    columns = ["member", "client", "host", "instance", *(["epoch>"] if newer else [])]
    columns += ["partitions" if whole else "partitions>", *(["still to change"] if newer else [])]
    rows = [
        [
            one.member_id,
            one.client_id,
            one.host,
            one.instance_id,
            *([one.epoch] if newer else []),
            (span(one.partitions) or None) if whole else len(one.partitions),
            *([_change(one)] if newer else []),
        ]
        for one in info.members
    ]
    return [table(columns, rows)]


def _change(member: Member) -> str:
    """What lies between the current and the target assignment."""
    if member.settled or member.target is None:
        return ""
    gets, gives = set(member.target) - set(member.partitions), set(member.partitions) - set(member.target)
    return " ".join([f"gets {span(gets)}"] * bool(gets) + [f"gives {span(gives)}"] * bool(gives))
