"""`tape produce`: records from arguments, lines or JSON lines into a topic."""

from __future__ import annotations

import base64
import json as json_module
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from confluent_kafka import KafkaError, KafkaException, Message
from rich.text import Text

from tapelog.cli.connect import Connection, missing_topic, near_name
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout, Topic
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, CliError, emit, remark
from tapelog.cli.units import parse_moment_ms, parse_pair

QUEUE_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One record on its way out."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = -1
    timestamp_ms: int = 0


@dataclass(slots=True)
class Delivered:
    """What has been acknowledged so far: count, and per partition the first and last offset."""

    count: int = 0
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    failures: int = 0
    first_error: KafkaError | None = None

    def note(self, error: KafkaError | None, message: Message) -> None:
        """Delivery report of one record."""
        if error is not None:
            self.failures += 1
            self.first_error = self.first_error or error
            return
        self.count += 1
        partition, offset = message.partition() or 0, message.offset()
        if offset is None or offset < 0:
            return  # acks=0: nobody knows
        first, last = self.spans.get(partition, (offset, offset))
        self.spans[partition] = (min(first, offset), max(last, offset))


class Compression(StrEnum):
    """Codecs a producer may use."""

    none = "none"
    gzip = "gzip"
    snappy = "snappy"
    lz4 = "lz4"
    zstd = "zstd"


class Acks(StrEnum):
    """What an acknowledgement must mean."""

    none = "0"
    leader = "1"
    all = "all"


def from_json(text: str, defaults: Outgoing) -> Outgoing:
    """A record from a JSON object with value, key, headers, timestamp_ms: what `tape consume --json` prints."""
    try:
        entry = json_module.loads(text)
    except ValueError as error:
        raise CliError(f"not a JSON object: {text[:80]!r} ({error})", "one object per line", EXIT_USAGE) from None
    if not isinstance(entry, dict) or "value" not in entry:
        raise CliError(
            f"a record needs a `value`: {text[:80]!r}",
            '{"key": "k", "value": {"any": "json"}}, one per line',
            EXIT_USAGE,
        )
    headers = entry.get("headers")
    pairs = headers.items() if isinstance(headers, dict) else [(name, value) for name, value in headers or []]
    return Outgoing(
        value=_encoded(entry["value"]),
        key=_encoded(entry["key"]) if "key" in entry else defaults.key,
        headers=tuple((name, _encoded(value)) for name, value in pairs) or defaults.headers,
        partition=defaults.partition,
        timestamp_ms=int(entry.get("timestamp_ms", defaults.timestamp_ms)),
    )


