"""`tape broker disks`: the log directories of every broker, how full they are, and which have failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout
from tapelog.cli.output import emit, remark, table
from tapelog.cli.txn_options import open_wire
from tapelog.cli.units import format_size

if TYPE_CHECKING:
    from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResult

LOW_BYTES = 10 << 30
LOW_SHARE = 20
"""As the broker warns by default (tapelog.disk.low.bytes)."""


def state_of(directory: DescribeLogDirsResult) -> str:
    """In a word: offline, full (no room for records), low (on room), cordoned or online."""
    if directory.error_code:
        return "offline"
    total, free = directory.total_bytes, directory.usable_bytes
    if total > 0 and free == 0:
        return "full"
    if total > 0 and 0 <= free < min(LOW_BYTES, total // LOW_SHARE):
        return "low"
    return "cordoned" if directory.is_cordoned else "online"


def complaint(broker: int, directory: DescribeLogDirsResult) -> str | None:
    """What somebody should do about it; None if nothing."""
    state = state_of(directory)
    if state == "offline":
        return (
            f"broker {broker}: log directory {directory.log_dir} is offline: repair or replace the disk and restart it"
        )
    if state == "full":
        return (
            f"broker {broker}: {directory.log_dir} is full, records for its partitions are refused: shorten retention, "
            "delete records or topics, or add a disk"
        )
    if state == "low":
        free = format_size(directory.usable_bytes)
        return f"broker {broker}: {directory.log_dir} has {free} left: shorten retention, delete records or add a disk"
    return None


def disks(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """List the log directories of all brokers: which work, what lies there, and how much room is left.

    Example: tape broker disks --json
    """
    from tapelog.cli import cluster_asks

    remarks: list[str] = []
    with open_wire(bootstrap, properties, timeout) as wire, wire.bounded():
        _, _, found = cluster_asks.brokers(wire)
        told = cluster_asks.log_dirs(wire, found, remarks)
    listed: list[dict[str, Any]] = []
    for broker in sorted(told):
        for directory in told[broker].results:
            parts = [part for topic in directory.topics for part in topic.partitions]
            sizes = [part.partition_size for part in parts if not part.is_future_key]
            listed.append(
                {
                    "broker": broker,
                    "directory": directory.log_dir,
                    "state": state_of(directory),
                    "replicas": len(sizes),
                    "bytes": sum(sizes),
                    "arriving": len(parts) - len(sizes),
                    "total_bytes": directory.total_bytes if directory.total_bytes >= 0 else None,
                    "free_bytes": directory.usable_bytes if directory.usable_bytes >= 0 else None,
                }
            )
    rows = [
        [
            one["broker"],
            one["directory"],
            one["state"],
            one["replicas"],
            format_size(one["bytes"]),
            one["arriving"] or None,
            None if one["total_bytes"] is None else format_size(one["total_bytes"]),
            None if one["free_bytes"] is None else format_size(one["free_bytes"]),
        ]
        for one in listed
    ]
    columns = ["broker>", "directory", "state", "holds>", "on disk>", "moving in>", "size>", "free>"]
    emit(json, listed, lambda: [table(columns, rows)])
    for text in remarks:
        remark(text)
