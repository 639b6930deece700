"""The state of a Parquet table as the sum of its log: a machine without I/O.

The log is a directory of numbered entries; who creates entry n + 1 has committed. Every so many entries their sum is
kept as a checkpoint, and older ones can go.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from tapelog.spark.lake.values import DataFile, Marker

LOG: Final = "_lake"
CHECKPOINT_EVERY: Final = 20
"""So many entries are read at most, besides a checkpoint."""
CHECKPOINT: Final = ".checkpoint.json"
"""How the name of a checkpoint ends."""
LAYOUT: Final = 1
"""Of entries and checkpoints; readers refuse a newer one."""


@dataclass(slots=True)
class State:
    """A table after so many entries of its log."""

    version: int = -1
    schema: str = ""
    """Arrow's, serialised, in base64."""
    partition: str = ""
    files: dict[str, DataFile] = field(default_factory=dict)
    markers: dict[str, Marker] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    committed_ms: int | None = None
    event_max_us: int | None = None
    removed: dict[str, int] = field(default_factory=dict)
    """Files that compaction replaced, and when: readers may still be at them."""

    def apply(self, entry: dict[str, Any]) -> None:
        """One more entry of the log, in order."""
        assert entry["version"] == self.version + 1, f"entry {entry['version']} after {self.version}"
        self.version = entry["version"]
        self.schema = entry.get("schema", self.schema)
        self.partition = entry.get("partition", self.partition)
        for path in entry.get("remove", ()):
            del self.files[path]
            self.removed[path] = entry["at_ms"]
        for each in entry.get("add", ()):
            self.files[each["path"]] = DataFile(**each)
        for path in entry.get("forget", ()):
            self.removed.pop(path, None)
        if "app" in entry:
            self.markers[entry["app"]] = Marker(entry["batch"], entry["attempt"])
            self.owners[entry["name"]] = entry["app"]
            self.committed_ms = entry["at_ms"]
            self.event_max_us = entry["event_max_us"]

    def to_json(self) -> dict[str, Any]:
        """A checkpoint."""
        return {
            "layout": LAYOUT,
            "version": self.version,
            "schema": self.schema,
            "partition": self.partition,
            "files": [file.to_json() for file in self.files.values()],
            "markers": {app: [marker.version, marker.attempt] for app, marker in self.markers.items()},
            "owners": self.owners,
            "committed_ms": self.committed_ms,
            "event_max_us": self.event_max_us,
            "removed": self.removed,
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> State:
        """From a checkpoint."""
        return cls(
            version=given["version"],
            schema=given["schema"],
            partition=given["partition"],
            files={each["path"]: DataFile(**each) for each in given["files"]},
            markers={app: Marker(*marker) for app, marker in given["markers"].items()},
            owners=dict(given["owners"]),
            committed_ms=given["committed_ms"],
            event_max_us=given["event_max_us"],
            removed=dict(given["removed"]),
        )


def entry_path(version: int) -> str:
    """Of one entry; sorted by name is sorted by number."""
    return f"{LOG}/{version:020d}.json"


def checkpoint_path(version: int) -> str:
    """Of the sum of all entries up to this one."""
    return f"{LOG}/{version:020d}{CHECKPOINT}"


def number_of(path: str) -> int:
    """The number of an entry or checkpoint. Not by comparing names: a checkpoint's sorts before its entry's."""
    return int(path[len(LOG) + 1 :].partition(".")[0])


def packed(schema: Any) -> str:
    """A schema as text."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def unpacked(text: str) -> Any:
    """And back."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
