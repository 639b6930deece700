"""CreateTopics, DeleteTopics and CreatePartitions: carried to the controller, answered when applied on this node."""

from __future__ import annotations

from tapelog.server.call import Call
from tapelog.server.handlers.lookup import answering
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import KafkaError
from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest
from tapelog.wire.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from tapelog.wire.messages.create_topics_request import CreateTopicsRequest
from tapelog.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from tapelog.wire.primitives import ZERO_UUID


def create_topics(node: NodeApi, call: Call, request: CreateTopicsRequest) -> None:
    """Versions 2 to 7."""

    def refused(error: KafkaError) -> CreateTopicsResponse:
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(name=topic.name, error_code=int(error.code), error_message=error.message)
                for topic in request.topics
            ]
        )

    node.change_metadata(lambda image: node.controller.create_topics(image, request), answering(call, refused))


def delete_topics(node: NodeApi, call: Call, request: DeleteTopicsRequest) -> None:
    """Versions 1 to 6; by id from version 6. The groups forget the topics' offsets."""

    def refused(error: KafkaError) -> DeleteTopicsResponse:
        wanted = [(topic.name, topic.topic_id) for topic in request.topics] + [
            (name, ZERO_UUID) for name in request.topic_names
        ]
        return DeleteTopicsResponse(
            responses=[
                DeletableTopicResult(name=name, topic_id=id, error_code=int(error.code), error_message=error.message)
                for name, id in wanted
            ]
        )

    node.change_metadata(
        lambda image: node.controller.delete_topics(image, request, call.version), answering(call, refused)
    )


def create_partitions(node: NodeApi, call: Call, request: CreatePartitionsRequest) -> None:
    """Versions 0 to 3."""

    def refused(error: KafkaError) -> CreatePartitionsResponse:
        return CreatePartitionsResponse(
            results=[
                CreatePartitionsTopicResult(name=topic.name, error_code=int(error.code), error_message=error.message)
                for topic in request.topics
            ]
        )

    node.change_metadata(lambda image: node.controller.create_partitions(image, request), answering(call, refused))
