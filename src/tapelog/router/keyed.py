"""Requests about groups and transactional ids: to their coordinators.

Most name one key and go on as they came. Some name many: those are split by coordinator and their answers put together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tapelog.router.catalogue import GROUP, TRANSACTION
from tapelog.router.frames import Call, changed, framed, greatest
from tapelog.router.session import forward
from tapelog.router.upstream import NodeLostError
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse
from tapelog.wire.messages.consumer_group_describe_response import DescribedGroup as DescribedConsumerGroup
from tapelog.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from tapelog.wire.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from tapelog.wire.messages.describe_transactions_response import DescribeTransactionsResponse, TransactionState
from tapelog.wire.messages.offset_fetch_response import OffsetFetchResponse, OffsetFetchResponseGroup

if TYPE_CHECKING:
    from tapelog.router.session import Handler, Session

NOT_HERE = int(ErrorCode.NOT_COORDINATOR)


def one_key(kind: int, key_of: Callable[[Any], str | None], refused: Callable[[Any], Message]) -> Handler:
    """To the coordinator of the one key; without a key to any node. refused: the answer when nobody is known."""

    async def handle(session: Session, call: Call) -> bytes:
        request = call.decode()
        key = key_of(request)
        if key is None:
            return await forward(session, call)
        node = await session.catalogue.coordinator(kind, key)
        try:
            if node < 0:
                raise NodeLostError(f"the coordinator of {key}", sent=False)
            return framed(await session.ask(node, framed(call.payload)))
        except NodeLostError:
            return call.reply(refused(request))

    return handle


def many_keys(
    kind: int, field: str, key_of: Callable[[Any], str], answers: str, refused: Callable[[str], Any], made: Any
) -> Handler:
    """Split by coordinator. field: the keys in the request; answers: theirs in the answer, refused: one that failed."""

    async def handle(session: Session, call: Call) -> bytes:
        request = call.decode()
        items: dict[int, list[Any]] = {}
        for item in getattr(request, field):
            items.setdefault(await session.catalogue.coordinator(kind, key_of(item)), []).append(item)
        if not items:
            return await forward(session, call)

        async def ask(node: int) -> bytes:
            if node < 0:
                raise NodeLostError("a coordinator", sent=False)
            return await session.ask(node, call.encode(changed(request, **{field: items[node]})))

        told = await asyncio.gather(*map(ask, items), return_exceptions=True)
        found: list[Any] = []
        throttles: list[int] = []
        for chosen, payload in zip(items.values(), told, strict=True):
            if isinstance(payload, NodeLostError):
                found += [refused(key_of(item)) for item in chosen]
            elif isinstance(payload, BaseException):
                raise payload
            else:
                answer = call.answer(payload)
                throttles.append(answer.throttle_time_ms)
                found += getattr(answer, answers)
        return call.reply(made(**{answers: found, "throttle_time_ms": greatest(throttles)}))

    return handle


def _itself(key: str) -> str:
    return key


describe_groups = many_keys(
    GROUP,
    "groups",
    _itself,
    "groups",
    lambda key: DescribedGroup(group_id=key, error_code=NOT_HERE),
    DescribeGroupsResponse,
)
delete_groups = many_keys(
    GROUP,
    "groups_names",
    _itself,
    "results",
    lambda key: DeletableGroupResult(group_id=key, error_code=NOT_HERE),
    DeleteGroupsResponse,
)
consumer_group_describe = many_keys(
    GROUP,
    "group_ids",
    _itself,
    "groups",
    lambda key: DescribedConsumerGroup(group_id=key, error_code=NOT_HERE),
    ConsumerGroupDescribeResponse,
)
describe_transactions = many_keys(
    TRANSACTION,
    "transactional_ids",
    _itself,
    "transaction_states",
    lambda key: TransactionState(transactional_id=key, error_code=NOT_HERE),
    DescribeTransactionsResponse,
)
_offset_fetch_one = one_key(GROUP, lambda r: str(r.group_id), lambda r: OffsetFetchResponse(error_code=NOT_HERE))
_offset_fetch_many = many_keys(
    GROUP,
    "groups",
    lambda group: str(group.group_id),
    "groups",
    lambda key: OffsetFetchResponseGroup(group_id=key, error_code=NOT_HERE),
    OffsetFetchResponse,
)


async def offset_fetch(session: Session, call: Call) -> bytes | None:
    """One group up to version 7, many from version 8."""
    return await (_offset_fetch_many if call.version >= 8 else _offset_fetch_one)(session, call)
