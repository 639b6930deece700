"""How a consumed record is shown: for people, as JSON lines, or by a template. Pure; used by `tape consume`."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from rich.json import JSON
from rich.text import Text

from tapelog.cli.units import format_moment

FIELDS = ("topic", "partition", "offset", "timestamp", "timestamp_ms", "key", "value", "headers", "size")
_FIELD = re.compile(r"\{(\w+)\}|\\([nt0\\])")
_ESCAPES = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Incoming:
    """One record as it was read."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def readable(data: bytes | None) -> str:
    """Text if it is UTF-8, otherwise hexadecimal after `0x`; nothing for null."""
    if data is None:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "0x" + data.hex()


def plain(data: bytes | None, *, parse: bool = True) -> Any:
    """For JSON: null, text, a parsed object or array, or {"base64": …} for bytes that are no text."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
    if parse and text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return text


def as_document(record: Incoming) -> dict[str, Any]:
    """The record for `--json`; `tape produce --from-json` takes it back."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": format_moment(record.timestamp_ms),
        "timestamp_ms": record.timestamp_ms,
        "key": plain(record.key, parse=False),
        "value": plain(record.value),
        "headers": [[name, plain(value, parse=False)] for name, value in record.headers],
    }


def check_template(template: str) -> None:
    """Raise ValueError for a field that does not exist."""
    for match in _FIELD.finditer(template):
        if match[1] and match[1] not in FIELDS:
            raise ValueError(f"there is no field {{{match[1]}}}; there are {', '.join(FIELDS)}")


def by_template(record: Incoming, template: str) -> str:
    """Fill each `{field}` of FIELDS, and `\\n`, `\\t`."""

    def fill(match: re.Match[str]) -> str:
        if match[2]:
            return _ESCAPES[match[2]]
        match match[1]:
            case "key":
                return readable(record.key)
            case "value":
                return readable(record.value)
            case "headers":
                return ",".join(f"{name}={readable(value)}" for name, value in record.headers)
            case "timestamp":
                return format_moment(record.timestamp_ms)
            case "size":
                return str(len(record.value or b""))
            case name:
                return str(getattr(record, name))

    return _FIELD.sub(fill, template)


def for_people(record: Incoming) -> list[Text]:
    """A line about the record and, below it, its value: JSON indented, other text as it is, binary in hexadecimal."""
    head = Text.assemble(
        (f"{record.topic}[{record.partition}]@{record.offset}", "cyan"),
        (f"  {format_moment(record.timestamp_ms)}", "dim"),
    )
    if record.key is not None:
        head.append("  key ").append(readable(record.key), style="bold")
    for name, value in record.headers:
        head.append("  ").append(f"{name}: ", style="magenta").append(readable(value) if value is not None else "null")
    if record.value is None:
        return [head, Text("  (no value: a tombstone)", style="dim italic")]
    parsed = plain(record.value)
    if isinstance(parsed, dict | list) and not (isinstance(parsed, dict) and set(parsed) == {"base64"}):
        body = JSON.from_data(parsed, indent=2, ensure_ascii=False).text
    else:
        body = Text(readable(record.value))
    return [head, body]