def _encoded(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"])
    return json_module.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def from_line(text: str, defaults: Outgoing, key_separator: str | None) -> Outgoing:
    """A record from a line of text; with a separator, what stands before it is the key."""
    key, value = defaults.key, text
    if key_separator:
        before, found, after = text.partition(key_separator)
        if found:
            key, value = before.encode(), after
    return Outgoing(value.encode(), key, defaults.headers, defaults.partition, defaults.timestamp_ms)


def _lines(file: Path | None) -> Iterator[str]:
    if file is not None:
        try:
            with file.open(encoding="utf-8", newline="\n") as opened:
                yield from (line.removesuffix("\n") for line in opened)
        except FileNotFoundError:
            raise CliError(f"there is no file {file}", "", EXIT_NOT_FOUND) from None
        return
    if sys.stdin.isatty():
        remark("type records, one per line; Ctrl-D ends")
    for line in sys.stdin:
        yield line.removesuffix("\n")


def send(connection: Connection, topic: str, records: Iterable[Outgoing], properties: dict[str, Any]) -> Delivered:
    """Produce everything and wait for the acknowledgements."""
    producer = connection.producer(**properties)
    delivered = Delivered()
    for record in records:
        while True:
            try:
                producer.produce(
                    topic,
                    record.value,
                    record.key,
                    partition=record.partition,
                    timestamp=record.timestamp_ms,
                    headers=list(record.headers),
                    on_delivery=delivered.note,
                )
                break
            except BufferError:
                producer.poll(QUEUE_WAIT_S)
            except KafkaException as error:
                raise connection.explained(error, topic=topic) from None
        producer.poll(0)
    producer.flush()
    return delivered


Values = Annotated[list[str] | None, typer.Argument(metavar="[VALUE…]", help="Values; without any, stdin is read.")]
KeySeparator = Annotated[
    str | None, typer.Option("--key-separator", "-K", metavar="TEXT", help="Lines are KEY TEXT VALUE.")
]
Headers = Annotated[list[str] | None, typer.Option("--header", "-H", metavar="NAME=VALUE", help="Repeatable.")]
Partition = Annotated[int, typer.Option("--partition", "-p", help="A fixed partition; else by key, or in turn.")]
Timestamp = Annotated[
    str | None,
    typer.Option("--timestamp", metavar="TIME", help="e.g. 2026-05-01T12:30Z, 10m (ago), @1767225600000."),
]
FromJson = Annotated[
    bool,
    typer.Option("--from-json", help="Each line is {key, value, headers, timestamp_ms}: what consume --json prints."),
]


def produce(
    topic: Topic,
    values: Values = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="The key of every record.")] = None,
    key_separator: KeySeparator = None,
    header: Headers = None,
    partition: Partition = -1,
    timestamp: Timestamp = None,
    file: Annotated[Path | None, typer.Option("--file", "-F", help="Read lines from here instead of stdin.")] = None,
    from_json_lines: FromJson = False,
    tombstone: Annotated[bool, typer.Option("--tombstone", help="One record without a value: deletes --key.")] = False,
    acks: Annotated[Acks, typer.Option("--acks", help="Who must have it before it counts.")] = Acks.all,
    compression: Annotated[Compression, typer.Option("--compression", "-z", help="Codec.")] = Compression.none,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Produce records: from the arguments, from lines on stdin, or from a file.

    Example: tape produce orders '{"id": 1, "amount": 12.5}' --key customer-7

    Example: tape consume orders --json | tape produce orders-copy --from-json
    """
    try:
        moment = parse_moment_ms(timestamp, round(time.time() * 1000)) if timestamp else 0
        headers = tuple((name, value.encode()) for name, value in map(parse_pair, header or ()))
    except ValueError as error:
        raise CliError(str(error), "", EXIT_USAGE) from None
    if tombstone and (key is None or values):
        raise CliError("a tombstone has a key and no value", f"tape produce {topic} --key K --tombstone", EXIT_USAGE)
    defaults = Outgoing(None, key.encode() if key is not None else None, headers, partition, moment)
    connection = Connection(bootstrap, properties, timeout)
    records: Iterable[Outgoing] = [defaults]
    if not tombstone:
        texts = values or _lines(file)
        if from_json_lines:
            records = (from_json(text, defaults) for text in texts if text.strip())
        else:
            records = (from_line(text, defaults, key_separator) for text in texts)
    options: dict[str, Any] = {
        "acks": acks.value,
        "compression_type": compression.value,
        "message_timeout_ms": max(1, int(timeout * 1000)),
        "linger_ms": 0 if values else 5,
    }
    known = connection.metadata().topics
    delivered = send(connection, topic, records, options)
    document = {
        "topic": topic,
        "records": delivered.count,
        "failed": delivered.failures,
        "partitions": [
            {"partition": number, "first_offset": first, "last_offset": last}
            for number, (first, last) in sorted(delivered.spans.items())
        ],
    }
    emit(json, document, lambda: [Text(line) for line in _told(document)])
    _conclude(connection, topic, known, delivered)


def _conclude(connection: Connection, topic: str, known: Collection[str], delivered: Delivered) -> None:
    """Raise what went wrong; name a topic that was made by using it, for it may be a mistyped one."""
    if delivered.first_error is not None:
        raise _why(connection, delivered.first_error, topic)
    if topic not in known and delivered.count:
        remark(f"topic `{topic}` was not there, and was made: {near_name(topic, known)}`tape topic describe {topic}`")


def _why(connection: Connection, error: KafkaError, topic: str) -> CliError:
    """A record that timed out although the cluster answers: its topic is not there (and is not created by use), or it
    is refused with errors that clients retry, which a full disk is one of."""
    if error.code() == KafkaError._MSG_TIMED_OUT:
        known = connection.metadata().topics
        if topic not in known:
            return missing_topic(topic, known)
        return CliError(
            f"the cluster answers, but did not accept this within {connection.timeout_s:g} s",
            f"`tape broker disks` shows whether a disk is full, `tape topic describe {topic}` whether its replicas are "
            "in sync, `tape cluster describe --check` whether brokers or the quorum are missing; a slow one may need a "
            "longer --timeout",
            EXIT_FAILED,
        )
    return connection.explained(error, topic=topic)


def _told(document: dict[str, Any]) -> list[str]:
    count = document["records"]
    where = ", ".join(
        f"partition {part['partition']} at {part['first_offset']}"
        + (f"–{part['last_offset']}" if part["last_offset"] != part["first_offset"] else "")
        for part in document["partitions"]
    )
    lines = [f"{count:,} record{'' if count == 1 else 's'} to {document['topic']}" + (f": {where}" if where else "")]
    if document["failed"]:
        lines.append(f"{document['failed']:,} not accepted")
    return lines
