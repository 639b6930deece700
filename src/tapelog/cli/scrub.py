"""`tape scrub`: read every batch in a node's files again and tell what is not as it was written."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from tapelog.cli.options import Json
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, CliError, console, print_json, remark

if TYPE_CHECKING:
    from tapelog.log.scrub import Damage

PROGRESS_S = 1.0
MEGABYTE = 1 << 20


def scrub(
    paths: Annotated[
        list[Path], typer.Argument(metavar="DIR…", help="A node's directory, a log directory, or one partition's.")
    ],
    json: Json = False,
) -> None:
    """Check every batch on disk against its checksum, and tell the ranges that are damaged; changes nothing.

    A node does the same by itself, slowly (tapelog.scrub.bytes.per.second), and repairs what another replica has. This
    reads as fast as the disk allows, also beside a running node: what that has just written is left out. Damage makes
    the exit code 1.

    A node's directory stands for all of its log directories, wherever they are.

    Example: tape scrub tapelog-data/node-1

    Example: tape scrub /disk2/node-1/orders-0 --json
    """
    found: list[dict[str, Any]] = []
    told = _Progress(quiet=json or not sys.stderr.isatty())
    segments = checked = 0
    chosen, empty, strange = _chosen(paths)
    for partition in chosen:
        for path, end_offset in _segments(partition):
            try:
                size, damage = _check(path, end_offset, told)
            except FileNotFoundError:
                continue  # retention or compaction was quicker
            except OSError as error:
                raise CliError(f"cannot read {path}: {error.strerror}", "check the disk: dmesg, smartctl") from None
            segments, checked = segments + 1, checked + size
            for one in damage:
                found.append(_document(path, one))
                if not json:
                    console().print(f"{path}: {one} (from byte {one.position})", soft_wrap=True)
    told.end()
    document = {"segments": segments, "bytes": checked, "seconds": round(told.seconds, 3), "damaged": found}
    if json:
        print_json({**document, "empty": [str(given) for given in empty]})
    else:
        rate = checked / MEGABYTE / max(told.seconds, 0.001)
        console().print(
            f"{segments} segments, {checked:,} bytes in {told.seconds:.1f} s ({rate:.0f} MiB/s): "
            f"{len(found) or 'no'} damaged range{'' if len(found) == 1 else 's'}"
        )
        for given in empty:
            remark(f"{given} is empty: a log directory without partitions")
    _judge(len(found), strange)


def _judge(damaged: int, strange: list[Path]) -> None:
    """CliError if there is damage, or if some of what was named is nothing that a node has."""
    if damaged:
        raise CliError(
            f"{damaged} damaged range{'' if damaged == 1 else 's'}",
            "with other replicas the node repairs them when it meets them; alone, consumers must pass over them "
            "(tape group reset) or the records up to there be deleted",
            EXIT_FAILED,
        )
    if strange:
        raise CliError(
            f"{', '.join(map(str, strange))} holds no partitions",
            "give a node's directory, as tapelog-data/node-1, or a log directory",
            EXIT_USAGE,
        )


def _chosen(paths: list[Path]) -> tuple[list[Path], list[Path], list[Path]]:
    """Partitions to look at, each once; log directories that have none; and what is neither. CliError for a place that
    is not there."""
    from tapelog.cli import node_files
    from tapelog.log import names

    partitions: dict[Path, Path] = {}
    empty: list[Path] = []
    strange: list[Path] = []
    for given in paths:
        if not given.exists():
            raise CliError(f"there is no {given}", "give a node's directory, as tapelog-data/node-1", EXIT_NOT_FOUND)
        own = list(_partitions(given))
        for partition in own:
            partitions.setdefault(partition.resolve(), partition)
        if not own:
            known = any((given / name).is_file() for name in (names.META_PROPERTIES, node_files.CONFIG_FILE))
            (empty if known else strange).append(given)
    return list(partitions.values()), empty, strange


def _document(path: Path, damage: Damage) -> dict[str, Any]:
    return {
        "file": str(path),
        "position": damage.position,
        "bytes": damage.end - damage.position,
        "first_offset": damage.first_offset,
        "next_offset": damage.next_offset,
        "reason": damage.reason,
    }


def _partitions(given: Path) -> Iterator[Path]:
    """The partition directories that are meant."""
    from tapelog.cli import node_files
    from tapelog.log import names

    if (given / node_files.CONFIG_FILE).is_file():
        try:
            config = node_files.load(str(given))
        except ValueError as error:
            raise CliError(f"{given}: {error}", "change its node.toml", EXIT_USAGE) from None
        for log_dir in dict.fromkeys([*config.log_dirs, config.metadata_log_dir]):
            yield from _partitions(Path(log_dir))
    elif names.parse_partition_dir(given.name) is not None and any(given.glob("*.log")):
        yield given
    elif given.is_dir():
        for below in sorted(given.iterdir()):
            if below.is_dir() and (below / node_files.CONFIG_FILE).is_file():
                yield from _partitions(below)
            elif below.is_dir() and names.parse_partition_dir(below.name) is not None:
                yield below


def _segments(partition: Path) -> Iterator[tuple[Path, int]]:
    """Its segments, and where each ends; -1 for the newest, which may be written to just now."""
    from tapelog.log import names

    bases = sorted(base for name in os.listdir(partition) if (base := names.offset_of(name, names.LOG)) is not None)
    for base, following in zip(bases, [*bases[1:], -1], strict=True):
        yield partition / names.offset_name(base, names.LOG), following


def _check(path: Path, end_offset: int, told: _Progress) -> tuple[int, list[Damage]]:
    """How many bytes the segment has, and what of it is damaged."""
    from tapelog.log.scrub import TOO_LONG, TORN, SegmentCheck, index_positions

    with open(path, "rb", buffering=0) as opened:
        size = os.fstat(opened.fileno()).st_size
        index = path.with_suffix(".index")
        positions = index_positions(index.read_bytes(), size) if index.is_file() else []
        newest = end_offset < 0
        check = SegmentCheck(int(path.stem), size, (1 << 63) - 1 if newest else end_offset, positions)
        while not check.done:
            told.add(check.step(lambda position, count: _read(opened, position, count), 4 * MEGABYTE), path)
    if newest and check.damage and check.damage[-1].end == size and check.damage[-1].reason in (TORN, TOO_LONG):
        last = check.damage.pop()  # a tail that is being written, or that a start would cut off
        size = last.position
    return size, check.damage


def _read(opened: IO[bytes], position: int, count: int) -> bytes:
    """From the disk, not from the cache."""
    fd = opened.fileno()
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, position, count, os.POSIX_FADV_DONTNEED)
    pieces, got = [], 0
    while got < count and (piece := os.pread(fd, count - got, position + got)):
        pieces.append(piece)
        got += len(piece)
    return b"".join(pieces)


class _Progress:
    """A line on the terminal, once a second."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._began = self._said = time.monotonic()
        self._bytes = 0
        self.seconds = 0.0

    def add(self, count: int, path: Path) -> None:
        """So much more has been read."""
        self._bytes += count
        now = time.monotonic()
        self.seconds = now - self._began
        if not self._quiet and now - self._said >= PROGRESS_S:
            self._said = now
            sys.stderr.write(f"\r\x1b[K{self._bytes // MEGABYTE:,} MiB, {path.parent.name}")
            sys.stderr.flush()

    def end(self) -> None:
        """Take the line away."""
        if not self._quiet:
            sys.stderr.write("\r\x1b[K")
