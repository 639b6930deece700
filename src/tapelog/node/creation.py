"""Topics that a client or the broker itself needs and that do not exist yet: created by the controller, then awaited.

The controller answers when the topic is committed; this node learns of it a moment later. Whoever asked is told when
the topic is in the image here, so that the next look finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.metadata.topics import auto_create_request
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.create_topics_response import CreateTopicsResponse

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

CREATE_VERSION: Final = 7
CREATE_MS_MAX: Final = 10_000
APPLY_MS_MAX: Final = 1000
"""How long a node may lag behind the controller before its answer leaves without the topic."""

Created = Callable[[CreateTopicsResponse | KafkaError], None]
PRESENT: Final = (int(ErrorCode.NONE), int(ErrorCode.TOPIC_ALREADY_EXISTS))


class TopicCreation:
    """Creates topics by name on behalf of others."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._waiting: list[Callable[[], bool]] = []

    def create(self, names: list[str], done: Created) -> None:
        """Create what does not exist, internal topics with their own settings; done once the image here has them."""
        node = self.node
        if node.controls:
            node.change_metadata(lambda image: node.controller.auto_create_topics(image, names), done)
            return

        def answered(response: Message | KafkaError) -> None:
            if not isinstance(response, CreateTopicsResponse):
                assert isinstance(response, KafkaError)
                done(response)
                return
            expected = [topic.name for topic in response.topics if topic.error_code in PRESENT]
            self._await(expected, lambda: done(response))

        request = auto_create_request(node.image, node.settings, names)
        node.to_controller(request, CREATE_VERSION, CREATE_MS_MAX, answered)

    def ensure_internal(self, name: str, done: Callable[[KafkaError | None], None]) -> None:
        """See `NodeApi.ensure_internal_topic`."""
        if name in self.node.image.topics:
            done(None)
            return

        def created(outcome: CreateTopicsResponse | KafkaError) -> None:
            if name in self.node.image.topics:
                done(None)
            elif isinstance(outcome, KafkaError):
                done(outcome)
            else:
                done(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, outcome.topics[0].error_message or ""))

        self.create([name], created)

    def image_published(self) -> None:
        """Look again whether what is awaited is there."""
        if self._waiting:
            self._waiting = [look for look in self._waiting if not look()]

    def _await(self, names: list[str], done: Callable[[], None]) -> None:
        told = False

        def look(late: bool = False) -> bool:
            nonlocal told
            if not told and (late or all(name in self.node.image.topics for name in names)):
                told = True
                done()
            return told

        def give_up() -> None:
            look(late=True)

        if not look():
            self._waiting.append(look)
            self.node.timers.after(APPLY_MS_MAX, give_up)
