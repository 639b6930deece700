"""Texts of configuration values: parse, check against the table's bounds, print as Kafka prints them.

Callers: the controller (before a value becomes a record), NodeConfig (before a node starts), DescribeConfigs.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.kafka_configs import Row
from tapelog.base.storage_bounds import parse_prefix_bounds

BOOLEAN: Final = 1
STRING: Final = 2
INT: Final = 3
SHORT: Final = 4
LONG: Final = 5
DOUBLE: Final = 6
LIST: Final = 7
CLASS: Final = 8
PASSWORD: Final = 9

TYPE_NAMES: Final = ("UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD")
_WHOLE_BITS: Final = {INT: 31, SHORT: 15, LONG: 63}


class ConfigValueError(ValueError):
    """A value that the named configuration does not accept; the text says why."""


def split_list(text: str) -> list[str]:
    """The items of a LIST value; blanks around commas do not count."""
    text = text.strip()
    return [item.strip() for item in text.split(",")] if text else []


def parse_boolean(text: str) -> bool:
    """true or false, in any case."""
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError("expected true or false")
    return lowered == "true"


def parse_whole(text: str, bits: int = 63) -> int:
    """A decimal whole number that fits a signed integer of bits + 1 bits."""
    text = text.strip()
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError("not a whole number")
    value = int(text)
    if not -(1 << bits) <= value < (1 << bits):
        raise ValueError(f"not a whole number of {bits + 1} bits")
    return value


def check(row: Row, text: str | None) -> None:
    """Raise ConfigValueError unless text is a value that this row's configuration accepts."""
    name, kind, default, _, bounds = row
    if text is None:
        if default is not None:
            raise ConfigValueError(f"Invalid value null for configuration {name}: a value is needed")
        return
    try:
        value = canonical(kind, text)
        _check_bounds(kind, bounds, value)
    except ValueError as error:
        shown = "[hidden]" if kind == PASSWORD else text
        raise ConfigValueError(f"Invalid value {shown} for configuration {name}: {error}") from None


def canonical(kind: int, text: str) -> str:
    """The text as Kafka would print the parsed value; ValueError if it does not parse."""
    if kind == BOOLEAN:
        return "true" if parse_boolean(text) else "false"
    if kind in _WHOLE_BITS:
        try:
            return str(parse_whole(text, _WHOLE_BITS[kind]))
        except ValueError:
            raise ValueError(f"Not a number of type {TYPE_NAMES[kind]}") from None
    if kind == DOUBLE:
        try:
            return java_double(float(text.strip()))
        except ValueError:
            raise ValueError("Not a number of type DOUBLE") from None
    if kind == LIST:
        return ",".join(split_list(text))
    return text if kind == PASSWORD else text.strip()


def java_double(value: float) -> str:
    """A double in the notation of Double.toString."""
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError("not a finite number")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    text = next(shown for shown in (f"{value:.{size}e}" for size in range(17)) if float(shown) == value)
    digits, _, exponent = text.partition("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _check_bounds(kind: int, bounds: str, value: str) -> None:
    if bounds == "":
        return
    if ".." in bounds:
        _check_range(kind, bounds, value)
    elif bounds.startswith(("in:", "ci:")):
        allowed = bounds[3:].split(",")
        known = [item.lower() for item in allowed] if bounds.startswith("ci:") else allowed
        if (value.lower() if bounds.startswith("ci:") else value) not in known:
            raise ValueError("must be one of " + ", ".join(allowed))
    elif bounds.startswith("list:"):
        allowed = bounds[5:].split(",")
        for item in split_list(value):
            if item not in allowed:
                raise ValueError("each item must be one of " + ", ".join(allowed))
    elif bounds == "nonempty":
        if not value:
            raise ValueError("must not be empty")
    elif bounds == "nonempty-items":
        if "" in split_list(value):
            raise ValueError("an item must not be empty")
    elif bounds == "quotas":
        parse_prefix_bounds(value)
    elif bounds == "replicas":
        _check_replicas(value)
    elif bounds == "reset":
        _check_reset(value)
    else:
        raise AssertionError(f"unknown bounds {bounds!r}")


def _check_range(kind: int, bounds: str, value: str) -> None:
    span, _, extra = bounds.partition("|")
    if extra and value == extra:
        return
    low, _, high = span.partition("..")
    number = float(value) if kind == DOUBLE else int(value)
    beside = f" or {extra}" if extra else ""
    if number < float(low):
        raise ValueError(f"must be at least {low}{beside}")
    if high and number > float(high):
        raise ValueError(f"must be at most {high}{beside}")


def _check_replicas(value: str) -> None:
    items = split_list(value)
    if items in ([], ["*"]):
        return
    for item in items:
        partition, colon, broker = item.partition(":")
        if not (colon and partition.isdigit() and broker.isdigit()):
            raise ValueError("must be * or a list of partition:broker pairs")


def _check_reset(value: str) -> None:
    if value.lower() in ("latest", "earliest"):
        return
    prefix, _, duration = value.partition(":")
    if prefix.lower() != "by_duration" or not duration.upper().startswith("P") or len(duration) < 3:
        raise ValueError("must be latest, earliest or by_duration:<ISO 8601 duration>")
