"""`tape capacity`: how much disk and how many brokers a workload needs. The plan is a pure function."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from tapelog.cli.options import Json
from tapelog.cli.output import EXIT_USAGE, CliError, emit, table
from tapelog.cli.units import format_count, format_duration, format_size, parse_count, parse_duration_ms, parse_size

RECORD_OVERHEAD = 9
"""Bytes of a record beside key, value and headers: varints for length, deltas and counts, and the attributes."""
BATCH_HEADER = 61
"""Bytes of a batch beside its records."""
INDEX_SHARE = 20 / 4096
"""Offset index (8) and time index (12 bytes) per 4096 bytes of log, the default interval."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What will be asked of the cluster, and what one broker offers."""

    records_per_s: float
    record_bytes: int
    retention_ms: int
    replicas: int = 3
    readers: int = 1
    compression: float = 1.0
    batch_records: int = 100
    growth: float = 0.0
    years: float = 1.0
    peak: float = 2.0
    disk_bytes: int = 1024**4
    disk_use_max: float = 0.7
    broker_bytes_per_s: int = 100 * 1024**2


@dataclass(frozen=True, slots=True)
class Capacity:
    """What it needs. Rates are at the peak, after growth; `reasons` says which limit asks for how many brokers."""

    stored_record_bytes: float
    records_kept: float
    write_bytes_per_s: float
    read_bytes_per_s: float
    replication_bytes_per_s: float
    log_bytes: float
    total_bytes: float
    disk_bytes_needed: float
    brokers: int
    brokers_for_disk: int
    brokers_for_throughput: int
    brokers_for_replicas: int
    partitions_min: int


def plan(work: Workload) -> Capacity:
    """rate × size × retention × replicas → bytes and brokers, with room for growth, peaks and full disks."""
    factor = (1 + work.growth) ** work.years
    rate = work.records_per_s * factor
    stored = (work.record_bytes + RECORD_OVERHEAD) / work.compression + BATCH_HEADER / work.batch_records
    kept = rate * work.retention_ms / 1000
    one_copy = kept * stored * (1 + INDEX_SHARE)
    total = one_copy * work.replicas
    needed = total / work.disk_use_max
    write = rate * work.peak * stored
    read = write * work.readers
    replication = write * (work.replicas - 1)
    for_disk = math.ceil(needed / work.disk_bytes)
    # a broker's network carries what it receives, what it hands to followers, and what readers take
    for_throughput = math.ceil((write + 2 * replication + read) / work.broker_bytes_per_s)
    return Capacity(
        stored_record_bytes=stored,
        records_kept=kept,
        write_bytes_per_s=write,
        read_bytes_per_s=read,
        replication_bytes_per_s=replication,
        log_bytes=one_copy,
        total_bytes=total,
        disk_bytes_needed=needed,
        brokers=max(1, for_disk, for_throughput, work.replicas),
        brokers_for_disk=for_disk,
        brokers_for_throughput=for_throughput,
        brokers_for_replicas=work.replicas,
        partitions_min=max(1, math.ceil(write / PARTITION_BYTES_PER_S), math.ceil(read / PARTITION_BYTES_PER_S)),
    )


PARTITION_BYTES_PER_S = 10 * 1024**2
"""What one partition's single consumer is taken to handle."""


def _checked(work: Workload) -> Workload:
    for name, value, low, high in (
        ("--replicas", work.replicas, 1, 100),
        ("--readers", work.readers, 0, 10_000),
        ("--compression", work.compression, 0.1, 1000),
        ("--peak", work.peak, 1, 1000),
        ("--disk-use", work.disk_use_max, 0.01, 1),
        ("--batch", work.batch_records, 1, 10**7),
        ("--disk", work.disk_bytes, 1, 10**18),
        ("--broker-throughput", work.broker_bytes_per_s, 1, 10**15),
    ):
        if not low <= value <= high:
            raise CliError(f"{name} {value:g} makes no sense", f"between {low:g} and {high:g}", EXIT_USAGE)
    return work


