"""Broker settings: what the operator set, over Kafka's defaults.

Who calls it: everything that needs a broker-wide number at start. Values that can change while the broker runs
(dynamic configs) are resolved in metadata/configs.py, which lays the image's overrides over these settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tapelog.base.config_values import ConfigValueError, parse_boolean, parse_whole, split_list
from tapelog.base.kafka_configs import BROKER, BROKER_QUOTA, BROKER_SYNONYMS, TOPIC, Row

BROKER_ROWS: Final[dict[str, Row]] = {row[0]: row for row in BROKER}
BROKER_QUOTA_ROWS: Final[dict[str, Row]] = {row[0]: row for row in BROKER_QUOTA}
TOPIC_ROWS: Final[dict[str, Row]] = {row[0]: row for row in TOPIC}
TOPIC_DEFAULTS: Final[dict[str, str]] = {row[0]: row[2] for row in TOPIC if row[2] is not None}

_MINUTES: Final = 60_000
_HOURS: Final = 3_600_000


class UnknownSettingError(ValueError):
    """A setting name that neither Kafka nor Tapelog has; the text names the nearest one."""


class RefusedSettingError(ValueError):
    """A setting that promises what this broker does not do; the text says what."""


class BrokerSettings:
    """Static broker settings by Kafka name; absent names have Kafka's default."""

    def __init__(self, static: Mapping[str, str] | None = None) -> None:
        self.static: dict[str, str] = dict(static) if static is not None else {}

    def text(self, name: str) -> str | None:
        """The value as text; None where Kafka's default is null. KeyError for names that do not exist."""
        found = self.static.get(name)
        return found if found is not None else BROKER_ROWS[name][2]

    def string(self, name: str) -> str:
        """The value as text; '' where Kafka's default is null."""
        return self.text(name) or ""

    def whole(self, name: str) -> int:
        """The value as a whole number."""
        text = self.text(name)
        assert text is not None, f"{name} has no default"
        return parse_whole(text)

    def number(self, name: str) -> float:
        """The value as a float."""
        text = self.text(name)
        assert text is not None, f"{name} has no default"
        return float(text)

    def flag(self, name: str) -> bool:
        """The value as a boolean."""
        return parse_boolean(self.string(name))

    def items(self, name: str) -> list[str]:
        """The value as a list."""
        return split_list(self.string(name))

    def millis(self, name: str) -> int:
        """The value of a `.ms` name whose spellings in minutes or hours also count (log.retention.ms)."""
        return synonym_millis(self.text, name)


def synonym_millis(lookup: Callable[[str], str | None], name: str) -> int:
    """Resolve name through its synonyms in order of precedence; -1 for any negative value."""
    for other in BROKER_SYNONYMS.get(name, (name,)):
        text = lookup(other)
        if text is not None:
            factor = _HOURS if other.endswith(".hours") else _MINUTES if other.endswith(".minutes") else 1
            return max(-1, parse_whole(text) * factor)
    raise KeyError(name)


def unknown_setting(name: str, known: Mapping[str, Row]) -> str:
    """The message for a name that does not exist, with the nearest that does."""
    if name.startswith("zookeeper."):
        return f"unknown setting {name!r}: Tapelog has no ZooKeeper, only KRaft (docs/operate/cluster.md, Apache Kafka)"
    return f"unknown setting {name!r}{nearest(name, known)}"


def nearest(name: str, known: Mapping[str, Row]) -> str:
    """`; did you mean …?`, or nothing where no name is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


__all__ = [
    "BROKER_QUOTA_ROWS",
    "BROKER_ROWS",
    "TOPIC_DEFAULTS",
    "TOPIC_ROWS",
    "BrokerSettings",
    "ConfigValueError",
    "RefusedSettingError",
    "UnknownSettingError",
    "nearest",
    "synonym_millis",
    "unknown_setting",
]
