"""Logs with keys under a server that has not seen them yet: a topic is created, and its files are put in place while
the server is stopped."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench import admin, build
from bench.load import LoadError
from bench.sides import Side

BATCH_RECORDS = 1000
STALE = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


@dataclass(frozen=True, slots=True)
class Table:
    """A compacted topic to be: so many records of so many keys in each partition."""

    topic: str
    partitions: int
    records: int
    keys: int
    value_bytes: int
    segment_bytes: int
    batch_records: int = BATCH_RECORDS


def place(side: Side, table: Table, configs: dict[str, str]) -> int:
    """Create the topic on a running server, stop it, and write the logs, which the next start finds. Their bytes."""
    with admin.Admin(side.port) as a:
        a.create(table.topic, table.partitions, {"segment.bytes": str(table.segment_bytes), **configs})
        a.wait_online(table.topic, table.partitions)
    side.stop()
    return sum(_write(folder_of(side, table.topic, number), table) for number in range(table.partitions))


def folder_of(side: Side, topic: str, partition: int) -> Path:
    """Where a server keeps a partition."""
    found = [path for path in side.data.rglob(f"{topic}-{partition}") if path.is_dir()]
    if len(found) != 1:
        raise LoadError(f"{side.name}: {topic}-{partition} is in {found or 'no directory'}")
    return found[0]


def _write(folder: Path, table: Table) -> int:
    for path in folder.iterdir():
        if path.suffix in STALE:
            path.unlink()
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    words = (table.records, table.keys, table.value_bytes, table.batch_records, table.segment_bytes)
    done = subprocess.run(
        [str(build.keyedlog()), str(folder), *map(str, words)], capture_output=True, text=True, check=True
    )
    return int(json.loads(done.stdout)["bytes"])


def size_of(side: Side, topic: str, partitions: int) -> int:
    """Bytes of the topic's batches on disk."""
    folders = [folder_of(side, topic, number) for number in range(partitions)]
    return sum(path.stat().st_size for folder in folders for path in folder.glob("*.log"))