def capacity(
    rate: Annotated[str, typer.Option("--rate", "-r", metavar="N", help="Records per second, on average: 50k.")],
    size: Annotated[str, typer.Option("--size", "-s", metavar="SIZE", help="Key, value and headers of one: 1KiB.")],
    retention: Annotated[
        str, typer.Option("--retention", "-t", metavar="DURATION", help="How long they are kept.")
    ] = "7d",
    replicas: Annotated[int, typer.Option("--replicas", help="Copies of each record.")] = 3,
    readers: Annotated[int, typer.Option("--readers", help="Groups that read everything.")] = 1,
    compression: Annotated[
        float, typer.Option("--compression", help="How many times smaller records get: 1 is none.")
    ] = 1.0,
    batch: Annotated[int, typer.Option("--batch", help="Records per batch.")] = 100,
    growth: Annotated[float, typer.Option("--growth", help="Growth per year in percent.")] = 0.0,
    years: Annotated[float, typer.Option("--years", help="How long it should last.")] = 1.0,
    peak: Annotated[float, typer.Option("--peak", help="Peak rate over average rate.")] = 2.0,
    disk: Annotated[str, typer.Option("--disk", metavar="SIZE", help="Disk of one broker.")] = "1TiB",
    disk_use: Annotated[float, typer.Option("--disk-use", help="Fill disks no further than this share.")] = 0.7,
    broker_throughput: Annotated[
        str, typer.Option("--broker-throughput", metavar="SIZE", help="Bytes per second one broker moves, in and out.")
    ] = "100MiB",
    json: Json = False,
) -> None:
    """Plan capacity: rate × size × retention × replicas → bytes and brokers, with room to grow.

    Example: tape capacity --rate 50k --size 1KiB --retention 7d --growth 40 --years 2
    """
    try:
        work = Workload(
            parse_count(rate),
            parse_size(size),
            parse_duration_ms(retention),
            replicas,
            readers,
            compression,
            batch,
            growth / 100,
            years,
            peak,
            parse_size(disk),
            disk_use,
            parse_size(broker_throughput),
        )
    except ValueError as error:
        raise CliError(str(error), "tape capacity --rate 50k --size 1KiB --retention 7d", EXIT_USAGE) from None
    found = plan(_checked(work))
    document = {"workload": asdict(work), "capacity": asdict(found)}
    emit(json, document, lambda: [_head(work, found), _table(work, found)])


def _head(work: Workload, found: Capacity) -> Text:
    return Text.assemble(
        (f"{found.brokers} broker{'' if found.brokers == 1 else 's'}", "bold"),
        f", each with {format_size(work.disk_bytes)} of disk, hold ",
        (format_size(found.total_bytes), "bold"),
        f" of records for {format_duration(work.retention_ms)}",
    )


def _table(work: Workload, found: Capacity) -> Table:
    grown = f", {work.growth:.0%} growth a year for {work.years:g}" if work.growth else ""
    rows: list[list[object]] = [
        ["records kept", format_count(found.records_kept), f"{format_count(work.records_per_s)}/s{grown}"],
        [
            "bytes per record on disk",
            format_size(found.stored_record_bytes),
            f"{work.batch_records} per batch, compression {work.compression:g}×",
        ],
        ["one copy of the log", format_size(found.log_bytes), "with indexes"],
        ["all copies", format_size(found.total_bytes), f"{work.replicas} replicas"],
        ["disk to buy", format_size(found.disk_bytes_needed), f"disks at most {work.disk_use_max:.0%} full"],
        ["writes at peak", f"{format_size(found.write_bytes_per_s)}/s", f"{work.peak:g}× the average"],
        [
            "reads at peak",
            f"{format_size(found.read_bytes_per_s)}/s",
            f"{work.readers} group{'' if work.readers == 1 else 's'}",
        ],
        ["replication at peak", f"{format_size(found.replication_bytes_per_s)}/s", f"{work.replicas - 1} followers"],
        ["partitions, at least", found.partitions_min, f"{format_size(PARTITION_BYTES_PER_S)}/s per consumer"],
        ["brokers for disk", found.brokers_for_disk, format_size(work.disk_bytes) + " each"],
        ["brokers for throughput", found.brokers_for_throughput, format_size(work.broker_bytes_per_s) + "/s each"],
        ["brokers for replicas", found.brokers_for_replicas, "one copy per broker"],
    ]
    return table(["", "needed>", "because"], rows)
