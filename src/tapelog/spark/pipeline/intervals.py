"""Times as people write them (`10s`, `5 minutes`, `1h`), as Spark wants them."""

from __future__ import annotations

import re
from typing import Final

_TIME: Final = re.compile(r"\s*(\d{1,9})\s*([a-zA-Z]+)\s*", re.ASCII)
_UNITS: Final = {
    "ms": "milliseconds",
    "millisecond": "milliseconds",
    "milliseconds": "milliseconds",
    "s": "seconds",
    "second": "seconds",
    "seconds": "seconds",
    "m": "minutes",
    "min": "minutes",
    "minute": "minutes",
    "minutes": "minutes",
    "h": "hours",
    "hour": "hours",
    "hours": "hours",
    "d": "days",
    "day": "days",
    "days": "days",
}
_MS: Final = {"milliseconds": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}


def normal_interval(text: str) -> str | None:
    """`10 seconds` for `10s`; None where it is no time, or none at all."""
    match = _TIME.fullmatch(text)
    unit = _UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None or int(match[1]) == 0:
        return None
    return f"{int(match[1])} {unit}"


def interval_ms(normal: str) -> int:
    """Milliseconds of what `normal_interval` made."""
    number, unit = normal.split()
    return int(number) * _MS[unit]
