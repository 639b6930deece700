"""`tape topic skew`: which partitions are hot, which keys make them so, and what helps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer
from confluent_kafka import TopicPartition

from tapelog.cli.connect import Connection, missing_topic
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout, Topic
from tapelog.cli.output import EXIT_USAGE, CliError, emit, remark
from tapelog.cli.rebalance import parse_window
from tapelog.cli.sketch import SpaceSaving

if TYPE_CHECKING:
    from tapelog.cli.rates import Measured, Rate

SKETCH_KEYS = 2000
"""Keys counted at a time: one with more than 1/2000 of the records is never missed."""
UNEVEN = 1.5
"""The busiest partition over the mean: from here on it is worth a word."""
HEAVY_SHARE = 0.1
SHOWN_SHARE = 0.005
"""Keys with less are no heavier than chance makes them."""
READ_S_MAX = 30.0


def skew(
    topic: Topic,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="DURATION",
            help="Look at rates for so long, instead of asking the nodes for their last minute.",
        ),
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", min=0, help="How many of the newest records to read for keys.")
    ] = 20_000,
    top: Annotated[int, typer.Option("--top", min=1, help="How many keys to show.")] = 10,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show how evenly a topic is used: rates per partition and broker, its heaviest keys, and what to do about them.

    Nodes of Tapelog have counted the rates of the last minute; of other clusters they are looked at for five seconds.

    Example: tape topic skew orders --window 10s --sample 100000
    """
    from tapelog.cli import cluster_asks, rates
    from tapelog.cli.raw import Wire
    from tapelog.cli.skew_view import drawn

    window_s = None if window is None else parse_window(window)
    if window_s is not None and window_s > 600:
        raise CliError("that is long to wait for", "--window 10s", EXIT_USAGE)
    connection = Connection(bootstrap, properties, timeout)
    with Wire(connection) as wire:
        state = cluster_asks.cluster_state(wire, sizes=False, quorum=False)
        names = list(dict.fromkeys(one.topic for one in state.partitions))
        if topic not in names:
            raise missing_topic(topic, names)
        measured = rates.measure(wire, state, window_s, rates.SHORT_S)
    ours = [one for one in measured.rates if one.topic == topic]
    found = read_keys(connection, [(topic, one.index) for one in ours], sample)
    document = described(topic, ours, found, top)
    document |= over_brokers(topic, measured, [one.id for one in state.brokers if not one.fenced])
    document["advice"] += broker_advice(document["brokers"])
    emit(json, document, lambda: drawn(document))


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
    written = [one.records_per_s if one.bytes_per_s is None else one.bytes_per_s for one in measured]
    if any(one.bytes_per_s is None for one in measured):
        written = [one.records_per_s for one in measured]
    whole = sum(written)
    shares = [
        one / whole if whole else sample.partitions.get(rate.index, 0) / max(1, read)
        for one, rate in zip(written, measured, strict=True)
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
                "read_bytes_per_s": one.read_per_s,
                "requests_per_s": one.requests_per_s,
                "bytes": one.bytes,
                "share": share,
            }
            for one, share in zip(measured, shares, strict=True)
        ],
        "sampled": read,
        "keys": keys,
        "advice": advice(shares, keys, read),
    }


def over_brokers(topic: str, measured: Measured, brokers: Sequence[int]) -> dict[str, Any]:
    """What every broker serves, for this topic and in all; and where the figures come from."""
    from tapelog.cli.rates import by_broker

    everything = by_broker(measured)
    return {
        "seconds": measured.seconds,
        "counted_by_nodes": measured.counted,
        "brokers": [
            {
                "broker": broker,
                "leads": sum(one.leader == broker and one.topic == topic for one in measured.rates),
                "topic_load": sum(one.load for one in measured.rates if one.leader == broker and one.topic == topic),
                "load": everything.get(broker, 0.0),
            }
            for broker in brokers
        ],
    }


def broker_advice(brokers: Sequence[dict[str, Any]]) -> list[str]:
    """Whether moving leaders is worth a look."""
    from tapelog.cli.rates import skew as factor

    uneven = factor(one["load"] for one in brokers)
    if uneven < UNEVEN or len(brokers) < 2:
        return []
    busiest = max(brokers, key=lambda one: one["load"])
    return [
        f"broker {busiest['broker']} serves {uneven:.1f}× what brokers serve on average: "
        "`tape rebalance --by load --plan` shows which leaders could move"
    ]


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
