"""Metadata, versions 0 to 13: brokers, topics, leaders. Creates missing topics by name where that is allowed, never by
id."""

from __future__ import annotations

from tapelog.metadata.describe import metadata_response, missing_topics
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.create_topics_response import CreateTopicsResponse
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.messages.metadata_response import MetadataResponse

_REFUSALS = (
    ErrorCode.INVALID_TOPIC_EXCEPTION,
    ErrorCode.INVALID_REPLICATION_FACTOR,
    ErrorCode.POLICY_VIOLATION,
)
_COMING = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)


def handle(node: NodeApi, call: Call, request: MetadataRequest) -> None:
    """Answer from the committed image, after creating what may be created."""
    missing = missing_topics(node.image, request)
    allowed = request.allow_auto_topic_creation if call.version >= 4 else True
    if not missing or not allowed or not node.setting_bool("auto.create.topics.enable"):
        call.reply(_response(node, call, request))
        return

    def created(outcome: CreateTopicsResponse | KafkaError) -> None:
        response = _response(node, call, request)
        told = outcome.topics if isinstance(outcome, CreateTopicsResponse) else []
        refused = {topic.name: topic.error_code for topic in told if topic.error_code in _REFUSALS}
        coming = [topic.name for topic in told if topic.error_code in _COMING]
        for topic in response.topics:
            if topic.name in refused:
                topic.error_code = refused[topic.name]
            elif topic.name in coming and topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                topic.error_code = int(ErrorCode.LEADER_NOT_AVAILABLE)  # created, and not known here yet
        call.reply(response)

    node.create_topics(missing, created)


def _response(node: NodeApi, call: Call, request: MetadataRequest) -> MetadataResponse:
    return metadata_response(node.image, request, call.version, call.connection.listener, node.node_id)
