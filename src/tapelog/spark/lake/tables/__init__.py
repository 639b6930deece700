"""The formats of a lake table behind one port: Iceberg by pyiceberg, Delta by deltalake, Parquet by a log of our
own."""

from __future__ import annotations

from tapelog.spark.lake.spec import Table
from tapelog.spark.lake.store import Store
from tapelog.spark.lake.tables.base import Lake

__all__ = ["Lake", "open_lake"]


def open_lake(table: Table, store: Store) -> Lake:
    """The table behind its format's library, which is loaded here. LakeError where that is not installed."""
    if table.format == "iceberg":
        from tapelog.spark.lake.tables.iceberg import IcebergLake

        return IcebergLake(table, store)
    if table.format == "delta":
        from tapelog.spark.lake.tables.delta import DeltaLake

        return DeltaLake(table, store)
    from tapelog.spark.lake.tables.parquet import ParquetLake

    return ParquetLake(table, store)
