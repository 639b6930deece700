"""Answers in which the router stands for the cluster: Metadata, FindCoordinator, DescribeCluster, ApiVersions, lists.

Clients see one broker that leads and coordinates everything. What these answers say of the real nodes is learned.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tapelog.router.frames import Call, framed
from tapelog.router.upstream import NodeLostError
from tapelog.wire.api_keys import ApiKey
from tapelog.wire.catalog import request_class
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tapelog.wire.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from tapelog.wire.messages.describe_topic_partitions_response import DescribeTopicPartitionsResponse
from tapelog.wire.messages.find_coordinator_response import FindCoordinatorResponse
from tapelog.wire.messages.list_groups_response import ListGroupsResponse
from tapelog.wire.messages.list_transactions_response import ListTransactionsResponse
from tapelog.wire.messages.metadata_response import MetadataResponse, MetadataResponseBroker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapelog.router.session import Session

API_VERSIONS_MAX = 4


def api_versions(decoded: Iterable[int], passed: Iterable[int]) -> Any:
    """A handler that offers what all nodes serve: decoded APIs up to the version that we know, others as they are."""
    known = {key: request_class(key).STABLE_MAX for key in decoded}
    offered = [*known, *passed]

    async def handle(session: Session, call: Call) -> bytes:
        versions = session.catalogue.versions
        keys = []
        for key in sorted(offered):
            if key in versions:
                low, high = versions[key]
                high = min(high, known.get(key, high))
                if low <= high:
                    keys.append(ApiVersion(key, low, high))
        if call.version > API_VERSIONS_MAX:
            response = ApiVersionsResponse(
                error_code=int(ErrorCode.UNSUPPORTED_VERSION),
                api_keys=[one for one in keys if one.api_key == ApiKey.API_VERSIONS],
            )
            return framed(call.correlation_id.to_bytes(4, "big", signed=True) + response.tobytes(0))
        features = session.catalogue.features
        return call.reply(
            ApiVersionsResponse(
                api_keys=keys,
                supported_features=[
                    one for one in features.supported_features if one.min_version > 0 or call.version >= 4
                ],
                finalized_features_epoch=features.finalized_features_epoch,
                finalized_features=features.finalized_features,
            )
            if call.version >= 3
            else ApiVersionsResponse(api_keys=keys)
        )

    return handle


async def metadata(session: Session, call: Call) -> bytes:
    """One broker, which leads every partition that has a leader."""
    answer: MetadataResponse = call.answer(await session.ask_any(framed(call.payload)))
    session.catalogue.learn(answer)
    me = session.me
    answer.brokers = [MetadataResponseBroker(me.node_id, me.host, me.port, None)]
    if call.version >= 1:
        answer.controller_id = me.node_id
    for topic in answer.topics:
        for part in topic.partitions:
            _only_me(session, part)
    return call.reply(answer)


def _only_me(session: Session, part: Any) -> None:
    if part.leader_id >= 0:
        part.leader_id = session.me.node_id
    part.replica_nodes = [session.me.node_id]
    part.isr_nodes = [session.me.node_id] if part.leader_id >= 0 else []
    part.offline_replicas = []


async def describe_topic_partitions(session: Session, call: Call) -> bytes:
    """The same for the newer way to ask."""
    answer: DescribeTopicPartitionsResponse = call.answer(await session.ask_any(framed(call.payload)))
    for topic in answer.topics:
        for part in topic.partitions:
            _only_me(session, part)
            part.eligible_leader_replicas, part.last_known_elr = [], []
    return call.reply(answer)


async def find_coordinator(session: Session, call: Call) -> bytes:
    """The router coordinates whatever somebody coordinates."""
    request = call.decode()
    answer: FindCoordinatorResponse = call.answer(await session.ask_any(framed(call.payload)))
    session.catalogue.learn_coordinators(request.key_type, answer, request.key)
    me = session.me
    for one in answer.coordinators if call.version >= 4 else [answer]:
        if one.error_code == 0:
            one.node_id, one.host, one.port = me.node_id, me.host, me.port
    return call.reply(answer)


async def describe_cluster(session: Session, call: Call) -> bytes:
    """A cluster of one broker."""
    answer: DescribeClusterResponse = call.answer(await session.ask_any(framed(call.payload)))
    me = session.me
    if answer.error_code == 0 and answer.endpoint_type == 1:
        answer.brokers = [DescribeClusterBroker(me.node_id, me.host, me.port, None)]
        answer.controller_id = me.node_id
    return call.reply(answer)


async def list_groups(session: Session, call: Call) -> bytes:
    """The groups of all coordinators."""
    answers = await _of_all(session, call)
    errors = [one.error_code for one in answers if one.error_code]
    return call.reply(
        ListGroupsResponse(
            error_code=errors[0] if errors else 0, groups=[group for one in answers for group in one.groups]
        )
    )


async def list_transactions(session: Session, call: Call) -> bytes:
    """The transactional ids of all coordinators."""
    answers = await _of_all(session, call)
    errors = [one.error_code for one in answers if one.error_code]
    return call.reply(
        ListTransactionsResponse(
            error_code=errors[0] if errors else 0,
            unknown_state_filters=answers[0].unknown_state_filters if answers else [],
            transaction_states=[state for one in answers for state in one.transaction_states],
        )
    )


async def _of_all(session: Session, call: Call) -> list[Any]:
    """Every node's answer. A node that is lost has no say: its groups are somebody else's by now, or will be."""
    frame = framed(call.payload)
    nodes = list(session.catalogue.nodes)
    told = await asyncio.gather(*(session.ask(node, frame) for node in nodes), return_exceptions=True)
    found = []
    for payload in told:
        if isinstance(payload, NodeLostError):
            continue
        if isinstance(payload, BaseException):
            raise payload
        found.append(call.answer(payload))
    return found
