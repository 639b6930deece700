"""What `tape config` says of names that change nothing: unknown ones, and Kafka's that have no effect in Tapelog.

Brokers accept both, as Kafka's do. The words are those of the node's log (`base/config_refusals`).
"""

from __future__ import annotations

from collections.abc import Iterable

from tapelog.base.config import BROKER_ROWS, nearest
from tapelog.base.config_classes import NO_EFFECT
from tapelog.base.config_refusals import remark

OURS = "tapelog."


def is_ours(names: Iterable[str]) -> bool:
    """Whether these are the configurations of a Tapelog cluster: Apache Kafka describes none of ours."""
    return any(name.startswith(OURS) for name in names)


def without_effect(name: str) -> bool:
    """Whether Tapelog accepts it and does nothing with it."""
    return name in NO_EFFECT


def doubtful(names: Iterable[str]) -> dict[str, str]:
    """Name → what to know of it, for names that Tapelog accepts and does not use."""
    told = {name: remark(name) for name in names}
    return {name: text + _near(name, text) for name, text in told.items() if text is not None}


def _near(name: str, text: str) -> str:
    return nearest(name, BROKER_ROWS) if text.startswith("unknown") else ""


def elsewhere(names: Iterable[str]) -> dict[str, str]:
    """The same for a cluster that is not Tapelog's, whose plug-ins may know any name: only likely slips."""
    unknown = [name for name in names if not without_effect(name)]
    found = {name: nearest(name, BROKER_ROWS) for name in unknown}
    return {name: f"{name} is not a setting of Kafka{near}" for name, near in found.items() if near}
