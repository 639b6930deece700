"""`tape consume`: read records by offset, by time or as a group, until the end or for ever."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import OffsetSpec, TopicMetadata

from tapelog.cli import outage
from tapelog.cli.connect import Connection
from tapelog.cli.explain import is_unreachable
from tapelog.cli.interrupts import interrupt
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout, Topics
from tapelog.cli.output import EXIT_NOT_FOUND, EXIT_UNREACHABLE, EXIT_USAGE, CliError, console, print_json, remark
from tapelog.cli.records import Incoming, as_document, by_template, check_template, for_people
from tapelog.cli.units import parse_moment_ms

POLL_S = 0.2
STALLED_S = 10.0
"""Records that are there and do not come for so long: the user is told, as clients do not tell what they try again."""
BATCH_MAX = 500
DAMAGED = (KafkaError._BAD_MSG, KafkaError.INVALID_MSG)
"""What is said of a damaged batch, by the client and by a broker that found out before it."""
PASSING = (
    KafkaError._WAIT_COORD,
    KafkaError._ASSIGNMENT_LOST,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
)
"""Why a group that follows cannot commit now: it reads on when its coordinator is back, and it has partitions again."""

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Span:
    """What to read of one partition: from `start` up to, not including, `stop`; no stop means for ever."""

    start: int
    stop: int | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asked for."""

    offset: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    follow: bool = False


def first_offset(text: str, start: int, end: int) -> int:
    """Where `--offset` points to in a partition that holds [start, end): a number, -N for the last N, or a word."""
    if text == "earliest":
        return start
    if text == "latest":
        return end
    try:
        number = int(text)
    except ValueError:
        raise CliError(
            f"{text!r} is not an offset", "--offset 42, --offset -10 (the last ten), earliest or latest", EXIT_USAGE
        ) from None
    return number if number >= 0 else max(start, end + number)


def plan(connection: Connection, places: list[Place], wanted: Wanted) -> dict[Place, Span]:
    """Offsets to read per partition. Asks the cluster for bounds and times; reads nothing."""
    bounds = connection.bounds(places)
    since = _at_time(connection, places, wanted.since_ms)
    until = _at_time(connection, places, wanted.until_ms)
    default = "latest" if wanted.follow and wanted.since_ms is None else "earliest"
    spans: dict[Place, Span] = {}
    for place in places:
        start, end = bounds[place]
        begin = since[place] if wanted.since_ms is not None else first_offset(wanted.offset or default, start, end)
        if begin < 0:
            begin = end  # nothing is that young
        if wanted.offset is not None and not start <= begin <= end:
            raise CliError(
                f"{place[0]}[{place[1]}] holds offsets {start} to {end - 1}, not {begin}"
                if end > start
                else f"{place[0]}[{place[1]}] is empty and goes on at offset {end}, not {begin}",
                "--offset earliest, or name a partition with --partition",
                EXIT_NOT_FOUND,
            )
        stop: int | None = None if wanted.follow else end
        if wanted.until_ms is not None and until[place] >= 0:
            stop = until[place]
        spans[place] = Span(begin, stop)
    return spans


def _at_time(connection: Connection, places: list[Place], moment_ms: int | None) -> dict[Place, int]:
    if moment_ms is None:
        return {}
    asked = connection.offsets({place: OffsetSpec.for_timestamp(moment_ms) for place in places})
    return {place: offset for place, (offset, _) in asked.items()}


