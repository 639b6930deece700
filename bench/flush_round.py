"""How long one flush round takes: 1, 8, 50 and 1,000 dirty partitions, four ways of making them durable.

Run `python bench/flush_round.py [--dir DIR] [--rounds N] [--bytes N] [--foreign MB]`; prints the table that
docs/adr/0002-flush-and-acknowledgement.md quotes. Each round appends to every file, then syncs. With --foreign, that
much is first written, unsynced, to a file that is not part of the round: someone else's on the same file system.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

LIBC = ctypes.CDLL(None, use_errno=True)


def syncfs(fd: int) -> None:
    if LIBC.syncfs(fd) != 0:
        raise OSError(ctypes.get_errno(), "syncfs")


def measure(
    fds: list[int], payload: bytes, rounds: int, sync: Callable[[list[int]], None], foreign: int, foreign_mb: int
) -> tuple[float, float]:
    """Median and worst milliseconds of a round's sync part."""
    times = []
    for _ in range(rounds):
        for _ in range(foreign_mb):
            os.write(foreign, bytes(1 << 20))
        for fd in fds:
            os.write(fd, payload)
        began = time.perf_counter()
        sync(fds)
        times.append((time.perf_counter() - began) * 1000)
        if foreign_mb:
            os.fsync(foreign)
            os.ftruncate(foreign, 0)
            os.lseek(foreign, 0, os.SEEK_SET)
    return statistics.median(times), max(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", default=None)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--bytes", type=int, default=1000)
    parser.add_argument("--foreign", type=int, default=0, metavar="MB")
    options = parser.parse_args()
    root = tempfile.mkdtemp(prefix="flush-round-", dir=options.dir)
    pool = ThreadPoolExecutor(8)
    ways: list[tuple[str, Callable[[list[int]], None]]] = [
        ("serial fdatasync", lambda fds: [os.fdatasync(fd) for fd in fds] and None),
        ("4 threads", lambda fds: [None for _ in pool4.map(os.fdatasync, fds)] and None),
        ("8 threads", lambda fds: [None for _ in pool.map(os.fdatasync, fds)] and None),
        ("syncfs", lambda fds: syncfs(fds[0])),
    ]
    pool4 = ThreadPoolExecutor(4)
    print(f"median / worst ms of {options.rounds} rounds, {options.bytes} bytes appended to each file per round")
    foreign = os.open(os.path.join(root, "foreign"), os.O_CREAT | os.O_RDWR)
    print("| dirty files | " + " | ".join(name for name, _ in ways) + " |")
    print("|---" * (len(ways) + 1) + "|")
    try:
        for count in (1, 2, 4, 8, 16, 50, 200, 1000):
            fds = [
                os.open(os.path.join(root, f"{count}-{i}"), os.O_CREAT | os.O_RDWR | os.O_APPEND) for i in range(count)
            ]
            syncfs(fds[0])
            cells = []
            for _, sync in ways:
                median, worst = measure(fds, b"x" * options.bytes, options.rounds, sync, foreign, options.foreign)
                cells.append(f"{median:.2f} / {worst:.1f}")
            print(f"| {count} | " + " | ".join(cells) + " |", flush=True)
            for fd in fds:
                os.close(fd)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
