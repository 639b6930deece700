"""An Iceberg table, by pyiceberg: Spark wrote the Parquet files, a snapshot that names them is the commit.

The marker is a property of the table, set in the same commit as the snapshot: snapshots expire, properties do not. A
commit requires that the branch is where we last saw it, and is never repeated by pyiceberg itself: a repetition would
not look at the marker again.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from tapelog.spark.lake.errors import ConflictError, LakeError, missing_package
from tapelog.spark.lake.schema import Evolution, plain
from tapelog.spark.lake.spec import Table, revealed
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables.orphans import unneeded
from tapelog.spark.lake.values import Commit, DataFile, Marker, Status, newest
from tapelog.spark.plan.errors import listed

try:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import (
        CommitFailedException,
        NamespaceAlreadyExistsError,
        NoSuchTableError,
        TableAlreadyExistsError,
        ValidationException,
    )
    from pyiceberg.io.pyarrow import parquet_file_to_data_file, schema_to_pyarrow
except ImportError:
    raise missing_package("pyiceberg") from None

_BATCH: Final = "tapelog.lake.batch."
_QUERY: Final = "tapelog.lake.query."
_COMMITTED: Final = "tapelog.lake.committed-ms"
_EVENT: Final = "tapelog.lake.event-us"
_RETRIES: Final = "commit.retry.num-retries"
_CREATED_WITH: Final = {
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
}
_TO_PYICEBERG: Final = {
    "aws_endpoint": "s3.endpoint",
    "aws_endpoint_url": "s3.endpoint",
    "aws_access_key_id": "s3.access-key-id",
    "aws_secret_access_key": "s3.secret-access-key",
    "aws_session_token": "s3.session-token",
    "aws_region": "s3.region",
}


class IcebergLake:
    """The table in its catalog."""

    def __init__(self, table: Table, store: Store) -> None:
        self._table = table
        self._store = store
        self._catalog: Any = load_catalog("lake", **_properties(table))
        self._ice: Any = None
        self.refresh()

    def refresh(self) -> None:
        try:
            self._ice = self._catalog.load_table(self._table.identifier)
        except NoSuchTableError:
            self._ice = None
            return
        if self._ice.location().rstrip("/") != self._table.url:
            raise LakeError(
                f"{self._table.identifier} of the catalog lies at {self._ice.location()}, not at {self._table.url}.",
                "Give that path, or another identifier.",
            )
        self._check_partition()

    def _check_partition(self) -> None:
        wanted = self._table.partition.name if self._table.partition else ""
        fields = self._ice.spec().fields
        found = ", ".join(field.name for field in fields)
        if found != wanted:
            raise LakeError(
                f"{self._table.identifier} is partitioned by {found or 'nothing'}, not by {wanted or 'nothing'}.",
                "Give the partition that the table has, or another path.",
            )

    def schema(self) -> Any | None:
        return None if self._ice is None else plain(schema_to_pyarrow(self._ice.schema(), include_field_ids=False))

    def create(self, schema: Any) -> None:
        namespace = self._table.identifier.rpartition(".")[0]
        try:
            self._catalog.create_namespace_if_not_exists(namespace)
        except NamespaceAlreadyExistsError:
            pass
        try:
            with self._catalog.create_table_transaction(
                self._table.identifier, schema, location=self._table.url, properties=_CREATED_WITH
            ) as made:
                if self._table.partition:
                    with made.update_spec() as spec:
                        part = self._table.partition
                        spec.add_field(part.column, part.every, part.name)
        except (TableAlreadyExistsError, CommitFailedException):
            pass
        self.refresh()

    def evolve(self, change: Evolution) -> None:
        transaction = self._begin()
        with transaction.update_schema() as update:
            update.union_by_name(change.schema)
        self._end(transaction)

    def marker(self, app: str, wanted: int) -> Marker | None:
        found = self._ice.properties.get(_BATCH + app) if self._ice else None
        if found is None:
            return None
        version, _, attempt = found.partition(" ")
        return Marker(int(version), attempt)

    def owner(self, name: str) -> str | None:
        found: str | None = self._ice.properties.get(_QUERY + name) if self._ice else None
        return found

    def sign(self, app: str) -> str:
        return app

    def append(self, commit: Commit) -> None:
        transaction = self._begin()
        event = newest(commit.files, _number(self._ice.properties.get(_EVENT)))
        marks = {
            _BATCH + commit.app: f"{commit.version} {commit.attempt}",
            _QUERY + commit.name: commit.app,
            _COMMITTED: str(commit.now_ms),
        }
        transaction.set_properties(marks if event is None else {**marks, _EVENT: str(event)})
        told = {"tapelog.query": commit.name, "tapelog.batch": str(commit.version)}
        paths = [self._full(file.path) for file in commit.files]
        transaction.add_files(paths, snapshot_properties=told, check_duplicate_files=False)
        self._end(transaction)

    def replace(self, old: tuple[DataFile, ...], new: tuple[DataFile, ...], now_ms: int) -> None:
        gone = {self._full(file.path) for file in old}
        transaction = self._begin()
        try:
            with transaction.update_snapshot(
                snapshot_properties={"tapelog.compaction": str(len(old))}
            ).overwrite() as change:
                for task in self._tasks():
                    if task.file.file_path in gone:
                        change.delete_data_file(task.file)
                for file in new:
                    path = self._full(file.path)
                    change.append_data_file(parquet_file_to_data_file(self._ice.io, transaction.table_metadata, path))
        except ValidationException as error:
            raise ConflictError from error
        self._end(transaction)

    def _begin(self) -> Any:
        # of this copy only: pyiceberg would repeat a commit that lost a race, and the marker would not be looked at
        self._ice.metadata.properties[_RETRIES] = "0"
        return self._ice.transaction()

    def _end(self, transaction: Any) -> None:
        try:
            transaction.commit_transaction()
        except (CommitFailedException, ValidationException) as error:
            raise ConflictError from error

    def _tasks(self) -> list[Any]:
        return list(self._ice.scan().plan_files())

    def files(self) -> list[DataFile]:
        if self._ice is None:
            return []
        tasks = self._tasks()
        self._check_readable(tasks)
        return [self._described(task.file) for task in tasks]

    def _check_readable(self, tasks: list[Any]) -> None:
        names: dict[int, str] = {}
        renamed = []
        for schema in self._ice.schemas().values():
            for field in schema.fields:
                if names.setdefault(field.field_id, field.name) != field.name:
                    renamed.append(field.name)
        if renamed or any(task.delete_files for task in tasks):
            why = f"columns were renamed ({listed(renamed)})" if renamed else "rows were deleted by delete files"
            raise LakeError(
                f"{self._table.identifier} was changed by another engine: {why}.",
                "Read and compact it by that engine; appending goes on to work.",
            )

    def _described(self, file: Any) -> DataFile:
        part = self._table.partition
        path = file.file_path.removeprefix(self._table.url + "/")
        value, low, high = None, None, None
        if part:
            from tapelog.spark.lake.write import partition_text

            units = file.partition[0]
            micros = None if units is None else units * (86_400_000_000 if part.every == "day" else 3_600_000_000)
            value = partition_text(micros, part)
            field = self._ice.schema().find_field(part.column)
            low = _micros((file.lower_bounds or {}).get(field.field_id))
            high = _micros((file.upper_bounds or {}).get(field.field_id))
        return DataFile(path, value, file.record_count, file.file_size_in_bytes, low, high)

    def _full(self, path: str) -> str:
        return f"{self._table.url}/{path}"

    def status(self) -> Status:
        if self._ice is None:
            return Status(0, 0, 0, None, None)
        snapshot = self._ice.current_snapshot()
        summary = snapshot.summary if snapshot else None
        rows, files, size = (int(summary[name] or 0) if summary else 0 for name in _TOTALS)
        properties = self._ice.properties
        return Status(rows, files, size, _number(properties.get(_COMMITTED)), _number(properties.get(_EVENT)))

    def tidy(self, older_than_ms: int) -> int:
        if self._ice is None:
            return 0
        moment = datetime.fromtimestamp(older_than_ms / 1000, UTC)
        try:
            self._ice.maintenance.expire_snapshots().older_than(moment.replace(tzinfo=None)).commit()
        except CommitFailedException:
            pass  # others commit meanwhile: they are expired the next time
        gone = unneeded(self._store, older_than_ms, self._needed)
        self._store.delete(gone)
        return len(gone)

    def _needed(self) -> set[str]:
        """Everything that some snapshot refers to, below the table."""
        self.refresh()
        metadata = self._ice.metadata
        found = {self._ice.metadata_location, *(each.metadata_file for each in metadata.metadata_log)}
        for snapshot in self._ice.snapshots():
            found.add(snapshot.manifest_list)
            for manifest in snapshot.manifests(self._ice.io):
                if manifest.manifest_path not in found:
                    found.add(manifest.manifest_path)
                    entries = manifest.fetch_manifest_entry(self._ice.io, discard_deleted=True)
                    found.update(entry.data_file.file_path for entry in entries)
        return {path.removeprefix(self._table.url + "/") for path in found}


_TOTALS: Final = ("total-records", "total-data-files", "total-files-size")


def _properties(table: Table) -> dict[str, str]:
    given = revealed(table.catalog)
    if not given:
        parent = table.directory.rpartition("/")[0]
        given = {"type": "sql", "uri": f"sqlite:///{parent}/catalog.db", "warehouse": f"file://{parent}"}
    for name, value in revealed(table.storage).items():
        given.setdefault(_TO_PYICEBERG.get(name.lower(), name), value)
    return given


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _micros(bound: bytes | None) -> int | None:
    """Bounds of timestamps are eight bytes; those of dates four: days."""
    if bound is None:
        return None
    value = int.from_bytes(bound, "little", signed=True)
    return value * 86_400_000_000 if len(bound) == 4 else value
