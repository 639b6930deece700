"""FindCoordinator, versions 0 to 6: who coordinates a group or a transactional id.

It is the leader of the partition that the key belongs to. The first question creates the internal topic behind the
coordinator: `__consumer_offsets` or `__transaction_state`.
"""

from __future__ import annotations

from typing import Final

from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse

TOPICS: Final = {0: "__consumer_offsets", 1: "__transaction_state"}
"""Where the coordinators of each type keep what they know: groups, transactional ids."""


def handle(node: NodeApi, call: Call, request: FindCoordinatorRequest) -> None:
    """Answer once the topic behind the coordinator exists."""
    keys = request.coordinator_keys if call.version >= 4 else [request.key]
    topic = TOPICS.get(request.key_type)
    if topic is None:
        refused = KafkaError(ErrorCode.INVALID_REQUEST, f"no coordinator of type {request.key_type} is served here")
        call.reply(_response(node, call, request.key_type, keys, refused))
        return
    node.ensure_internal_topic(topic, lambda error: call.reply(_response(node, call, request.key_type, keys, error)))


def _response(
    node: NodeApi, call: Call, key_type: int, keys: list[str], error: KafkaError | None
) -> FindCoordinatorResponse:
    coordinators = [_coordinator(node, call, key_type, key, error) for key in keys]
    if call.version >= 4:
        return FindCoordinatorResponse(coordinators=coordinators)
    only = coordinators[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _coordinator(node: NodeApi, call: Call, key_type: int, key: str, error: KafkaError | None) -> Coordinator:
    image = node.image
    leader, endpoint = -1, None
    if error is None:
        owner = node.groups if key_type == 0 else node.transactions
        partition = image.partition(TOPICS[key_type], owner.partition_for(key))
        broker = image.brokers.get(partition.leader) if partition is not None else None
        if broker is not None and not broker.fenced:
            leader, endpoint = broker.id, broker.endpoint(call.connection.listener)
        if endpoint is None:
            error = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "nobody leads the coordinator's partition now")
    if error is not None or endpoint is None:
        code = int(error.code) if error is not None else 0
        message = error.message if error is not None else None
        return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)
    return Coordinator(key=key, node_id=leader, host=endpoint.host, port=endpoint.port)
