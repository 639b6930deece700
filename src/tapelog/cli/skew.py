"""`tape topic skew`: which partitions are hot, which keys make them so, and what helps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer
from confluent_kafka import TopicPartition
from rich.console import RenderableType
from rich.text import Text

from tapelog.cli.connect import Connection, missing_topic
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout, Topic
from tapelog.cli.output import EXIT_USAGE, CliError, emit, remark, table
from tapelog.cli.rebalance import parse_window
from tapelog.cli.sketch import SpaceSaving
from tapelog.cli.units import format_size

if TYPE_CHECKING:
    from tapelog.cli.rates import Rate

SKETCH_KEYS = 2000
"""Keys counted at a time: one with more than 1/2000 of the records is never missed."""
UNEVEN = 1.5
"""The busiest partition over the mean: from here on it is worth a word."""
HEAVY_SHARE = 0.1
SHOWN_SHARE = 0.005
"""Keys with less are no heavier than chance makes them."""
BAR = 20
READ_S_MAX = 30.0


def skew(
    topic: Topic,
    window: Annotated[str, typer.Option("--window", metavar="DURATION", help="How long to look at rates.")] = "5s",
    sample: Annotated[
        int, typer.Option("--sample", min=0, help="How many of the newest records to read for keys.")
    ] = 20_000,
    top: Annotated[int, typer.Option("--top", min=1, help="How many keys to show.")] = 10,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show how evenly a topic is written: rates per partition, its heaviest keys, and what to do about them.

    Example: tape topic skew orders --window 10s --sample 100000
    """
    from tapelog.cli import cluster_asks, rates
    from tapelog.cli.raw import Wire

    window_s = parse_window(window)
    if window_s > 600:
        raise CliError("that is long to wait for", "--window 10s", EXIT_USAGE)
    connection = Connection(bootstrap, properties, timeout)
    with Wire(connection) as wire:
        state = cluster_asks.cluster_state(wire, sizes=False, quorum=False)
        names = list(dict.fromkeys(one.topic for one in state.partitions))
        if topic not in names:
            raise missing_topic(topic, names)
        measured = rates.measure(wire, state, window_s, [topic])
    found = read_keys(connection, [(topic, one.index) for one in measured], sample)
    document = described(topic, measured, found, top)
    emit(json, document, lambda: _drawn(document))


@dataclass(slots=True)
class Sample:
    """Keys of records that were read: the heaviest with their partitions, and how many records each partition gave."""

    keys: SpaceSaving[tuple[bytes | None, int]] = field(default_factory=lambda: SpaceSaving(SKETCH_KEYS))
    partitions: dict[int, int] = field(default_factory=dict)

    def add(self, key: bytes | None, partition: int) -> None:
        """Count a record."""
        self.keys.add((key, partition))
        self.partitions[partition] = self.partitions.get(partition, 0) + 1


def read_keys(connection: Connection, places: Sequence[tuple[str, int]], sample: int) -> Sample:
    """The keys of the newest records, from each partition in proportion to what it holds."""
    found = Sample()
    if sample <= 0 or not places:
        return found
    bounds = connection.bounds(places)
    held = sum(end - start for start, end in bounds.values())
    share = min(1.0, sample / held) if held else 0.0
    begin = {place: end - round((end - start) * share) for place, (start, end) in bounds.items()}
    left = {place[1]: bounds[place][1] for place in places if begin[place] < bounds[place][1]}
    if not left:
        return found
    consumer = connection.consumer("tape-skew", enable_partition_eof=True, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(name, index, begin[name, index]) for name, index in places if index in left])
    deadline = time.monotonic() + READ_S_MAX
    try:
        while left and time.monotonic() < deadline:
            for message in consumer.consume(5000, 0.5):
                index = message.partition()
                assert index is not None
                if message.error() is None and index in left:
                    found.add(message.key(), index)
                if message.error() is not None or (message.offset() or 0) >= left.get(index, 0) - 1:
                    left.pop(index, None)
    finally:
        consumer.close()
    if left:
        remark(f"not all of the sample was read within {READ_S_MAX:g} s")
    return found


