"""What a node's log says of settings that do nothing here: at the start, and when one is changed.

Settings that promise something are refused before they get here (`base/config_refusals`). A change that an earlier
version or Apache Kafka wrote into the metadata is told as "not in force": DescribeConfigs does not show it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from tapelog.base.config_classes import NOT_DYNAMIC, WRITTEN_MIN_ISR
from tapelog.base.config_refusals import in_force, quoted, remark
from tapelog.base.config_values import parse_whole
from tapelog.metadata.electorate import MIN_ISR
from tapelog.metadata.image import (
    RESOURCE_BROKER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
    ConfigKey,
    MetadataImage,
)

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.config")

LINES_MAX: Final = 100
"""Of one start, or of one change of the metadata."""
_KINDS: Final = {RESOURCE_TOPIC: "topic", RESOURCE_GROUP: "group", RESOURCE_CLIENT_METRICS: "client metrics"}
_NOTHING: Final[Mapping[str, str]] = {}


def tell_static(settings: Mapping[str, str]) -> None:
    """Of node.toml's settings: those that do nothing, one line each."""
    _tell(line for name in sorted(settings) if (line := remark(name)) is not None)


def tell_stored(node: NodeCore) -> None:
    """Of the settings that the metadata has for this broker when it starts."""
    keys = ((RESOURCE_BROKER, ""), (RESOURCE_BROKER, str(node.node_id)))
    _tell(_lines(node.metadata.image, MetadataImage(cluster_id=""), keys))


def tell_minimum(node: NodeCore) -> None:
    """Where node.toml's min.insync.replicas is not the cluster's: which one counts, and how to change it."""
    given = node.metadata.settings.static.get(MIN_ISR)
    stored = node.image.config(RESOURCE_BROKER, "").get(MIN_ISR) if given is not None else None
    if given is not None and stored is not None and parse_whole(given) != parse_whole(stored):
        log.warning(
            "min.insync.replicas is %s for the cluster, not %s as in node.toml; to change it: "
            "tape config set broker all min.insync.replicas=%s",
            *(stored, given, given),
        )


def tell_changed(node: NodeCore, before: MetadataImage, changed: Iterable[ConfigKey]) -> None:
    """Of the settings that changed: each broker of its own and of everybody's, the active controller of the rest."""
    mine = ("", str(node.node_id))
    keys = [(kind, name) for kind, name in changed if (name in mine if kind == RESOURCE_BROKER else node.controls)]
    _tell(_lines(node.metadata.image, before, keys))


def _lines(image: MetadataImage, before: MetadataImage, keys: Iterable[ConfigKey]) -> Iterator[str]:
    for kind, resource in keys:
        old = before.configs.get((kind, resource), _NOTHING)
        for name, value in sorted(image.configs.get((kind, resource), _NOTHING).items()):
            if old.get(name) == value or name == WRITTEN_MIN_ISR:
                continue
            if kind == RESOURCE_BROKER and not in_force(name, value):
                shown = name if name in NOT_DYNAMIC else quoted(name)
                yield f"{shown} is stored for brokers, but not in force"
                continue
            noted = remark(name)
            if noted is not None:
                shown = resource if kind == RESOURCE_TOPIC else quoted(resource)
                yield noted if kind == RESOURCE_BROKER else f"{_KINDS.get(kind, 'resource')} {shown}: {noted}"


def _tell(lines: Iterable[str]) -> None:
    more = 0
    for position, line in enumerate(lines):
        if position < LINES_MAX:
            log.warning("%s", line)
        else:
            more += 1
    if more:
        log.warning("%d more settings like these have no effect", more)
