"""`tape tier`: old segments in the object store. How it goes, whether it is whole, and back from it."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer
from rich.text import Text

from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout
from tapelog.cli.output import EXIT_ERR, EXIT_NOT_FOUND, CliError, emit, error_console, remark, table
from tapelog.cli.units import format_duration, format_moment, format_size

app = typer.Typer(
    help="Tiered storage: what is in the object store, whether it is whole, and restoring topics from it.",
    no_args_is_help=True,
)

Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="The tier: s3://…, gs://…, az://…, file:///…; else the brokers tell."),
]
Endpoint = Annotated[
    str | None, typer.Option("--endpoint", metavar="URL", help="Of an S3-compatible server; with --url.")
]
MaybeTopics = Annotated[
    list[str] | None, typer.Argument(metavar="[TOPIC…]", help="Topics; all of them if none is named.")
]


@app.command()
def status(
    topics: MaybeTopics = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show per topic what is here and what is in the tier, how far copying lags, what fails and since when, and holds.

    Example: tape tier status orders
    """
    from tapelog.cli import cluster_asks
    from tapelog.cli.connect import Connection
    from tapelog.cli.raw import Wire
    from tapelog.cli.tier_status import described

    remarks: list[str] = []
    with Wire(Connection(bootstrap, properties, timeout)) as wire:
        state = cluster_asks.cluster_state(wire, sizes=False, quorum=False)
        told = cluster_asks.log_dirs(wire, state.brokers, remarks)
    document = described(told, topics or [])
    for text in remarks:
        remark(text)
    tiered = [one["topic"] for one in document["topics"]]
    for name in topics or []:
        if name not in tiered:
            remark(f"no broker leads a tiered partition of {name}: see tape topic describe {name}")
    now_ms = int(time.time() * 1000)
    emit(json, document, lambda: list(_drawn(document, now_ms, some=bool(topics))))


def _drawn(document: dict[str, Any], now_ms: int, *, some: bool = False) -> Any:
    from tapelog.cli.tier_status import shown_state

    for one in document["brokers"]:
        since = format_moment(one["failing_since_ms"])
        yield Text(f"broker {one['broker']} cannot use the tier since {since}: {one['error']}", style="red")
    if not document["topics"] and some:
        return  # those that were asked for are not; others may be
    if not document["topics"]:
        yield Text("no topic is tiered: tape topic create NAME --set remote.storage.enable=true")
        return
    rows = []
    for one in document["topics"]:
        known = all(part["start_offset"] >= 0 for part in one["by_partition"])  # else its leader has read no manifest
        trouble = one["error"] or ""
        if trouble and one["failing_since_ms"] >= 0:
            trouble = f"since {format_duration(max(0, now_ms - one['failing_since_ms']))}: {trouble}"
        rows.append(
            (
                one["topic"],
                one["partitions"],
                format_size(one["local_bytes"]),
                format_size(one["remote_bytes"]) if known else None,
                one["remote_segments"] if known else None,
                format_size(one["lag_bytes"]),
                one["lag_segments"],
                "hold" if one["hold"] else "",
                shown_state(one["by_partition"]),
                trouble,
            )
        )
    yield table(
        ("topic", "partitions>", "here>", "in the tier>", "segments>", "to copy>", "segments>", "", "state", "trouble"),
        rows,
    )


