"""One JSON value into what Arrow takes for a type: the slow and thorough way, which says what is wrong and where.

As Spark reads JSON: a number in a string's place is its text, a number in a timestamp's place counts seconds, a decimal
is rounded half up.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pyarrow as pa

Converter: TypeAlias = Callable[[Any], Any]

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DECIMAL: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""What Java takes for a decimal: no blanks and no underscores, which Python takes."""


class Unfit(Exception):
    """A value does not fit its type: where, and what was expected."""


class Digits(float):
    """A number with a fraction that still knows its digits: a float keeps 17 of them, a decimal has up to 38."""

    __slots__ = ("text",)

    def __new__(cls, text: str) -> Digits:
        """From the digits."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str


def has_decimals(kind: Any) -> bool:
    """Whether there is a decimal somewhere in this type."""
    if pa.types.is_map(kind):
        return has_decimals(kind.item_type)
    if pa.types.is_nested(kind):
        return any(has_decimals(kind.field(number).type) for number in range(kind.num_fields))
    return bool(pa.types.is_decimal(kind))


def converter(kind: Any, path: str = "") -> Converter:
    """What turns a value of json.loads into one for pa.array(…, kind); Unfit if it cannot be."""
    inner = _inner(kind, path)
    return lambda value: None if value is None else inner(value)


def _inner(kind: Any, path: str) -> Converter:
    types = pa.types
    if types.is_struct(kind):
        parts = [(field.name, converter(field.type, f"{path}.{field.name}")) for field in kind]

        def struct(value: Any) -> Any:
            _expect(isinstance(value, dict), path, "an object")
            return {name: part(value.get(name)) for name, part in parts}

        return struct
    if types.is_list(kind):
        item = converter(kind.value_type, f"{path}[]")

        def items(value: Any) -> Any:
            _expect(isinstance(value, list), path, "an array")
            return [item(one) for one in value]

        return items
    if types.is_map(kind):
        each = converter(kind.item_type, f"{path}{{}}")

        def pairs(value: Any) -> Any:
            _expect(isinstance(value, dict), path, "an object")
            return [(_text(name, path), each(one)) for name, one in value.items()]

        return pairs
    return _simple(kind, path)


def _simple(kind: Any, path: str) -> Converter:
    types = pa.types
    if types.is_string(kind):
        return lambda value: _text(value, path)
    if types.is_integer(kind):
        limit = 1 << (kind.bit_width - 1)
        return lambda value: _whole(value, limit, path)
    if types.is_floating(kind):
        return lambda value: _number(value, path)
    if types.is_boolean(kind):

        def boolean(value: Any) -> Any:
            _expect(isinstance(value, bool), path, "true or false")
            return value

        return boolean
    if types.is_decimal(kind):
        context = decimal.Context(prec=kind.precision, rounding=decimal.ROUND_HALF_UP, traps=[decimal.InvalidOperation])
        unit = decimal.Decimal(1).scaleb(-kind.scale)
        return lambda value: _decimal(value, context, unit, path)
    if types.is_timestamp(kind):
        return lambda value: _moment(value, kind.tz is not None, path)
    if types.is_date(kind):
        return lambda value: _parsed(datetime.date.fromisoformat, value, path, "a date such as 2024-01-31")
    if types.is_binary(kind):
        return lambda value: _parsed(_base64, value, path, "text in base64")
    return lambda value: _expect(False, path, "null")


def _expect(fits: bool, path: str, expected: str) -> None:
    if not fits:
        raise Unfit(f"{path.lstrip('.') or 'the value'} is not {expected}")


def _text(value: Any, path: str) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unfit(f"{path.lstrip('.') or 'the value'} has half of a surrogate pair") from None
    return text


def _whole(value: Any, limit: int, path: str) -> int:
    fits = isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
    _expect(fits, path, "a whole number that fits")
    return int(value)


def _number(value: Any, path: str) -> float:
    _expect(isinstance(value, int | float) and not isinstance(value, bool), path, "a number")
    try:
        return float(value)
    except OverflowError:
        raise Unfit(f"{path.lstrip('.')} is too large") from None


def _decimal(value: Any, context: decimal.Context, unit: decimal.Decimal, path: str) -> decimal.Decimal:
    _expect(isinstance(value, int | float | str) and not isinstance(value, bool), path, "a decimal")
    text = value if isinstance(value, str) else value.text if isinstance(value, Digits) else repr(value)
    try:
        if not _DECIMAL.fullmatch(text):  # nor is NaN, which Python would quantize without a word
            raise ValueError
        return context.quantize(decimal.Decimal(text), unit)
    except (decimal.InvalidOperation, ValueError):
        raise Unfit(f"{path.lstrip('.')} is not a decimal of {context.prec} digits") from None


def _moment(value: Any, zoned: bool, path: str) -> datetime.datetime:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            found = _EPOCH + datetime.timedelta(seconds=value)
        except (OverflowError, ValueError):
            raise Unfit(f"{path.lstrip('.')} is a time too far away") from None
        return found if zoned else found.replace(tzinfo=None)
    moment: datetime.datetime = _parsed(
        datetime.datetime.fromisoformat, value, path, "a time such as 2024-01-31T12:00:00Z"
    )
    if zoned:
        return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return moment.replace(tzinfo=None)


def _parsed(parse: Callable[[str], Any], value: Any, path: str, expected: str) -> Any:
    _expect(isinstance(value, str), path, expected)
    try:
        return parse(value)
    except ValueError:
        raise Unfit(f"{path.lstrip('.') or 'the value'} is not {expected}") from None


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError from None
