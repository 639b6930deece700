"""`topic.json`: what a topic is, so that the bucket alone can bring it back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tapelog.base import ids
from tapelog.log.tier import document
from tapelog.log.tier.document import DocumentError

KIND: Final = "tapelog-tier-topic"
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class TopicDocument:
    """Written by the leader of partition 0."""

    name: str
    topic_id: bytes
    cluster_id: str
    partitions: int
    replication_factor: int
    leader_epoch: int
    """Of partition 0: an older leader does not overwrite a newer one's."""
    configs: dict[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        """The object's bytes."""
        content = {
            "name": self.name,
            "topic_id": ids.to_text(self.topic_id),
            "cluster_id": self.cluster_id,
            "partitions": self.partitions,
            "replication_factor": self.replication_factor,
            "leader_epoch": self.leader_epoch,
            "configs": self.configs,
        }
        return document.render(KIND, VERSION, content)

    @staticmethod
    def decode(data: bytes) -> TopicDocument:
        """The inverse; DocumentError if it is damaged or of another version."""
        content = document.parse(KIND, VERSION, data)
        try:
            return TopicDocument(
                str(content["name"]),
                ids.from_text(content["topic_id"]),
                str(content["cluster_id"]),
                int(content["partitions"]),
                int(content["replication_factor"]),
                int(content["leader_epoch"]),
                {str(name): str(value) for name, value in content["configs"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(f"{KIND}: {type(error).__name__}: {error}") from None
