"""Schema ids that travel in headers rather than in front of the value: Confluent's __key_schema_id, __value_schema_id.

Such a header holds a byte 1 and the schema's GUID in sixteen bytes, or a byte 0 and its id in four.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

from tapelog.spark.registry.client import SchemaKey

_GUID_BYTES: Final = 17
_ID_BYTES: Final = 5


def header_name(column: str) -> str:
    """The header that a column's schema id is in."""
    return f"__{column}_schema_id"


def keys_in(headers: Any, column: str) -> list[SchemaKey | None]:
    """The schema of each row, as its headers tell; None where they do not."""
    wanted = header_name(column)
    found: list[SchemaKey | None] = []
    for row in headers.to_pylist():
        data = next((pair["value"] for pair in reversed(row or ()) if pair["key"] == wanted), None)
        found.append(None if data is None else _key(data))
    return found


def _key(data: bytes) -> SchemaKey | None:
    if len(data) >= _GUID_BYTES and data[0] == 1:
        return str(uuid.UUID(bytes=bytes(data[1:_GUID_BYTES])))
    if len(data) >= _ID_BYTES and data[0] == 0:
        return int.from_bytes(data[1:_ID_BYTES], "big")
    return None
