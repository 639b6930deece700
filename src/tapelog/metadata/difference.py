"""What changed between two images when no records tell: after a snapshot took the place of the log."""

from __future__ import annotations

from tapelog.metadata.delta import ImageDelta
from tapelog.metadata.image import MetadataImage


def difference(old: MetadataImage, new: MetadataImage) -> ImageDelta:
    """A delta that names what differs, as replay would have."""
    delta = ImageDelta(old)
    delta.deleted_topics = [topic for topic in old.topics.values() if topic.id not in new.topics_by_id]
    delta.changed_topics = [topic for topic in new.topics.values() if old.topics_by_id.get(topic.id) != topic]
    for key in (*old.configs, *new.configs):
        if old.configs.get(key) != new.configs.get(key):
            delta.changed_configs[key] = None
    for id in (*old.brokers, *new.brokers):
        if old.brokers.get(id) != new.brokers.get(id):
            delta.changed_brokers[id] = None
    delta.features_changed = old.features != new.features
    return delta
