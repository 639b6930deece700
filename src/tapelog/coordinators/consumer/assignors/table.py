"""The assignors by the names that clients and `group.consumer.assignors` use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tapelog.coordinators.consumer.assignors import range as by_range
from tapelog.coordinators.consumer.assignors import uniform
from tapelog.coordinators.consumer.assignors.spec import Assignor

ASSIGNORS: Final[dict[str, Assignor]] = {"uniform": uniform.assign, "range": by_range.assign}

_CLASSES: Final[dict[str, str]] = {
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}


def configured(names: Iterable[str]) -> dict[str, Assignor]:
    """The assignors so named, in order; the first is for clients that name none. Kafka's class names are names too.

    ValueError for a name that is not known, or for no name at all.
    """
    chosen: dict[str, Assignor] = {}
    for given in names:
        name = _CLASSES.get(given.strip(), given.strip())
        if name not in ASSIGNORS:
            raise ValueError(f"there is no assignor {given!r}; there are {', '.join(ASSIGNORS)}")
        chosen[name] = ASSIGNORS[name]
    if not chosen:
        raise ValueError("at least one assignor must be named")
    return chosen
