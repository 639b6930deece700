"""`tape dump`: show what is in a broker's files: segments, indexes, snapshots, checkpoints."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tapelog.cli.options import Json
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, CliError, print_json
from tapelog.cli.units import format_moment

if TYPE_CHECKING:
    from tapelog.cli.dump_files import Entry, Wish

_TIMES = ("timestamp", "base_timestamp", "max_timestamp", "last_timestamp")
_UNSAID = {"kind", "base_timestamp", "crc", "headers"}
_QUIET: dict[str, tuple[Any, ...]] = {
    "producer_id": (-1,),
    "producer_epoch": (-1,),
    "base_sequence": (-1,),
    "transactional": (False,),
    "control": (False,),
    "compression": ("none",),
    "timestamp_type": ("CreateTime",),
    "crc_ok": (True,),
    "coordinator_epoch": (-1,),
    "transaction_first_offset": (-1,),
}


def files_in(path: Path) -> Iterator[Path]:
    """The file itself, or the log files below a directory, in order."""
    from tapelog.cli.dump_files import reader_for

    if not path.is_dir():
        yield path
        return
    yield from (found for found in sorted(path.rglob("*")) if found.is_file() and reader_for(found) is not None)


def dump(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Files, or directories with such files.")],
    records: Annotated[bool, typer.Option("--records", "-r", help="Also the records in each batch.")] = False,
    offset: Annotated[int, typer.Option("--offset", "-o", help="Begin with the batch that has this offset.")] = 0,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="At most so many entries per file.")] = None,
    decode: Annotated[bool, typer.Option("--decode/--raw", help="Decode records of internal topics.")] = True,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Check the CRC of every batch.")] = True,
    json: Json = False,
) -> None:
    """Show what is in a broker's files: segments, indexes, producer snapshots, checkpoints, metadata snapshots.

    Reads Apache Kafka's files too. Damage is shown and makes the exit code 1. With --json: one entry per line.

    Example: tape dump tapelog-data/node-1/logs/orders-0 --records

    Example: tape dump tapelog-data/node-1/logs/__cluster_metadata-0 -r --json | jq .type
    """
    from tapelog.cli.dump_files import Wish, reader_for

    damaged = 0
    wish = Wish(records, decode, check, offset)
    for given in paths:
        if not given.exists():
            raise CliError(
                f"there is no {given}", "tapelog-data/node-1/logs/TOPIC-PARTITION is the place", EXIT_NOT_FOUND
            )
        found = list(files_in(given))
        if not found or (not given.is_dir() and reader_for(given) is None):
            raise CliError(
                f"{given} is not a log file and holds none",
                "known: .log .index .timeindex .txnindex .snapshot .checkpoint, checkpoints, meta.properties",
                EXIT_USAGE,
            )
        for file in found:
            damaged += _dump_file(file, wish, count, json, many=len(found) > 1 or len(paths) > 1)
    if damaged:
        raise CliError(
            f"{damaged} damaged place{'' if damaged == 1 else 's'}",
            "the node cuts off a torn end by itself when it starts; anything else is lost data",
            EXIT_FAILED,
        )


def _dump_file(file: Path, wish: Wish, count: int | None, as_json: bool, *, many: bool) -> int:
    """Print one file; returns how many damaged places it has."""
    from tapelog.cli.dump_files import read_any

    damaged = 0
    if many and not as_json:
        sys.stdout.write(f"== {file} ({file.stat().st_size:,} bytes)\n")
    try:
        for entry in islice(read_any(file, wish), count):
            damaged += "error" in entry or entry.get("crc_ok") is False
            if as_json:
                print_json({"file": str(file), **entry}, one_line=True)
            else:
                sys.stdout.write(as_line(entry) + "\n")
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CliError(f"cannot read {file}: {error.strerror}", "run it as the user who runs the broker") from None
    return damaged


def as_line(entry: Entry) -> str:
    """An entry on one line, without what is as usual."""
    kind = entry["kind"]
    said: dict[str, Any] = {}
    for name, value in entry.items():
        if name in _UNSAID or value in _QUIET.get(name, ()) or (value is None and name != "value"):
            continue
        said[name] = format_moment(value) if name in _TIMES else value
    if entry.get("headers"):
        said["headers"] = dict(entry["headers"])
    indent = "  " if "record" in kind else ""
    body = " ".join(f"{name}={_short(value)}" for name, value in said.items())
    return f"{indent}{kind}: {body}"


def _short(value: Any) -> str:
    if isinstance(value, str) and value and " " not in value:
        return value
    return json_module.dumps(value, ensure_ascii=False)