def described(topic: str, measured: Sequence[Rate], sample: Sample, top: int) -> dict[str, Any]:
    """Everything for programs; the view is made of it."""
    from tapelog.cli.rates import skew as factor

    total = sum(one.records_per_s for one in measured)
    read = sample.keys.total
    shares = [
        one.records_per_s / total if total else sample.partitions.get(one.index, 0) / max(1, read) for one in measured
    ]
    keys = [
        {
            "key": _key_text(heavy.key[0]),
            "partition": heavy.key[1],
            "records": heavy.weight,
            "share": heavy.weight / read,
            "at_most_too_high": heavy.error,
        }
        for heavy in sample.keys.heaviest(top)
        if heavy.weight - heavy.error >= SHOWN_SHARE * read
    ]
    return {
        "topic": topic,
        "records_per_s": total,
        "skew": factor(shares),
        "partitions": [
            {
                "partition": one.index,
                "leader": one.leader,
                "records_per_s": one.records_per_s,
                "bytes_per_s": one.bytes_per_s,
                "bytes": one.bytes,
                "share": share,
            }
            for one, share in zip(measured, shares, strict=True)
        ],
        "sampled": read,
        "keys": keys,
        "advice": advice(shares, keys, read),
    }


def _key_text(key: bytes | None) -> str | None:
    return None if key is None else key.decode("utf-8", "backslashreplace")


def advice(shares: Sequence[float], keys: Sequence[dict[str, Any]], sampled: int) -> list[str]:
    """What would relieve the hot partition, in words."""
    from tapelog.cli.rates import skew as factor

    count = len(shares)
    uneven = factor(shares) >= UNEVEN and count > 1
    named = [one for one in keys if one["key"] is not None and one["share"] >= max(HEAVY_SHARE, 1.5 / max(1, count))]
    found = []
    for one in named:
        found.append(
            f"key {one['key']!r} alone is {one['share']:.0%} of the records: no number of partitions spreads one key. "
            f"Salt it (write {one['key']}#0 … #n, and put them together when reading), or give it a topic of its own"
        )
    if uneven and not named:
        if any(one["key"] is None and one["share"] > 0.5 for one in keys):
            found.append(
                "most records have no key: check that producers choose partitions round robin, not a fixed one"
            )
        elif sampled:
            found.append(
                "no single key is heavy, but the keys fall unevenly: more partitions help (`tape topic alter "
                "--partitions`; keys then move to other partitions), or a partitioner of your own"
            )
        else:
            found.append("read some records to see whether single keys are heavy: --sample 20000")
    return found


def _drawn(document: dict[str, Any]) -> Iterator[RenderableType]:
    parts = document["partitions"]
    most = max((one["share"] for one in parts), default=0.0)
    yield Text.assemble(
        (document["topic"], "bold"),
        f": {document['records_per_s']:,.0f} records/s; the busiest partition has {document['skew']:.1f}× the mean",
    )
    rows = [
        [
            one["partition"],
            one["leader"],
            f"{one['records_per_s']:,.0f}",
            "-" if one["bytes_per_s"] is None else f"{format_size(round(one['bytes_per_s']))}/s",
            format_size(one["bytes"]),
            f"{one['share']:.1%}",
            Text("█" * round(BAR * one["share"] / most) if most else "", style=_colour(one["share"], len(parts))),
        ]
        for one in parts
    ]
    yield table(["partition>", "leader>", "records/s>", "bytes/s>", "on disk>", "share>", ""], rows)
    if document["sampled"] and not document["keys"]:
        yield Text(f"no key stands out in the newest {document['sampled']:,} records", style="dim")
    if document["keys"]:
        yield Text()
        yield Text(f"heaviest keys of the newest {document['sampled']:,} records", style="bold")
        yield table(
            ["key", "partition>", "records>", "share>"],
            [
                [
                    Text("no key", style="dim") if one["key"] is None else one["key"],
                    one["partition"],
                    f"{one['records']:,}",
                    f"{one['share']:.1%}",
                ]
                for one in document["keys"]
            ],
        )
    for line in document["advice"]:
        yield Text.assemble(("→ ", "bold yellow"), line)
    if not document["records_per_s"]:
        yield Text("nothing was written meanwhile: shares are those of the sample", style="dim")


def _colour(share: float, count: int) -> str:
    return "red" if share * count >= UNEVEN and count > 1 else "cyan"
