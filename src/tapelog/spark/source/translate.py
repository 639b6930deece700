"""Spark's filters as plan's. What has no counterpart stays Spark's alone."""

from __future__ import annotations

import datetime
from typing import Any, Final

from tapelog.spark.plan.filters import Filter, Operator, Value

_OPERATORS: Final[dict[str, Operator]] = {
    "EqualTo": "=",
    "EqualNullSafe": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "In": "in",
}
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_NEVER_NULL: Final = ("topic", "partition", "offset", "timestamp", "timestampType")


def always_true(given: Any) -> bool:
    """Does every row pass? Spark adds `is not null` to each comparison."""
    return type(given).__name__ == "IsNotNull" and len(given.attribute) == 1 and given.attribute[0] in _NEVER_NULL


def translated(given: Any) -> Filter | None:
    """The filter of plan that says the same; None if there is none."""
    operator = _OPERATORS.get(type(given).__name__)
    if operator is None or len(given.attribute) != 1:
        return None
    values = [_value(value) for value in (given.value if operator == "in" else (given.value,))]
    known = [value for value in values if value is not None]
    if len(known) != len(values):
        return None
    return Filter(given.attribute[0], operator, tuple(known) if operator == "in" else known[0])


def _value(value: object) -> Value | None:
    if isinstance(value, datetime.datetime):
        moment = value if value.tzinfo else value.astimezone()  # Spark gives local time where it gives no zone
        return (moment - _EPOCH) // _MICROSECOND
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    return value
