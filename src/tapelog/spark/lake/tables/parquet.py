"""A table of plain Parquet files with a log of our own: no library beside pyarrow, the same promises.

An entry of the log is created if its number is free, which object stores and file systems do atomically: that is the
commit. Whoever reads the directories without the log may see files that are not, or no longer, in the table.
"""

from __future__ import annotations

import json
from typing import Any

from tapelog.spark.lake.errors import ConflictError, LakeError
from tapelog.spark.lake.schema import Evolution
from tapelog.spark.lake.spec import Table
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables.state import (
    CHECKPOINT,
    CHECKPOINT_EVERY,
    LAYOUT,
    LOG,
    State,
    checkpoint_path,
    entry_path,
    number_of,
    packed,
    unpacked,
)
from tapelog.spark.lake.values import DATA, Commit, DataFile, Marker, Status, newest


class ParquetLake:
    """The table as its log says."""

    def __init__(self, table: Table, store: Store) -> None:
        self._table = table
        self._store = store
        self._state = State()
        self.refresh()

    def refresh(self) -> None:
        if self._state.version < 0:
            self._load()
        self._follow()
        while self._overtaken():
            self._load()
            self._follow()
        if self._state.version >= 0:
            wanted = self._table.partition.name if self._table.partition else ""
            found = self._state.partition
            if found != wanted:
                raise LakeError(
                    f"{self._table.url} is partitioned by {found or 'nothing'}, not by {wanted or 'nothing'}.",
                    "Give the partition that the table has, or another path.",
                )

    def _follow(self) -> None:
        while (entry := self._store.read_json(entry_path(self._state.version + 1))) is not None:
            self._apply(entry)

    def _overtaken(self) -> bool:
        """Is there a checkpoint behind what we know? Then the entries up to it may be gone: the number that seems free
        to us is not, and what were committed under it nobody would read."""
        coming = self._store.listed(LOG, after=entry_path(self._state.version)) if self._state.version >= 0 else ()
        return any(path.endswith(CHECKPOINT) for path, _, _ in coming)

    def _load(self) -> None:
        """Begin at the newest checkpoint. Entries before it may be gone, so that a table without one begins at 0."""
        newest_first = sorted(
            (path for path, _, _ in self._store.listed(LOG) if path.endswith(CHECKPOINT)), reverse=True
        )
        for path in newest_first:
            found = self._store.read_json(path)
            if found is not None:
                if found["layout"] > LAYOUT:
                    raise LakeError(f"{self._table.url}/{path} was written by a newer Tapelog.", "Upgrade this one.")
                self._state = State.from_json(found)
                return

    def _apply(self, entry: dict[str, Any]) -> None:
        if entry["layout"] > LAYOUT:
            raise LakeError(f"{self._table.url} was written by a newer Tapelog.", "Upgrade this one.")
        self._state.apply(entry)

    def _commit(self, entry: dict[str, Any], now_ms: int) -> None:
        version = self._state.version + 1
        entry = {"layout": LAYOUT, "version": version, "at_ms": now_ms, **entry}
        if not self._store.create(entry_path(version), json.dumps(entry).encode()):
            raise ConflictError
        self._state.apply(entry)
        if version % CHECKPOINT_EVERY == 0:
            self._store.create(checkpoint_path(version), json.dumps(self._state.to_json()).encode())

    def schema(self) -> Any | None:
        return unpacked(self._state.schema) if self._state.schema else None

    def create(self, schema: Any) -> None:
        partition = self._table.partition.name if self._table.partition else ""
        try:
            self._commit({"schema": packed(schema), "partition": partition}, 0)
        except ConflictError:
            self.refresh()

    def evolve(self, change: Evolution) -> None:
        self._commit({"schema": packed(change.schema)}, 0)

    def marker(self, app: str, wanted: int) -> Marker | None:
        return self._state.markers.get(app)

    def owner(self, name: str) -> str | None:
        return self._state.owners.get(name)

    def sign(self, app: str) -> str:
        return app

    def append(self, commit: Commit) -> None:
        entry = {
            "add": [file.to_json() for file in commit.files],
            "app": commit.app,
            "batch": commit.version,
            "attempt": commit.attempt,
            "name": commit.name,
            "event_max_us": newest(commit.files, self._state.event_max_us),
        }
        self._commit(entry, commit.now_ms)

    def replace(self, old: tuple[DataFile, ...], new: tuple[DataFile, ...], now_ms: int) -> None:
        self._commit({"remove": [file.path for file in old], "add": [file.to_json() for file in new]}, now_ms)

    def files(self) -> list[DataFile]:
        return list(self._state.files.values())

    def status(self) -> Status:
        files = self.files()
        rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
        return Status(rows, len(files), size, self._state.committed_ms, self._state.event_max_us)

    def tidy(self, older_than_ms: int) -> int:
        self.refresh()
        before = (
            self._state.version
        )  # what is listed now and named by a later entry was not there to be listed, or young
        old = [path for path, _, at in self._store.listed(DATA) if at * 1000 < older_than_ms]
        self.refresh()
        kept = {path for path, at_ms in self._state.removed.items() if at_ms >= older_than_ms}
        gone = [path for path in old if path not in self._state.files and path not in kept]
        self._store.delete(gone)
        forget = [path for path, at_ms in self._state.removed.items() if at_ms < older_than_ms]
        if forget:
            try:
                self._commit({"forget": forget}, older_than_ms)
            except ConflictError:
                pass  # they are forgotten the next time
        self._drop_entries(before, older_than_ms)
        return len(gone)

    def _drop_entries(self, upto: int, older_than_ms: int) -> None:
        """Entries and checkpoints that an old enough checkpoint replaces; that one stays. The oldest go first."""
        listed = [(path, at * 1000 < older_than_ms) for path, _, at in self._store.listed(LOG)]
        last = max((number_of(path) for path, old in listed if old and path.endswith(CHECKPOINT)), default=-1)
        if 0 <= last <= upto:
            self._store.delete(sorted(path for path, _ in listed if number_of(path) < last))
