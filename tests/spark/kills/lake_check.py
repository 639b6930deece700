"""What a killed lake query left: every number of its Iceberg table, by pyiceberg alone; and of files nobody reads."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tapelog.spark import lake
from tests.spark.kills.accounts import number_of


def found(uri: str) -> list[int | None]:
    """The number of every row in the table; nothing where there is no table yet."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError

    table = lake.table(uri, format="iceberg")
    catalog = load_catalog("lake", type="sql", uri=f"sqlite:///{_directory(uri).parent}/catalog.db")
    try:
        rows = catalog.load_table(table.identifier).scan(selected_fields=("key", "value")).to_arrow()
    except NoSuchTableError:
        return []
    return [number_of(*row) for row in zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True)]


def written(uri: str) -> frozenset[str]:
    """Files of data that are there, whether the table has them or not."""
    return frozenset(map(str, (_directory(uri) / "data").rglob("*.parquet")))


def versions(uri: str) -> frozenset[str]:
    """What the table has been: one file for each commit."""
    return frozenset(map(str, (_directory(uri) / "metadata").glob("*.metadata.json")))


def numbers_in(paths: frozenset[str]) -> set[int]:
    """What these files hold; one that is not complete, or is swept just now, holds nothing."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers: set[int] = set()
    for path in paths:
        try:
            rows = pq.ParquetFile(path).read(["key", "value"])
        except (OSError, pa.ArrowInvalid):
            continue
        told = zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True)
        numbers |= {number for row in told if (number := number_of(*row)) is not None}
    return numbers


def rows_in(paths: frozenset[str]) -> int:
    """How many rows these files have; one that is not complete has none yet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 0
    for path in paths:
        with suppress(OSError, pa.ArrowInvalid):
            rows += pq.read_metadata(path).num_rows
    return rows


def _directory(uri: str) -> Path:
    return Path(lake.table(uri, format="iceberg").directory)