class Stalled:
    """Tells once, each time that nothing comes of what is there."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._told = False

    def look(self, came: bool, places: list[Place]) -> None:
        """Whether something came, and of which partitions there should be more."""
        if came:
            self._since, self._told = time.monotonic(), False
        elif places and not self._told and time.monotonic() - self._since >= STALLED_S:
            self._told = True
            names = ", ".join(f"{topic}[{number}]" for topic, number in places[:5])
            remark(
                f"nothing has come from {names} for {STALLED_S:.0f} s, though there is more; still waiting (Ctrl-C "
                "ends). `tape cluster describe`, `tape tier status` and the brokers' logs tell why"
            )


def read_spans(connection: Connection, spans: dict[Place, Span]) -> Iterator[Incoming]:
    """Records of these spans, in the order in which the cluster gives them; ends when every span has ended."""
    open_places = {place for place, span in spans.items() if span.stop is None or span.start < span.stop}
    if not open_places:
        return
    consumer = _consumer(connection, "tape-consume", auto_offset_reset="error")
    stalled = Stalled()
    try:
        consumer.assign([TopicPartition(*place, spans[place].start) for place in sorted(open_places)])
        while open_places:
            messages = consumer.consume(BATCH_MAX, POLL_S)
            stalled.look(bool(messages), sorted(place for place in open_places if spans[place].stop is not None))
            for message in messages:
                place = (message.topic() or "", message.partition() or 0)
                if _is_behind(message, place in open_places, spans.get(place)) or _is_end(connection, message):
                    if spans[place].stop is not None and (message.offset() or 0) >= (spans[place].stop or 0):
                        open_places.discard(place)
                    continue
                record, stop = incoming(message), spans[place].stop
                if place in open_places and (stop is None or record.offset < stop):
                    yield record
                if stop is not None and record.offset >= stop - 1:
                    open_places.discard(place)
            if not open_places:
                return
    finally:
        consumer.close()


def _consumer(connection: Connection, group: str, **properties: Any) -> Consumer:
    """One that tells its user when brokers do not answer."""
    return connection.consumer(
        group,
        enable_partition_eof=True,
        stats_cb=outage.Outage().statistics,
        statistics_interval_ms=outage.INTERVAL_MS,
        **properties,
    )


def read_group(connection: Connection, topics: list[str], group: str, follow: bool, reset: str) -> Iterator[Incoming]:
    """Records as a member of a group; what was handed out is committed before more is read, and at the end."""
    consumer = _consumer(connection, group, auto_offset_reset=reset, enable_auto_offset_store=False)
    at_end: set[Place] = set()
    waiting = False

    def assigned(member: Consumer, partitions: list[TopicPartition]) -> None:
        if not partitions and not follow:
            remark(f"group {group} gave this member no partition; waiting for one (Ctrl-C ends)")

    def revoked(member: Consumer, partitions: list[TopicPartition]) -> None:
        at_end.difference_update((part.topic, part.partition) for part in partitions)

    try:
        consumer.subscribe(topics, on_assign=assigned, on_revoke=revoked)
        while True:
            for message in consumer.consume(BATCH_MAX, POLL_S):
                place = (message.topic() or "", message.partition() or 0)
                if _is_end(connection, message):
                    at_end.add(place)
                    continue
                at_end.discard(place)
                consumer.store_offsets(message)  # before the yield: the caller may stop there, having shown it
                yield incoming(message)
            reason = _commit(connection, consumer, group, patient=follow)
            if reason and not waiting:
                remark(f"group {group} cannot commit what was shown last ({reason}): it may be shown again; waiting")
            waiting = bool(reason)
            owned = {(part.topic, part.partition) for part in consumer.assignment()}
            if not follow and owned and owned <= at_end:
                return
    finally:
        try:
            _commit(connection, consumer, group)
        finally:
            consumer.close()


def _commit(connection: Connection, consumer: Consumer, group: str, *, patient: bool = False) -> str:
    """Commit what was handed out. A patient one gives the reason why that must wait: the coordinator is away, or has
    given the partitions to others meanwhile."""
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        cause = error.args[0]
        if cause.code() == KafkaError._NO_OFFSET:
            return ""
        if not patient or not (cause.code() in PASSING or is_unreachable(cause)):
            raise connection.explained(error, group=group) from None
        return str(cause.name())
    return ""


def _is_behind(message: Message, is_open: bool, span: Span | None) -> bool:
    """Whether this tells of damage behind what is wanted: the client reads on while others are not at their end."""
    error = message.error()
    if error is None or error.code() not in DAMAGED or span is None or span.stop is None:
        return False
    return not is_open or (message.offset() or 0) >= span.stop


def _is_end(connection: Connection, message: Message) -> bool:
    error = message.error()
    if error is None:
        return False
    if error.code() == KafkaError._PARTITION_EOF:
        return True
    if error.code() in DAMAGED:
        unchecked = ", and -X check.crcs=false shows it as it is" if error.code() == KafkaError._BAD_MSG else ""
        raise CliError(
            f"{message.topic()}[{message.partition()}] is damaged: {error.str()}",
            "on the brokers' machines `tape scrub DIR/node-N` names what is damaged there; `--offset N` reads on "
            f"behind it{unchecked}",
        )
    raise connection.explained(error, topic=message.topic() or "")


def incoming(message: Message) -> Incoming:
    """The value of a client's message."""
    headers: Any = message.headers() or ()
    return Incoming(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.timestamp()[1] if message.timestamp()[0] else -1,
        message.key(),
        message.value(),
        tuple((name, value.encode() if isinstance(value, str) else value) for name, value in headers),
    )


