"""CreateTopics, DeleteTopics and CreatePartitions: carried to the controller, answered when applied on this node."""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest
from tapelog.wire.messages.create_topics_request import CreateTopicsRequest
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest


def create_topics(node: NodeApi, call: Call, request: CreateTopicsRequest) -> None:
    """Versions 2 to 7."""
    node.change_metadata(lambda image: node.controller.create_topics(image, request), call.outcome)


def delete_topics(node: NodeApi, call: Call, request: DeleteTopicsRequest) -> None:
    """Versions 1 to 6; by id from version 6. The groups forget the topics' offsets."""
    node.change_metadata(lambda image: node.controller.delete_topics(image, request, call.version), call.outcome)


def create_partitions(node: NodeApi, call: Call, request: CreatePartitionsRequest) -> None:
    """Versions 0 to 3."""
    node.change_metadata(lambda image: node.controller.create_partitions(image, request), call.outcome)
