"""Fetch of `__cluster_metadata`, by other replicas of the quorum and by observers: handed over by handlers/fetch when
it comes in on the controller's listener. Versions 12 to 18; the answer may wait for news."""

from __future__ import annotations

from tapelog.base.ids import METADATA_TOPIC
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import FetchResponse

VERSION_MIN = 12
"""Earlier ones do not name the epoch of the last record."""
ENDPOINTS_FROM = 16
NAMES = {"__cluster_metadata": METADATA_TOPIC}


def handle(node: NodeApi, call: Call, request: FetchRequest) -> None:
    """Let the quorum answer."""
    if call.version < VERSION_MIN:
        call.reply(FetchResponse(error_code=int(ErrorCode.UNSUPPORTED_VERSION)))
        return
    topics = request.topics
    named = len(topics) == 1 and METADATA_TOPIC in (topics[0].topic_id, NAMES.get(topics[0].topic))
    if not named or len(topics[0].partitions) != 1 or topics[0].partitions[0].partition != 0:
        call.reply(FetchResponse(error_code=int(ErrorCode.INVALID_REQUEST)))
        return

    def done(response: FetchResponse) -> None:
        if call.version < ENDPOINTS_FROM:
            response.node_endpoints = []
        call.reply(response)

    node.raft.fetch(request, done)
