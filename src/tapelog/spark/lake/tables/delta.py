"""A Delta table, by deltalake: Spark wrote the Parquet files, an entry of the Delta log that names them is the commit.

The marker is Delta's own: an application transaction (appId = query id, version = batch) in the same entry. deltalake
must not repeat a commit that lost a race, since the marker has to be looked at again first.
"""

from __future__ import annotations

import hashlib
import json
import time
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from tapelog.spark.lake.errors import ConflictError, LakeError, missing_package
from tapelog.spark.lake.far import LAST_MS
from tapelog.spark.lake.schema import Evolution, plain
from tapelog.spark.lake.spec import Table, revealed
from tapelog.spark.lake.store import Store, plain_http
from tapelog.spark.lake.values import Commit, DataFile, Marker, Status, newest
from tapelog.spark.plan.errors import listed

try:
    from deltalake import CommitProperties, DeltaTable, Schema, Transaction
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    from deltalake.transaction import AddAction, RemoveAction
except ImportError:
    raise missing_package("deltalake") from None

_TOLD: Final = "tapelog"
_HISTORY_MAX: Final = 100
"""So many entries are searched for who committed last."""


class DeltaLake:
    """The table as its Delta log says."""

    def __init__(self, table: Table, store: Store) -> None:
        self._table = table
        self._store = store
        self._where = table.directory if table.scheme == "file" else table.url
        http = {"aws_allow_http": "true"} if plain_http(table) else {}
        self._options = {**http, **revealed(table.storage)} or None
        self._delta: Any = None
        self.refresh()

    def refresh(self) -> None:
        try:
            self._delta = DeltaTable(self._where, storage_options=self._options)
        except TableNotFoundError:
            self._delta = None
            return
        found = self._delta.metadata().partition_columns
        wanted = listed(self._columns())
        if found != self._columns():
            raise LakeError(
                f"{self._table.url} is partitioned by {listed(found) or 'nothing'}, not by {wanted or 'nothing'}.",
                "Give the partition that the table has, or another path.",
            )

    def _columns(self) -> list[str]:
        return [self._table.partition.name] if self._table.partition else []

    def schema(self) -> Any | None:
        if self._delta is None:
            return None
        every = pa.schema(self._delta.schema().to_arrow())
        return plain(pa.schema([field for field in every if field.name not in self._columns()]))

    def create(self, schema: Any) -> None:
        try:
            DeltaTable.create(
                self._where,
                schema=self._with_partition(schema),
                mode="ignore",
                partition_by=self._columns() or None,
                storage_options=self._options,
            )
        except (CommitFailedError, DeltaError):
            self.refresh()
            if self._delta is None:
                raise
        self.refresh()

    def _with_partition(self, schema: Any) -> Any:
        for name in self._columns():
            if schema.get_field_index(name) >= 0:
                raise LakeError(
                    f"Column {name} of the rows is called as the partition of {self._table.url} would be.",
                    "Drop or rename the column.",
                )
            schema = schema.append(pa.field(name, pa.string()))
        return schema

    def evolve(self, change: Evolution) -> None:
        nested = [name for name in change.added if "." in name]
        if change.widened or nested:
            raise LakeError(
                f"{self._table.url}: {listed(change.widened or nested)} would change in a Delta table.",
                "deltalake can add columns, not widen them; write to a new table, or use format=iceberg.",
            )
        fields = [Schema.from_arrow(pa.schema([change.schema.field(name)])).fields[0] for name in change.added]
        try:
            self._delta.alter.add_columns(fields)
        except (CommitFailedError, DeltaError) as error:
            self.refresh()
            known = self.schema()
            if known is None or any(known.get_field_index(name) < 0 for name in change.added):
                raise ConflictError from error

    def marker(self, app: str, wanted: int) -> Marker | None:
        found = None if self._delta is None else self._delta.transaction_version(app)
        if found is None:
            return None
        return Marker(found, self._attempt(app, found) if found >= wanted else "")

    def _attempt(self, app: str, version: int) -> str:
        """Who committed a batch: among the last entries, since it is asked right after the commit or after a
        restart."""
        for entry in self._delta.history(_HISTORY_MAX):
            told = entry.get(_TOLD) or {}
            if told.get("app") == app and told.get("batch") == version:
                return str(told["attempt"])
        return ""

    def owner(self, name: str) -> str | None:
        found = None if self._delta is None else self._delta.transaction_version(f"tapelog/{name}")
        return None if found is None else str(found)

    def sign(self, app: str) -> str:
        return str(int.from_bytes(hashlib.sha256(app.encode()).digest()[:7], "big"))

    def append(self, commit: Commit) -> None:
        event = newest(commit.files)
        told = {
            "app": commit.app,
            "batch": commit.version,
            "attempt": commit.attempt,
            "name": commit.name,
            "committed_ms": commit.now_ms,
            "event_max_us": event,
        }
        marks = [
            Transaction(commit.app, commit.version, commit.now_ms),
            Transaction(f"tapelog/{commit.name}", int(self.sign(commit.app)), commit.now_ms),
        ]
        self._commit([self._add(file, commit.now_ms, new=True) for file in commit.files], {_TOLD: told}, marks)

    def replace(self, old: tuple[DataFile, ...], new: tuple[DataFile, ...], now_ms: int) -> None:
        actions = [RemoveAction(file.path, False, now_ms, file.bytes, self._values(file)) for file in old]
        self._commit(
            [*actions, *(self._add(file, now_ms, new=False) for file in new)], {"tapelog.compaction": len(old)}, []
        )

    def _commit(self, actions: list[Any], told: dict[str, Any], marks: list[Any]) -> None:
        properties = CommitProperties(custom_metadata=told, max_commit_retries=0, app_transactions=marks)
        schema = self._delta.schema()
        try:
            self._delta.create_write_transaction(
                actions, "append", schema, self._columns(), commit_properties=properties
            )
        except CommitFailedError as error:
            raise ConflictError from error

    def _values(self, file: DataFile) -> dict[str, str | None]:
        return dict.fromkeys(self._columns(), file.partition)

    def _add(self, file: DataFile, now_ms: int, *, new: bool) -> Any:
        stats: dict[str, Any] = {"numRecords": file.rows}
        part = self._table.partition
        if part and file.event_min_us is not None and file.event_max_us is not None:
            # milliseconds, as Delta keeps bounds: the upper one is rounded up
            stats["minValues"] = {part.column: _iso(file.event_min_us // 1000)}
            stats["maxValues"] = {part.column: _iso(min(-(-file.event_max_us // 1000), LAST_MS))}
        return AddAction(file.path, file.bytes, self._values(file), now_ms, new, json.dumps(stats))

    def files(self) -> list[DataFile]:
        if self._delta is None:
            return []
        actions = pa.table(self._delta.get_add_actions(flatten=True)).to_pylist()
        vectors = pa.RecordBatchReader.from_stream(self._delta.deletion_vectors()).read_all().num_rows
        if vectors:
            raise LakeError(
                f"{self._table.url} was changed by another engine: rows were deleted by deletion vectors.",
                "Read and compact it by that engine; appending goes on to work.",
            )
        return [self._described(action) for action in actions]

    def _described(self, action: dict[str, Any]) -> DataFile:
        part = self._table.partition
        value = action.get(f"partition.{part.name}") if part else None
        low = action.get(f"min.{part.column}") if part else None
        high = action.get(f"max.{part.column}") if part else None
        rows = action["num_records"]
        if rows is None:
            raise LakeError(
                f"{self._table.url}: file {action['path']} tells no number of rows; another engine wrote it.",
                "Read and compact it by that engine; appending goes on to work.",
            )
        return DataFile(action["path"], value, rows, action["size_bytes"], _epoch_us(low), _epoch_us(high))

    def status(self) -> Status:
        files = self.files()
        rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
        committed = None
        for entry in self._delta.history(_HISTORY_MAX) if self._delta is not None else ():
            if told := entry.get(_TOLD):
                committed = told["committed_ms"]
                break
        return Status(rows, len(files), size, committed, newest(files))

    def tidy(self, older_than_ms: int) -> int:
        if self._delta is None:
            return 0
        self._delta.create_checkpoint()
        hours = max(0, int((time.time() * 1000 - older_than_ms) // 3_600_000))
        gone: list[str] = self._delta.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
        return len(gone)


def _iso(millis: int) -> str:
    at: datetime = pa.scalar(millis, pa.timestamp("ms", "UTC")).as_py()
    return f"{at:%Y-%m-%dT%H:%M:%S}.{millis % 1000:03d}Z"


def _epoch_us(value: Any) -> int | None:
    """A bound as the library tells it, in microseconds since 1970."""
    if value is None:
        return None
    found: int = pa.scalar(value).cast(pa.timestamp("us")).cast(pa.int64()).as_py()
    return found
