"""An image as a text that later changes of its parts could not leave as it was."""

from __future__ import annotations

from tapelog.metadata.image import MetadataImage


def frozen(image: MetadataImage) -> str:
    """Everything an image says."""
    return repr(
        [
            sorted(
                (t.name, t.id, [[getattr(p, f) for f in p.__slots__] for p in t.partitions])
                for t in image.topics.values()
            ),
            sorted((b.id, b.epoch, b.fenced, b.in_controlled_shutdown, b.log_dirs) for b in image.brokers.values()),
            sorted((key, sorted(values.items())) for key, values in image.configs.items()),
            sorted(image.features.items()),
            image.next_producer_id,
            image.offset,
        ]
    )
