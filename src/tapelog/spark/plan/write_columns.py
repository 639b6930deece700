"""Which columns of a DataFrame make a record: names and types are those of Spark's Kafka sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tapelog.spark.plan.errors import DOCS, OptionError

HEADERS: Final = "array<struct<key:string,value:binary>>"

_TYPES: Final[dict[str, tuple[str, ...]]] = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "topic": ("string",),
    "partition": ("int",),
    "headers": (HEADERS,),
    "timestamp": ("timestamp", "timestamp_ntz"),
}


@dataclass(frozen=True, slots=True)
class Layout:
    """The positions of the columns that are written; None: there is none."""

    value: int
    key: int | None = None
    topic: int | None = None
    partition: int | None = None
    headers: int | None = None
    timestamp: int | None = None


def layout_of(
    schema: Sequence[tuple[str, str]],
    *,
    topic: str | None,
    include_headers: bool = True,
    include_timestamp: bool = False,
    encoded: Sequence[str] = (),
) -> Layout:
    """Positions from names and types (Spark's simpleString); `encoded` columns may have any type.

    Columns of other names are not written, as in Spark. OptionError if a record cannot be made of these columns.
    """
    found: dict[str, int] = {}
    for position, (name, kind) in enumerate(schema):
        lower = name.lower()
        if lower not in _TYPES or lower in found:
            continue
        if (lower == "headers" and not include_headers) or (lower == "timestamp" and not include_timestamp):
            continue
        if lower == "topic" and topic is not None:
            continue
        if lower not in encoded and kind not in _TYPES[lower]:
            raise OptionError(
                f"Column {lower} is of type {kind}: it must be {' or '.join(_TYPES[lower])}.",
                f"Cast it, or set {lower}Format to encode it. See {DOCS}."
                if lower in ("key", "value")
                else f"Cast it, or drop the column. See {DOCS}.",
            )
        found[lower] = position
    if "value" not in found:
        raise OptionError("There is no column value: every record has one, be it null.", f"See {DOCS}.")
    if topic is None and "topic" not in found:
        raise OptionError(
            "No topic to write to: set option topic, or add a column topic.",
            f"The option overrides the column, as in Spark. See {DOCS}.",
        )
    if include_timestamp and "timestamp" not in found:
        raise OptionError("Option includeTimestamp is true, and there is no column timestamp.", f"See {DOCS}.")
    return Layout(
        found["value"],
        found.get("key"),
        found.get("topic"),
        found.get("partition"),
        found.get("headers"),
        found.get("timestamp"),
    )
