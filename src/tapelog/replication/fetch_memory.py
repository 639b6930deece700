"""The fetching side of an incremental fetch session (KIP-227): what the leader remembers of us.

Owned by a lane of a `follower.Fetcher`. The first request names every partition; later ones only those whose position
changed and those that are to be forgotten. Whenever anything goes wrong the next one is complete again.
"""

from __future__ import annotations

from typing import Final

from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tapelog.wire.messages.fetch_response import FetchResponse

EPOCH_MAX: Final = 0x7FFFFFFF
FINAL: Final = -1

Key = tuple[bytes, int]
"""Topic id and partition."""


class FetchMemory:
    """Session id and epoch; epoch 0 asks for a new session."""

    def __init__(self) -> None:
        self.id = 0
        self.epoch = 0

    @property
    def complete(self) -> bool:
        """Whether the next request must name every partition."""
        return self.epoch == 0

    def reset(self) -> None:
        """Begin anew; the next request says that the session before is not needed any more."""
        self.epoch = 0

    def answered(self, response: FetchResponse) -> None:
        """The leader answered without a complaint about the session."""
        if response.session_id == 0:  # it has no room for another session
            self.id = self.epoch = 0
        elif self.epoch == 0:
            self.id, self.epoch = response.session_id, 1
        else:
            self.epoch = 1 if self.epoch == EPOCH_MAX else self.epoch + 1


def place(request: FetchRequest, parts: list[tuple[Key, FetchPartition]], forgotten: list[Key]) -> None:
    """Put partitions into a request, topic by topic."""
    topics: dict[bytes, FetchTopic] = {}
    for (topic_id, _), part in parts:
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = FetchTopic(topic_id=topic_id)
            request.topics.append(topic)
        topic.partitions.append(part)
    left: dict[bytes, ForgottenTopic] = {}
    for topic_id, index in forgotten:
        gone = left.get(topic_id)
        if gone is None:
            gone = left[topic_id] = ForgottenTopic(topic_id=topic_id)
            request.forgotten_topics_data.append(gone)
        gone.partitions.append(index)
