"""A small durable log in forty lines, to show that the power-cut harness tells right from wrong.

appender.py DIRECTORY MODE: appends numbered lines to segment files, each new segment announced in a checkpoint that is
replaced by rename; prints a number once it is durable. MODE `right` syncs everything it must; the others forget one
thing each: `no-sync` the data, `no-directory` the name of a new segment, `no-content` the checkpoint's bytes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

LINES = 50


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def segments(directory: Path) -> list[Path]:
    """The segments the checkpoint names."""
    checkpoint = directory / "checkpoint"
    return [directory / name for name in checkpoint.read_text().split()] if checkpoint.exists() else []


def recover(directory: Path) -> list[int]:
    """Every whole line there is."""
    numbers: list[int] = []
    for segment in segments(directory):
        whole = segment.read_bytes().rpartition(b"\n")[0]
        numbers.extend(int(line) for line in whole.split() if line.isdigit())
    return numbers


def main(directory: Path, mode: str) -> None:
    """Append for ever."""
    number = max(recover(directory), default=-1) + 1
    while True:
        segment = directory / f"segment-{number}"
        fd = os.open(segment, os.O_WRONLY | os.O_CREAT, 0o644)
        if mode != "no-directory":
            sync_directory(directory)
        listed = " ".join(path.name for path in [*segments(directory), segment])
        temporary = os.open(directory / "checkpoint.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(temporary, listed.encode())
        if mode != "no-content":
            os.fsync(temporary)
        os.close(temporary)
        os.replace(directory / "checkpoint.tmp", directory / "checkpoint")
        if mode != "no-directory":
            sync_directory(directory)
        position = 0
        for _ in range(LINES):
            position += os.pwritev(fd, [b"%d" % number, b"\n"], position)
            if mode != "no-sync":
                os.fdatasync(fd)
            print(number, flush=True)
            number += 1
        os.close(fd)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
