"""Spark's types of Arrow's."""

from __future__ import annotations

from typing import Any

from tapelog.spark.formats.errors import FormatError


def spark_type(kind: Any) -> Any:
    """The Spark type of a column with this Arrow type."""
    from pyspark.sql.pandas.types import from_arrow_type

    try:
        return from_arrow_type(kind, prefer_timestamp_ntz=True)  # the default only from PySpark 4.2 on
    except Exception as error:  # PySpark's own error class differs between versions
        if not type(error).__module__.startswith("pyspark."):
            raise
        raise FormatError(
            f"Spark has no type for {kind}.", "Choose another reader schema, or read it as binary."
        ) from None
