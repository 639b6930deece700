"""Who uses how much: bytes and records per tenant, topic and client, over history. Pure; `reports` asks Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Used:
    """What one group of records holds; `who` are the values of the columns it was grouped by."""

    who: tuple[str | None, ...]
    records: int
    bytes: int
    first_ms: int | None
    last_ms: int | None


def usage_document(columns: Sequence[str], used: Sequence[Used]) -> dict[str, Any]:
    """Groups, the largest first, with their share and their rate over the time that they cover."""
    total = sum(one.bytes for one in used)
    rows = []
    for one in sorted(used, key=lambda one: (-one.bytes, [str(name) for name in one.who])):
        seconds = (one.last_ms - one.first_ms) / 1000 if one.first_ms is not None and one.last_ms is not None else 0
        rows.append(
            {
                **dict(zip(columns, one.who, strict=True)),
                "records": one.records,
                "bytes": one.bytes,
                "share": round(one.bytes / total, 4) if total else 0.0,
                "bytes_per_s": round(one.bytes / seconds, 1) if seconds > 0 else None,
                "first_ms": one.first_ms,
                "last_ms": one.last_ms,
            }
        )
    return {"by": list(columns), "records": sum(one.records for one in used), "bytes": total, "groups": rows}


def tenant_expression(pattern: str) -> str:
    """SQL for the tenant in a topic's name: the first group of a regular expression, `^([^.]+)\\.` say."""
    quoted = pattern.replace("\\", "\\\\").replace("'", "\\'")
    return f"nullif(regexp_extract(topic, '{quoted}', 1), '')"


def header_expression(name: str) -> str:
    """SQL for a header as text."""
    quoted = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST(filter(headers, h -> h.key = '{quoted}')[0].value AS STRING)"
