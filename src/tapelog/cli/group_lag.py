"""`tape group lag`: how far groups are behind, in records and seconds, once or again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group as Rows
from rich.console import RenderableType
from rich.text import Text

from tapelog.cli.commit_notes import with_notes
from tapelog.cli.connect import Connection, missing_group
from tapelog.cli.group_info import left_out_text, list_all, marker_groups
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Markers, MaybeGroups, Properties, Timeout
from tapelog.cli.output import EXIT_USAGE, CliError, console, emit, print_json, remark, table
from tapelog.cli.reset import Place
from tapelog.cli.units import format_count, format_duration, parse_duration_ms

if TYPE_CHECKING:
    from tapelog.toolkit.lag import LagReader
    from tapelog.toolkit.lag.values import GroupLag, Isolation, PartitionLag

EVERY_MS_MIN = 100
A_MARKER = "a marker of Spark's sink"
UNCOMMITTED = Annotated[
    bool, typer.Option("--uncommitted", help="The group reads open and aborted transactions too (read_uncommitted).")
]


def isolation_of(uncommitted: bool) -> Isolation:
    """How the group reads."""
    return "read_uncommitted" if uncommitted else "read_committed"


def lag(
    groups: MaybeGroups = None,
    partitions: Annotated[
        bool, typer.Option("--partitions", "-p", help="A row per partition; so it is anyway when groups are named.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again until Ctrl-C.")] = False,
    every: Annotated[str, typer.Option("--every", metavar="DURATION", help="How often to look.")] = "2s",
    times: Annotated[int | None, typer.Option("-n", metavar="N", min=1, help="Stop after N looks.")] = None,
    uncommitted: UNCOMMITTED = False,
    markers: Markers = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show how far groups are behind: in records, and in time.

    Lag in time is the age of the oldest record that the group has not consumed, read from the log. Unless groups are
    named, those in which Spark's sink keeps its markers are left out, and it is said how many they are.

    Example: tape group lag billing --watch
    """
    from tapelog.toolkit.lag import LagReader

    every_s = every_seconds(every)
    connection = Connection(bootstrap, properties, timeout)
    isolation, said = isolation_of(uncommitted), list[str]()
    with LagReader(connection.config, isolation=isolation, admin=connection.admin, timeout_s=timeout) as reader:

        def look() -> tuple[Any, RenderableType]:
            listed = list_all(connection)
            kinds = {one.group: one.kind for one in listed}
            left_out = frozenset[str]() if groups or markers else marker_groups(connection, listed)
            wanted = groups or [group for group in kinds if group not in left_out]
            found = measured(connection, reader, {group: kinds.get(group, "classic") for group in wanted})
            for one in found.values():
                if not watch and one.group not in kinds and not one.partitions and not one.missing:
                    raise missing_group(one.group, kinds)
            documents = [document(one) for one in found.values()]
            if json and left_out and not said:
                said.append(left_out_text(len(left_out)))
                remark(said[0])
            return documents, shown(list(found.values()), partitions or bool(groups), len(left_out))

        if watch or times:
            repeat(look, every_s, times, as_json=json)
        else:
            result, view = look()
            emit(json, result, lambda: [view])


def measured(
    connection: Connection,
    reader: LagReader,
    kinds: Mapping[str, str],
    more: Mapping[str, tuple[Place, ...]] | None = None,
) -> dict[str, GroupLag]:
    """The lag of groups whose kinds are known, in the order given."""
    shared = [group for group, kind in kinds.items() if kind == "share"]
    with connection.explaining(group=", ".join(kinds)):
        offsets = with_notes(connection, reader.committed(group for group in kinds if group not in shared))
        if shared:
            from tapelog.cli.share_groups import share_offsets

            offsets |= share_offsets(connection, shared)
        found = reader.lag_of(offsets, more)
    return {group: found[group] for group in kinds}


def every_seconds(text: str) -> float:
    """The pause between looks."""
    try:
        return max(EVERY_MS_MIN, parse_duration_ms(text)) / 1000
    except ValueError as error:
        raise CliError(str(error), "--every 2s", EXIT_USAGE) from None


