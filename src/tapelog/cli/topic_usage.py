"""`tape topic usage`: what topics hold on disk, beside what they may hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tapelog.base.storage_bounds import longest_prefix, parse_prefix_bounds
from tapelog.cli.connect import Connection, missing_topic
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout
from tapelog.cli.output import emit, remark, table
from tapelog.cli.topic_names import is_internal
from tapelog.cli.units import format_size

if TYPE_CHECKING:
    from tapelog.cli.cluster_state import Partition
    from tapelog.cli.raw import Wire

TOPIC, BROKER = 2, 4
LIMIT, POLICY, PREFIXES = "tapelog.max.bytes", "tapelog.max.bytes.policy", "tapelog.max.bytes.prefixes"
NEARLY = 0.9
"""From here on a bound is shown in another colour."""

Sizes = Mapping[tuple[int, str, int], int]


def usage(
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC…]", help="Topics; all of them if none.")] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show what topics hold on their leaders' disks and on all replicas', and how much of their bound that is.

    Bounds are tapelog.max.bytes of a topic and tapelog.max.bytes.prefixes of the cluster.

    Example: tape topic usage orders
    """
    from tapelog.cli import cluster_asks
    from tapelog.cli.raw import Wire

    remarks: list[str] = []
    with Wire(Connection(bootstrap, properties, timeout)) as wire:
        state = cluster_asks.cluster_state(wire, sizes=False, quorum=False)
        names = sorted(dict.fromkeys(one.topic for one in state.partitions))
        for name in topics or ():
            if name not in names:
                raise missing_topic(name, names)
        sizes = cluster_asks.log_sizes(wire, state.brokers, remarks)
        settings = _settings(wire, names, [one.id for one in state.brokers if not one.fenced])
    wanted = topics or [name for name in names if not is_internal(name)]
    document = described(state.partitions, sizes, settings, wanted)
    for text in remarks:
        remark(text)
    emit(json, document, lambda: list(_drawn(document)))


def _settings(wire: Wire, topics: Iterable[str], brokers: list[int]) -> dict[tuple[int, str], dict[str, str]]:
    """(resource type, name) → the settings this is about; a broker that is not ours has none of them."""
    from tapelog.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
    from tapelog.wire.messages.describe_configs_response import DescribeConfigsResponse

    resources = [DescribeConfigsResource(TOPIC, name, [LIMIT, POLICY]) for name in topics]
    told = wire.ask(DescribeConfigsRequest(resources=resources), DescribeConfigsResponse).results
    if brokers:
        own = DescribeConfigsRequest(resources=[DescribeConfigsResource(BROKER, str(brokers[0]), [PREFIXES])])
        node = next((node for node in wire.nodes() if node.id == brokers[0]), None)
        told = [*told, *wire.ask(own, DescribeConfigsResponse, node).results]
    return {
        (BROKER, "") if one.resource_type == BROKER else (TOPIC, one.resource_name): {
            entry.name: entry.value or "" for entry in one.configs
        }
        for one in told
    }


def described(
    partitions: Iterable[Partition],
    sizes: Sizes,
    settings: Mapping[tuple[int, str], Mapping[str, str]],
    wanted: Iterable[str],
) -> dict[str, Any]:
    """What is shown: a row for each wanted topic, and one for each prefix with a bound."""
    led: dict[str, int] = {}
    everywhere: dict[str, int] = {}
    for part in partitions:
        led[part.topic] = led.get(part.topic, 0) + sizes.get((part.leader, part.topic, part.index), 0)
        all_of_it = sum(sizes.get((broker, part.topic, part.index), 0) for broker in part.replicas)
        everywhere[part.topic] = everywhere.get(part.topic, 0) + all_of_it
    bounds = parse_prefix_bounds(settings.get((BROKER, ""), {}).get(PREFIXES, ""))
    rows = []
    for name in wanted:
        own = settings.get((TOPIC, name), {})
        limit = int(own.get(LIMIT) or -1)
        policy = own.get(POLICY, "reject") if limit >= 0 else None
        rows.append(_row("topic", name, led.get(name, 0), limit, policy) | {"replicas_bytes": everywhere.get(name, 0)})
    shared = []
    for prefix, bound in bounds.items():
        held = sum(
            size for name, size in led.items() if not is_internal(name) and longest_prefix(bounds, name) == prefix
        )
        shared.append(_row("prefix", prefix, held, bound.limit, bound.policy))
    return {"topics": rows, "prefixes": shared}


def _row(kind: str, name: str, size: int, limit: int, policy: str | None) -> dict[str, Any]:
    bounded = limit >= 0
    return {
        kind: name,
        "bytes": size,
        "max_bytes": limit if bounded else None,
        "policy": policy,
        "used": round(size / limit, 4) if bounded and limit else None,
    }


def _drawn(document: dict[str, Any]) -> Iterable[Any]:
    rows = [
        [row["topic"], format_size(row["bytes"]), format_size(row["replicas_bytes"]), *_bound(row)]
        for row in document["topics"]
    ]
    yield table(["topic", "leaders>", "all replicas>", "bound>", "used>", "beyond it"], rows)
    if document["prefixes"]:
        shared = [[f"{row['prefix']}*", format_size(row["bytes"]), *_bound(row)] for row in document["prefixes"]]
        yield table(["prefix", "leaders>", "bound>", "used>", "beyond it"], shared)


def _bound(row: dict[str, Any]) -> list[Any]:
    if row["max_bytes"] is None:
        return ["", "", ""]
    used = row["used"] if row["used"] is not None else 1.0
    style = "bold red" if used >= 1 else "yellow" if used >= NEARLY else ""
    return [format_size(row["max_bytes"]), Text(f"{used:.0%}", style=style), row["policy"]]
