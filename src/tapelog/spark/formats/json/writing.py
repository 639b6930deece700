"""Rows into JSON: times in ISO 8601, instants in UTC, decimals as text, bytes in base64; what is null is left out."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa

Writer: TypeAlias = Callable[[Any], bytes]


def json_writer(kind: Any) -> Writer:
    """What writes values of this type, as to_pylist gives them."""
    prepared = _prepared(kind)
    return lambda value: json.dumps(prepared(value), ensure_ascii=False, separators=(",", ":")).encode()


def _prepared(kind: Any) -> Callable[[Any], Any]:
    """What turns a value, not null, into one that json.dumps takes."""
    types = pa.types
    if types.is_struct(kind):
        parts = [(field.name, _prepared(field.type)) for field in kind]
        return lambda value: {name: part(value[name]) for name, part in parts if value[name] is not None}
    if types.is_list(kind):
        item = _prepared(kind.value_type)
        return lambda value: [None if one is None else item(one) for one in value]
    if types.is_map(kind):
        each = _prepared(kind.item_type)
        return lambda value: {str(name): None if one is None else each(one) for name, one in value}
    if types.is_timestamp(kind):
        return _moment
    if types.is_date(kind) or types.is_time(kind):
        return lambda value: value.isoformat()
    if types.is_duration(kind):
        return lambda value: value.total_seconds()
    if types.is_decimal(kind):
        return _number
    if types.is_binary(kind):
        return lambda value: base64.b64encode(value).decode()
    return lambda value: value


def _moment(value: datetime.datetime) -> str:
    """With a Z for an instant, whatever zone the session has; a time without a zone has no Z."""
    if value.tzinfo is None:
        return value.isoformat()
    return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")


def _number(value: decimal.Decimal) -> str:
    """As text: a JSON number is a float to most readers, and would lose digits."""
    return format(value, "f")