Offset = Annotated[
    str | None,
    typer.Option("--offset", "-o", metavar="N|-N|earliest|latest", help="Begin here; -10: the last ten."),
]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Begin at this time: 10m (ago), 2026-05-01T12:30Z.")
]
Follow = Annotated[
    bool,
    typer.Option(
        "--follow/--until-end",
        "-f",
        help="Wait for new records (from now on, unless --offset or --since says otherwise), or stop at the end.",
    ),
]
Template = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="TEMPLATE", help="e.g. '{partition}:{offset} {timestamp} {key} {headers} {value}'."
    ),
]
ValuesOnly = Annotated[bool, typer.Option("--values", help="Only the values, byte for byte, one per line.")]
MemberOf = Annotated[
    str | None, typer.Option("--group", "-g", help="Read as a member of this group and commit what was shown.")
]


def consume(
    topics: Topics,
    offset: Offset = None,
    since: Since = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Stop before this time.")] = None,
    partition: Annotated[list[int] | None, typer.Option("--partition", "-p", help="Only this one. Repeatable.")] = None,
    group: MemberOf = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after so many records.")] = None,
    follow: Follow = False,
    template: Template = None,
    values_only: ValuesOnly = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Read records: everything there is now, or with --follow also what comes.

    Example: tape consume orders --since 10m --follow

    Example: tape consume orders --offset -5 --json | jq .value

    Example: tape consume orders --group billing -n 100
    """
    now_ms = round(time.time() * 1000)
    try:
        since_ms = parse_moment_ms(since, now_ms) if since else None
        until_ms = parse_moment_ms(until, now_ms) if until else None
        check_template(template or "")
    except ValueError as error:
        raise CliError(str(error), "", EXIT_USAGE) from None
    if offset is not None and since is not None:
        raise CliError("--offset and --since contradict each other", "give one of them", EXIT_USAGE)
    if group is not None and (since or until or partition or offset not in (None, "earliest", "latest")):
        raise CliError(
            "a group reads on from where it stands",
            f"move it first: `tape group reset {group} --topic {topics[0]} --to-time …`",
            EXIT_USAGE,
        )
    connection = Connection(bootstrap, properties, timeout)
    places = _places(connection, topics, partition)
    if group is not None:
        records = read_group(connection, topics, group, follow, offset or "earliest")
    else:
        all_led(places, connection.metadata().topics)
        records = read_spans(connection, plan(connection, places, Wanted(offset, since_ms, until_ms, follow)))
    _show(records, count, json=json, template=template, values_only=values_only, flush=follow)


def _places(connection: Connection, topics: list[str], partitions: list[int] | None) -> list[Place]:
    places: list[Place] = []
    for name in topics:
        present = sorted(connection.topic(name).partitions)
        for number in partitions or ():
            if number not in present:
                raise CliError(
                    f"{name} has no partition {number}", f"it has 0 to {max(present, default=0)}", EXIT_NOT_FOUND
                )
        places += [(name, number) for number in partitions or present]
    return places


def all_led(places: list[Place], topics: dict[str, TopicMetadata]) -> None:
    """Raise CliError when one of these partitions has no leader: what could be read would not be everything."""
    waiting = [place for place in places if topics[place[0]].partitions[place[1]].leader < 0]
    if waiting:
        led = len(places) - len(waiting)
        raise CliError(
            f"no leader for {', '.join(f'{topic}[{number}]' for topic, number in waiting)}: "
            "its records cannot be read before one of its replicas is back",
            "`tape cluster describe` names the brokers that are missing"
            + ("; --partition N reads the other partitions" if led else ""),
            EXIT_UNREACHABLE,
        )


def _show(
    records: Iterator[Incoming], count: int | None, *, json: bool, template: str | None, values_only: bool, flush: bool
) -> None:
    before = signal.signal(signal.SIGTERM, interrupt)
    shown = 0
    try:
        for record in records:
            _print(record, json=json, template=template, values_only=values_only)
            if flush:
                sys.stdout.flush()
            shown += 1
            if shown == count:
                break
    except KeyboardInterrupt:
        pass
    finally:
        close = getattr(records, "close", None)
        if close is not None:
            close()
        sys.stdout.flush()
        signal.signal(signal.SIGTERM, before)
    if shown == 0 and not json:
        remark("no records")


def _print(record: Incoming, *, json: bool, template: str | None, values_only: bool) -> None:
    if json:
        print_json(as_document(record), one_line=True)
    elif values_only:
        sys.stdout.flush()
        sys.stdout.buffer.write((record.value or b"") + b"\n")
    elif template is not None:
        sys.stdout.write(by_template(record, template) + "\n")
    else:
        lines: Iterable[Any] = for_people(record)
        for line in lines:
            console().print(line, soft_wrap=True)
