"""Sizes, durations, moments and counts as people write them: `1KiB`, `7d`, `-1h`, `50k`. Pure; used by every command.

Each parser raises ValueError with a sentence that says what would have been accepted.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from tapelog.base.durations import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_duration

__all__ = [
    "config_value",
    "format_count",
    "format_duration",
    "format_moment",
    "format_size",
    "parse_count",
    "parse_duration_ms",
    "parse_moment_ms",
    "parse_pair",
    "parse_size",
]

_DURATION_MS = {
    "ms": 1,
    "s": SECOND_MS,
    "m": MINUTE_MS,
    "min": MINUTE_MS,
    "h": HOUR_MS,
    "d": DAY_MS,
    "w": 7 * DAY_MS,
    "y": 365 * DAY_MS,
}
_SIZES = (".bytes", ".buffer.size", ".bytes.per.second")
_SIZE = {
    "": 1,
    "b": 1,
    **{f"{letter}{ending}": 1000**power for power, letter in enumerate("kmgtp", 1) for ending in ("", "b")},
    **{f"{letter}i{ending}": 1024**power for power, letter in enumerate("kmgtp", 1) for ending in ("", "b")},
}
_COUNT = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")


def _amount(text: str, units: dict[str, int], kind: str, example: str) -> int:
    match = _AMOUNT.fullmatch(text.strip().lower().replace("_", "").replace(",", ""))
    if match is None or match[2] not in units:
        raise ValueError(f"{text!r} is not a {kind}; write for example {example}")
    return round(float(match[1]) * units[match[2]])


def parse_size(text: str) -> int:
    """Bytes: `100`, `1.5kB` (1000s), `1KiB` (1024s), `2TB`."""
    return _amount(text, _SIZE, "size", "512, 1KiB, 10MB or 2TB")


def parse_count(text: str) -> int:
    """A number, perhaps with k, M or G (thousands, millions, thousand millions)."""
    return _amount(text, _COUNT, "number", "250, 50k or 1.5M")


def parse_duration_ms(text: str) -> int:
    """Milliseconds: `500ms`, `90s`, `1h30m`, `7d`; also as ISO 8601 has it: `PT1H30M`, `P7D`. A unit is required."""
    compact = text.strip().lower().replace(" ", "")
    if compact.startswith("p"):
        compact = compact[1:].replace("t", "", 1)
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)([a-z]+)", compact)
    if not parts or "".join(a + b for a, b in parts) != compact or any(unit not in _DURATION_MS for _, unit in parts):
        raise ValueError(f"{text!r} is not a duration; write for example 500ms, 90s, 1h30m or 7d")
    return round(sum(float(amount) * _DURATION_MS[unit] for amount, unit in parts))


def parse_moment_ms(text: str, now_ms: int) -> int:
    """Milliseconds since the epoch.

    `now`; `1h` or `-1h` (that long ago); `2026-05-01`, `2026-05-01T12:30`, `…Z`, `…+02:00` (local time unless it
    says otherwise); `@1767225600` (seconds) or `@1767225600000` (milliseconds).
    """
    word = text.strip()
    if word == "now":
        return now_ms
    if word.startswith("@") and word[1:].isdigit():
        number = int(word[1:])
        return number if number >= 10**11 else number * 1000
    try:
        return now_ms - parse_duration_ms(word.removeprefix("now").removeprefix("-"))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        raise ValueError(
            f"{text!r} is not a time; write for example 10m (ten minutes ago), 2026-05-01T12:30, "
            "2026-05-01T12:30Z or @1767225600000"
        ) from None
    return round(moment.timestamp() * 1000)


def config_value(name: str, value: str) -> str:
    """The value to store for a Kafka config: durations and sizes become the plain numbers that Kafka wants.

    `retention.ms=7d` stores 604800000, `segment.bytes=64MiB` 67108864, and so do `….buffer.size` and
    `….bytes.per.second`; anything else passes unchanged.
    """
    try:
        if name.endswith(".ms"):
            return str(parse_duration_ms(value))
        if name.endswith(_SIZES) and not value.lstrip("-").isdigit():
            return str(parse_size(value))
    except ValueError:
        pass
    return value


def parse_pair(text: str, what: str = "name=value") -> tuple[str, str]:
    """Split `name=value` at the first equals sign."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"{text!r} is not of the form {what}")
    return name.strip(), value


def format_size(size: float) -> str:
    """Bytes for people, in 1024s: `512 B`, `1.5 KiB`."""
    if size < 1024:
        return f"{size:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} PiB"


def format_count(count: float) -> str:
    """A count with thousands separated, without decimals."""
    return f"{count:,.0f}"


def format_moment(moment_ms: int) -> str:
    """A timestamp in UTC with milliseconds; `-` for none."""
    if moment_ms < 0:
        return "-"
    return datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
