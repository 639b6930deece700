"""Configurations: a broker's resources to that broker, all others to any node."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tapelog.router.frames import Call, changed
from tapelog.router.session import forward
from tapelog.router.upstream import NodeLostError
from tapelog.wire.catalog import response_class

if TYPE_CHECKING:
    from tapelog.router.session import Handler, Session

BROKER, BROKER_LOGGER = 4, 8
ANYBODY = -1


def of_resources(api_key: int) -> Handler:
    """A handler of DescribeConfigs, AlterConfigs or IncrementalAlterConfigs."""
    made: Any = response_class(api_key)
    answers = "results" if "results" in made.FIELDS else "responses"

    async def handle(session: Session, call: Call) -> bytes:
        request = call.decode()
        items: dict[int, list[Any]] = {}
        for resource in request.resources:
            items.setdefault(_node(session, resource), []).append(resource)
        if list(items) in ([], [ANYBODY]):
            return await forward(session, call)

        async def ask(node: int) -> bytes:
            frame = call.encode(changed(request, resources=items[node]))
            return await (session.ask_any(frame) if node == ANYBODY else session.ask(node, frame))

        told = await asyncio.gather(*map(ask, items), return_exceptions=True)
        found: list[Any] = []
        for payload in told:
            if isinstance(payload, NodeLostError):
                continue  # no answer about it: the client says so
            if isinstance(payload, BaseException):
                raise payload
            found += getattr(call.answer(payload), answers)
        return call.reply(made(**{answers: found}))

    return handle


def _node(session: Session, resource: Any) -> int:
    if resource.resource_type in (BROKER, BROKER_LOGGER) and resource.resource_name.isdigit():
        return int(resource.resource_name)
    return ANYBODY