@app.command()
def verify(
    topics: MaybeTopics = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not read the records: only manifests, and objects' indexes and footers.")
    ] = False,
    url: Url = None,
    endpoint: Endpoint = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Check objects against manifests and checksums; needs no broker if --url is given. Exits with 6 if one is wrong.

    Example: tape tier verify orders --url s3://bucket/prefix
    """
    from dataclasses import asdict

    from tapelog.cli.connect import Connection
    from tapelog.cli.tier_bucket import Bucket, failed, opened, place_of
    from tapelog.cli.tier_verify import verify_bucket
    from tapelog.log.tier.store import StoreError

    place = place_of(None if url is not None else Connection(bootstrap, properties, timeout), url, endpoint)
    told = _Progress(quiet=json)
    try:
        found, unknown, missing = verify_bucket(Bucket(opened(place)), topics or [], quick=quick, progress=told)
    except StoreError as error:
        raise failed(place, error) from None
    finally:
        told.end()
    problems = [problem for one in found for problem in one.problems]
    result = {
        "url": place.url,
        "partitions": [asdict(one) for one in found],
        "segments": sum(one.segments for one in found),
        "bytes": sum(one.bytes for one in found),
        "leftover_objects": sum(one.leftover_objects for one in found),
        "topics_without_document": unknown,
        "problems": problems,
    }
    if found or unknown or not missing:
        emit(json, result, lambda: _verified(result))
    if missing:
        raise CliError(
            f"not in the bucket: {', '.join(missing)}",
            "tape tier restore --all --dry-run lists what is",
            EXIT_ERR if problems else EXIT_NOT_FOUND,
        )
    if problems:
        raise typer.Exit(EXIT_ERR)


def _verified(result: dict[str, Any]) -> list[Text]:
    what = f"{result['segments']} segments, {format_size(result['bytes'])}, {len(result['partitions'])} partitions"
    lines = [Text(problem, style="red") for problem in result["problems"]]
    if result["leftover_objects"]:
        lines.append(Text(f"{result['leftover_objects']} objects that no manifest names (the leader collects them)"))
    for id_text in result["topics_without_document"]:
        lines.append(Text(f"topic id {id_text}: no topic.json", style="yellow"))
    count = len(result["problems"])
    well = "all is well" if result["partitions"] else f"there is nothing to check in {result['url']}"
    verdict = f"{count} problem{'' if count == 1 else 's'}" if count else well
    lines.append(Text(f"{what}: {verdict}"))
    return lines


@app.command()
def restore(
    topics: MaybeTopics = None,
    everything: Annotated[bool, typer.Option("--all", help="Every topic in the bucket.")] = False,
    replication_factor: Annotated[
        int | None, typer.Option("--replication-factor", min=1, help="Else as many as they had, or there are brokers.")
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="From another cluster, which is gone for good and never starts again.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be restored.")] = False,
    url: Url = None,
    endpoint: Endpoint = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Bring topics back from the bucket into a cluster that has none of them: ids, offsets, configs, records.

    The cluster's brokers must use the same tier. Nothing is copied; what was not yet in the tier is not there.

    Example: tape tier restore --all --take-over --bootstrap new-cluster:9092
    """
    from tapelog.cli import tier_restore
    from tapelog.cli.connect import Connection
    from tapelog.cli.tier_bucket import Bucket, failed, opened, shared_place
    from tapelog.log.tier.store import StoreError

    if not topics and not everything:
        raise CliError("which topics?", "tape tier restore orders payments, or --all")
    connection = Connection(bootstrap, properties, timeout)
    told = _Progress(quiet=json)
    place = shared_place(connection, url, endpoint)
    try:
        found, remarks = tier_restore.plans(Bucket(opened(place)), topics or [], told.at)
    except StoreError as error:
        raise failed(place, error) from None
    finally:
        told.end()
    done = tier_restore.carry_out(
        connection,
        found,
        topics or [],
        replication_factor,
        dry_run=dry_run,
        take_over=take_over,
        remarks=remarks,
        tell=told.at,
    )
    told.end()
    for text in remarks:
        remark(text)
    verb = "can be restored" if dry_run else "restored"
    rows = [
        (one["topic"], one["partitions"], format_size(one["bytes"]), verb if one["possible"] else "left out")
        for one in done
    ]
    emit(json, {"url": place.url, "topics": done}, lambda: [table(("topic", "partitions>", "bytes>", ""), rows)])


class _Progress:
    """One line on the terminal that says where we are."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet or not sys.stderr.isatty()
        self._what = ""
        self._bytes = 0
        self._shown = 0.0

    def at(self, what: str) -> None:
        """Begin with something."""
        self._what = what
        self._show()

    def add(self, size: int) -> None:
        """So many bytes are done with."""
        self._bytes += size
        self._show()

    def _show(self) -> None:
        if not self._quiet and time.monotonic() - self._shown > 0.1:
            self._shown = time.monotonic()
            error_console().print(Text(f"\r{self._what} {format_size(self._bytes)}  "), end="")

    def end(self) -> None:
        """The line goes."""
        if not self._quiet and self._shown:
            error_console().print(Text("\r" + " " * 60 + "\r"), end="")
            self._shown = 0.0
