"""`tape group reset` and `tape group export`: move a group's offsets, or write them to a file for later."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import OffsetSpec

from tapelog.cli.commit_notes import with_notes
from tapelog.cli.connect import Connection, near_name
from tapelog.cli.group_info import describe_group
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Group, Json, Properties, Timeout
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, CliError, emit, print_json, remark, table
from tapelog.cli.reset import Move, Place, Target, parse_offsets, parse_selection, plan_moves, render_offsets
from tapelog.cli.units import parse_duration_ms, parse_moment_ms

if TYPE_CHECKING:
    from tapelog.toolkit.lag.values import Committed

FILE_BYTES_MAX = 64 * 1024 * 1024

Selection = Annotated[
    list[str] | None,
    typer.Option("--topic", "-t", metavar="TOPIC[:P,P]", help="Only this topic (and partitions). Repeatable."),
]


def committed(connection: Connection, group: str) -> dict[Place, Committed]:
    """What a group has committed, by partition."""
    from tapelog.toolkit.lag import LagReader

    with (
        connection.explaining(group=group),
        LagReader(connection.config, admin=connection.admin, timeout_s=connection.timeout_s) as reader,
    ):
        return with_notes(connection, reader.committed([group]))[group]


def reset(
    group: Group,
    topic: Selection = None,
    to_earliest: Annotated[bool, typer.Option("--to-earliest", help="To the oldest record.")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest", help="To the end: skip everything.")] = False,
    to_current: Annotated[
        bool, typer.Option("--to-current", help="To where it is: commits again, so that nothing expires.")
    ] = False,
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
    from_file: Annotated[
        Path | None,
        typer.Option("--from-file", metavar="FILE", help="To the offsets in a file of `tape group export` (or `-`)."),
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
    told = None if from_file is None else read_offsets(from_file, group)
    target = _target(to_earliest, to_latest, to_current, to_offset, to_time, by_duration, shift, told)
    connection = Connection(bootstrap, properties, timeout)
    moves = _plan(connection, group, topic or [], target)
    live = count_members(connection, group)
    if execute:
        refuse_if_live(group, live)
        _move(connection, group, moves)
    document = {
        "group": group,
        "executed": execute,
        "live_members": live,
        "partitions": [
            {"topic": m.topic, "partition": m.partition, "from": m.current, "to": m.new, "clamped": m.clamped}
            for m in moves
        ],
    }
    emit(json, document, lambda: [_moves_table(moves)])
    if not json:
        remark(f"group {group} moved" if execute else _what_now(connection, group, live))


def _plan(connection: Connection, group: str, wanted: list[str], target: Target) -> list[Move]:
    found = committed(connection, group)
    places = _places(connection, group, wanted, list(found), target)
    at_time: dict[Place, int] = {}
    if target.time_ms is not None:
        asked = connection.offsets({place: OffsetSpec.for_timestamp(target.time_ms) for place in places})
        at_time = {place: offset for place, (offset, _) in asked.items()}
    current = {place: entry.offset for place, entry in found.items()}
    return plan_moves(places, target, current=current, bounds=connection.bounds(places), at_time=at_time)


def count_members(connection: Connection, group: str) -> int:
    """Live members; a group that is not there has none."""
    try:
        return len(describe_group(connection, group).members)
    except CliError as error:
        if error.exit_code == EXIT_NOT_FOUND:
            return 0  # a new group: the commit makes it
        raise


def _what_now(connection: Connection, group: str, live: int) -> str:
    if live:
        return f"nothing was changed, nor can be: {live_members(group, live)}; stop them first"
    known = connection.group_names()
    if group not in known:
        return f"nothing was changed: there is no group `{group}`; {near_name(group, known)}--execute makes it"
    return "nothing was changed: add --execute to do it"


def live_members(group: str, live: int) -> str:
    """`group g has 2 live members`."""
    return f"group {group} has {live} live member{'' if live == 1 else 's'}"


def refuse_if_live(group: str, live: int) -> None:
    """Raise if somebody would undo it with the next commit."""
    if live:
        raise CliError(
            f"{live_members(group, live)}: their commits would undo this",
            f"stop them first; `tape group members {group}` names them",
            EXIT_FAILED,
        )


def _target(
    earliest: bool,
    latest: bool,
    current: bool,
    offset: int | None,
    moment: str | None,
    duration: str | None,
    shift: int | None,
    told: Mapping[Place, int] | None,
) -> Target:
    now_ms = round(time.time() * 1000)
    try:
        time_ms = parse_moment_ms(moment, now_ms) if moment is not None else None
        back_ms = now_ms - parse_duration_ms(duration) if duration is not None else None
    except ValueError as error:
        raise CliError(str(error), "", EXIT_USAGE) from None
    target = Target(earliest, latest, offset, time_ms if time_ms is not None else back_ms, shift, current, told)
    if target.given() + (moment is not None and duration is not None) != 1:
        raise CliError(
            "say where to: exactly one of the targets",
            "--to-earliest, --to-latest, --to-current, --to-offset N, --to-time TIME, --by-duration DURATION, "
            "--shift N or --from-file FILE",
            EXIT_USAGE,
        )
    return target


def read_offsets(path: Path, group: str) -> dict[Place, int]:
    """The offsets in a file; CliError if it is not there or makes no sense."""
    try:
        if str(path) == "-":
            text = sys.stdin.read(FILE_BYTES_MAX)
        else:
            with path.open(encoding="utf-8") as lines:
                text = lines.read(FILE_BYTES_MAX)
        return parse_offsets(text, group)
    except OSError as error:
        raise CliError(f"{path}: {error.strerror}", "", EXIT_NOT_FOUND) from None
    except ValueError as error:
        raise CliError(
            f"{path}: {error}", f"`tape group export {group}` shows how it should look", EXIT_USAGE
        ) from None


def _places(
    connection: Connection, group: str, wanted: list[str], committed: list[Place], target: Target
) -> list[Place]:
    if target.offsets is None:
        places = chosen(connection, wanted, committed)
    else:
        places = sorted(target.offsets)
        for name in sorted({name for name, _ in places}):  # what a file names must be there
            chosen(connection, [f"{name}:{','.join(str(number) for topic, number in places if topic == name)}"], [])
        if wanted:
            allowed = set(chosen(connection, wanted, committed))
            places = [place for place in places if place in allowed]
    if not places:
        raise CliError(
            f"group {group} has no committed offsets" if target.offsets is None else "the file names none of these",
            f"name a topic: `tape group reset {group} --topic TOPIC …`",
            EXIT_NOT_FOUND,
        )
    return places


def chosen(connection: Connection, wanted: list[str], committed: list[Place]) -> list[Place]:
    """The partitions that --topic options name; all that are committed if there are none."""
    if not wanted:
        return committed
    places: list[Place] = []
    for text in wanted:
        try:
            name, numbers = parse_selection(text)
        except ValueError as error:
            raise CliError(str(error), "--topic orders:0,1", EXIT_USAGE) from None
        present = sorted(connection.topic(name).partitions)
        for number in numbers:
            if number not in present:
                raise CliError(f"{name} has no partition {number}", f"it has 0 to {max(present)}", EXIT_NOT_FOUND)
        places += [(name, number) for number in numbers or present]
    return sorted(set(places))


def _move(connection: Connection, group: str, moves: list[Move]) -> None:
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


def export(
    group: Group,
    topic: Selection = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-o", metavar="FILE", help="Write here, not to stdout.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Write what a group has committed as CSV (topic,partition,offset); `tape group reset --from-file` takes it back.

    The same file goes to and from Kafka's own `kafka-consumer-groups --from-file`. With --json, metadata is there too.

    Example: tape group export billing --file billing.csv
    """
    connection = Connection(bootstrap, properties, timeout)
    found = committed(connection, group)
    places = [place for place in chosen(connection, topic or [], list(found)) if place in found]
    if not places:
        raise CliError(f"group {group} has no committed offsets", "`tape group list` shows all groups", EXIT_NOT_FOUND)
    kept = {place: found[place] for place in places}
    text = render_offsets(group, kept, as_json=json)
    if file is None:
        sys.stdout.write(text)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{file}: {error.strerror}", "", EXIT_FAILED) from None
    if json:
        print_json({"file": str(file), "partitions": len(kept)})
    else:
        remark(f"{len(kept)} offsets of {group} written to {file}")