def repeat(look: Callable[[], tuple[Any, RenderableType]], every_s: float, times: int | None, *, as_json: bool) -> None:
    """Show again and again: in place on a terminal, one after the other elsewhere, one line each as JSON."""
    from rich.live import Live

    live = None if as_json or not console().is_terminal else Live(console=console(), auto_refresh=False)
    if live is not None:
        live.start()
    try:
        done = 0
        while times is None or done < times:
            begun = time.monotonic()
            result, view = look()
            if as_json:
                print_json(result, one_line=True)
            elif live is not None:
                live.update(view, refresh=True)
            else:
                console().print(view)
            done += 1
            if times is None or done < times:
                time.sleep(max(0.0, every_s - (time.monotonic() - begun)))
    finally:
        if live is not None:
            live.stop()


def seconds_text(seconds: float | None) -> str | None:
    """For a table."""
    return None if seconds is None else format_duration(seconds * 1000)


def partition_document(entry: PartitionLag, *, marker: bool = False) -> dict[str, Any]:
    """One partition, for programs. A marker of Spark's sink has no lag: nobody reads on from there."""
    oldest = entry.oldest if entry.records and not marker else None
    return {
        "topic": entry.topic,
        "partition": entry.partition,
        "committed": entry.committed,
        "metadata": entry.metadata or None,
        "start": entry.start,
        "end": entry.end,
        "lag_records": None if marker else entry.records,
        "lag_seconds": None if marker else entry.seconds,
        "oldest_unread": None if oldest is None else {"offset": oldest.offset, "timestamp_ms": oldest.timestamp_ms},
        "held_by_transactions": entry.held,
        "note": A_MARKER if marker else entry.why or None,
    }


def document(found: GroupLag) -> dict[str, Any]:
    """A group, for programs."""
    return {
        "group": found.group,
        "markers": found.markers,
        "lag_records": None if found.markers else found.records,
        "lag_seconds": None if found.markers else found.seconds,
        "partitions": [partition_document(entry, marker=found.markers) for entry in found.partitions],
        "missing": [list(place) for place in found.missing],
    }


def shown(found: list[GroupLag], by_partition: bool, left_out: int = 0) -> RenderableType:
    """For a person."""
    last = [Text(left_out_text(left_out), style="dim")] if left_out else []
    if not found:
        return Rows(Text("no groups", style="dim"), *last)
    if not by_partition:
        rows = [
            [one.group, *lag_cells(one), len(one.partitions)]
            for one in sorted(found, key=lambda one: (one.markers, -(one.seconds or 0)))
        ]
        return Rows(table(["group", "lag>", "lag in time>", "partitions>"], rows), *last)
    parts: list[RenderableType] = []
    rows = [[one.group, *partition_cells(entry, marker=one.markers)] for one in found for entry in one.partitions]
    if rows:
        parts.append(table(["group", *PARTITION_COLUMNS], rows))
    parts += [
        Text(f"{one.group} has committed for {topic}:{number}, which is not there any more", style="dim")
        for one in found
        for topic, number in one.missing
    ]
    parts += [
        Text(f"{one.group} has committed nothing", style="dim")
        for one in found
        if not one.partitions and not one.missing
    ]
    return Rows(*parts, *last)


def lag_cells(found: GroupLag) -> list[str | None]:
    """A group's lag in records and in time; none where it holds markers of Spark's sink."""
    return [None, None] if found.markers else [format_count(found.records), seconds_text(found.seconds)]


PARTITION_COLUMNS = ["topic", "partition>", "committed>", "end>", "lag>", "lag in time>", "note"]


def partition_cells(entry: PartitionLag, *, marker: bool = False) -> list[Any]:
    """The cells under PARTITION_COLUMNS."""
    records = None if marker else entry.records
    return [
        entry.topic,
        entry.partition,
        entry.committed,
        entry.end,
        None if records is None else format_count(records),
        None if marker else seconds_text(entry.seconds),
        A_MARKER if marker else entry.why,
    ]
