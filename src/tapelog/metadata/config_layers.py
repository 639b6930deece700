"""Effective configuration: which value counts, where it comes from, and which others stand behind it.

A broker's value is looked up in layers: set for this broker, set for all brokers, the operator's static settings,
Kafka's default. A topic's value is its own override or follows from the broker's values. Read by the node core (to
configure logs), by DescribeConfigs and by CreateTopics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.base.config import BROKER_QUOTA_ROWS, BROKER_ROWS, TOPIC_DEFAULTS, TOPIC_ROWS, BrokerSettings
from tapelog.base.config_refusals import in_force
from tapelog.base.config_values import STRING, canonical
from tapelog.base.kafka_configs import BROKER_SYNONYMS, INTERNAL, TOPIC_SYNONYMS
from tapelog.metadata.image import RESOURCE_BROKER, MetadataImage

SOURCE_TOPIC: Final = 1
SOURCE_DYNAMIC_BROKER: Final = 2
SOURCE_DYNAMIC_DEFAULT: Final = 3
SOURCE_STATIC: Final = 4
SOURCE_DEFAULT: Final = 5
SOURCE_BROKER_LOGGER: Final = 6
SOURCE_CLIENT_METRICS: Final = 7
SOURCE_GROUP: Final = 8

Synonym = tuple[str, str, int]
"""(name, value, source)"""

_SEGMENT_BYTES: Final = "segment.bytes"
_INTERNAL_SEGMENT_BYTES: Final = "internal.segment.bytes"


class Layers:
    """The configuration of one broker (or, without an id, of any broker) over an image."""

    def __init__(self, image: MetadataImage, settings: BrokerSettings, broker_id: int | None) -> None:
        own = image.config(RESOURCE_BROKER, str(broker_id)) if broker_id is not None else {}
        self.settings = settings
        self._explicit: tuple[tuple[int, Mapping[str, str]], ...] = (
            (SOURCE_DYNAMIC_BROKER, _in_force(own)),
            (SOURCE_DYNAMIC_DEFAULT, _in_force(image.config(RESOURCE_BROKER, ""))),
            (SOURCE_STATIC, settings.static),
        )

    def explicit(self, name: str) -> str | None:
        """The value somebody set; None if Kafka's default holds."""
        for _, values in self._explicit:
            text = values.get(name)
            if text is not None:
                return text
        return None

    def text(self, name: str) -> str | None:
        """The value that counts."""
        found = self.explicit(name)
        if found is not None:
            return found
        row = BROKER_ROWS.get(name) or BROKER_QUOTA_ROWS.get(name)
        return row[2] if row is not None else None

    def explicit_names(self) -> list[str]:
        """Every name somebody set, sorted."""
        return sorted({name for _, values in self._explicit for name in values})

    def dynamic(self, source: int) -> Mapping[str, str]:
        """The overrides of one dynamic layer."""
        return next(values for layer, values in self._explicit if layer == source)

    def synonyms(self, name: str) -> list[Synonym]:
        """Every value that stands behind a broker name, the one that counts first; [] if the name itself has none."""
        names = BROKER_SYNONYMS.get(name, (name,))
        found = [
            (other, values[other], source) for source, values in self._explicit for other in names if other in values
        ]
        for other in names:
            row = BROKER_ROWS.get(other)
            if row is not None and row[2] is not None:
                found.append((other, row[2], SOURCE_DEFAULT))
        for position, synonym in enumerate(found):
            if synonym[0] == name:
                return found[position:]
        return []


def _in_force(dynamic: Mapping[str, str]) -> Mapping[str, str]:
    """Without what a change cannot bring into force. Such changes are refused; earlier versions kept them."""
    if all(in_force(name, value) for name, value in dynamic.items()):
        return dynamic
    return {name: value for name, value in dynamic.items() if in_force(name, value)}


class TopicEntry:
    """One configuration of a topic: what counts, and why."""

    __slots__ = ("name", "source", "synonyms", "value")

    def __init__(self, name: str, value: str, source: int, synonyms: list[Synonym]) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.synonyms = synonyms


def topic_defaults(layers: Layers) -> dict[str, str]:
    """What a topic without overrides gets on this broker: every name with its value, in Kafka's notation."""
    values: dict[str, str] = {}
    for name, default in TOPIC_DEFAULTS.items():
        values[name] = default
        for broker_name, factor in TOPIC_SYNONYMS.get(name, ()):
            text = layers.explicit(broker_name)
            if text is not None:
                shown = canonical(TOPIC_ROWS[name][1], text)
                values[name] = shown if factor == 1 else str(max(-1, int(shown) * factor))
                break
    return values


def effective(defaults: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """A topic's values, given topic_defaults of the broker and its overrides: what its log must obey."""
    values = dict(defaults)
    for name, text in overrides.items():
        row = TOPIC_ROWS.get(name)
        values[name] = canonical(row[1] if row is not None else STRING, text)
    if _INTERNAL_SEGMENT_BYTES in values:
        values[_SEGMENT_BYTES] = values.pop(_INTERNAL_SEGMENT_BYTES)
    return values


def effective_topic_config(
    image: MetadataImage, settings: BrokerSettings, broker_id: int | None, topic: str
) -> dict[str, str]:
    """effective() for one topic; where many topics are asked for, compute topic_defaults once."""
    return effective(topic_defaults(Layers(image, settings, broker_id)), image.topic_config(topic))


def topic_entries(layers: Layers, overrides: Mapping[str, str]) -> list[TopicEntry]:
    """Every public configuration of a topic with its source and synonyms, by name."""
    defaults = topic_defaults(layers)
    entries = []
    for name, default in defaults.items():
        if name in INTERNAL:
            continue
        synonyms = layers.synonyms(TOPIC_SYNONYMS[name][0][0]) if name in TOPIC_SYNONYMS else []
        value = default
        if name in overrides:
            value = canonical(TOPIC_ROWS[name][1], overrides[name])
            synonyms = [(name, value, SOURCE_TOPIC), *synonyms]
        entries.append(TopicEntry(name, value, synonyms[0][2] if synonyms else SOURCE_DEFAULT, synonyms))
    return entries
