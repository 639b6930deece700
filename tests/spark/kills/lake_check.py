"""What a killed lake query left: every number of its Iceberg table, counted, read by pyiceberg alone."""

from __future__ import annotations

from collections import Counter

from tapelog.spark import lake


def found(uri: str) -> Counter[int]:
    """How often each number is in the table; nothing where there is no table yet."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError

    table = lake.table(uri, format="iceberg")
    parent = table.directory.rpartition("/")[0]
    catalog = load_catalog("lake", type="sql", uri=f"sqlite:///{parent}/catalog.db")
    try:
        rows = catalog.load_table(table.identifier).scan(selected_fields=("value",)).to_arrow()
    except NoSuchTableError:
        return Counter()
    return Counter(int(value.removeprefix("out-")) for value in rows["value"].to_pylist())
