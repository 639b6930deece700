"""One client's connection: requests read in order, sent on to nodes over lanes of its own, answered in order.

As on a broker, only consecutive Produces overlap; any other request begins when all before it are answered. The lanes
are opened when first needed and closed with the client, so a request that waits at a node holds up nobody else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from tapelog.router import produce
from tapelog.router.catalogue import Catalogue, ClusterLostError
from tapelog.router.frames import Call, StrangerError, framed, read_frame
from tapelog.router.upstream import Lane, NodeLostError
from tapelog.wire.api_keys import ApiKey
from tapelog.wire.strangers import Strangers
from tapelog.wire.values import UnsupportedVersionError, WireError

log = logging.getLogger("tapelog.router")

PIPELINED_MAX = 32
"""Produces of one client that may be under way."""

Handler = Callable[["Session", Call], Coroutine[Any, Any, bytes | None]]


class Self:
    """How the router appears to clients: the one broker there is."""

    def __init__(self, node_id: int, host: str, port: int) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port


class Session:
    """One client. `run` returns when it has gone."""

    def __init__(
        self,
        catalogue: Catalogue,
        me: Self,
        handlers: dict[int, Handler],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        strangers: Strangers,
    ) -> None:
        self.catalogue = catalogue
        self.me = me
        self.relay: Any = None
        self._handlers = handlers
        self._reader = reader
        self._writer = writer
        self._strangers = strangers
        self._lanes: dict[int, Lane] = {}
        self._all_lanes: list[tuple[int, Lane]] = []
        self._answers: asyncio.Queue[Awaitable[bytes | None]] = asyncio.Queue(PIPELINED_MAX)
        self._home = -1

    async def run(self) -> None:
        """Serve until the client closes, breaks the rules, or the cluster is gone."""
        answering = asyncio.create_task(self._answer())
        reading = asyncio.create_task(self._read())
        try:
            done, _ = await asyncio.wait((answering, reading), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except StrangerError as stranger:
            peer = self._writer.get_extra_info("peername")
            now_ms = int(asyncio.get_running_loop().time() * 1000)
            self._strangers.came(str(peer[0]) if peer else "?", str(stranger), now_ms, log.warning)
        except (WireError, ClusterLostError, UnsupportedVersionError) as error:
            log.info("a client is sent away: %s", str(error) or type(error).__name__)
        except OSError:
            pass  # it has gone
        finally:
            answering.cancel()
            reading.cancel()
            await asyncio.gather(answering, reading, return_exceptions=True)
            self.close()

    async def _read(self) -> None:
        pipelined = False
        while (payload := await read_frame(self._reader)) is not None:
            call = Call(payload)
            is_produce = call.api_key == ApiKey.PRODUCE
            if not (is_produce and pipelined):
                await self._answers.join()
            pipelined = is_produce
            if is_produce:
                await self._answers.put(await produce.start(self, call))
                continue
            handler = self._handlers.get(call.api_key)
            if handler is None:
                raise WireError(f"API {call.api_key} is not offered")
            await self._answers.put(handler(self, call))

    async def _answer(self) -> None:
        while True:
            pending = await self._answers.get()
            frame = await pending
            if frame is not None:
                self._writer.write(frame)
                await self._writer.drain()
            self._answers.task_done()

    # -- lanes

    async def lane(self, node: int) -> Lane:
        """This client's connection to a node for all but fetches. NodeLostError if there is none."""
        known = self._lanes.get(node)
        if known is None or known.closed:
            known = self._lanes[node] = await self.open_lane(node)
        return known

    async def open_lane(self, node: int) -> Lane:
        """Another connection to a node, closed with the client. NodeLostError if it cannot be had."""
        address = self.catalogue.nodes.get(node)
        if address is None:
            raise NodeLostError(f"node {node}", sent=False)
        try:
            opened = await Lane.open(*address)
        except NodeLostError:
            self.catalogue.doubt_node(node)
            raise
        self._all_lanes = [(known, lane) for known, lane in self._all_lanes if not lane.closed]
        self._all_lanes.append((node, opened))
        return opened

    async def ask(self, node: int, frame: bytes) -> bytes:
        """Send to a node and wait for the payload of its answer. NodeLostError if it does not come."""
        lane = await self.lane(node)
        try:
            answer = lane.send(frame)
            await lane.drain()
            return await answer
        except NodeLostError:
            self.catalogue.doubt_node(node)
            raise

    async def ask_any(self, frame: bytes) -> bytes:
        """Send to whatever node answers, the same one as before if it does. ClusterLostError if none does."""
        nodes = list(self.catalogue.nodes)
        if self._home in nodes:
            nodes.remove(self._home)
            nodes.insert(0, self._home)
        for node in nodes:
            try:
                payload = await self.ask(node, frame)
                self._home = node
                return payload
            except NodeLostError as lost:
                if lost.sent:
                    raise ClusterLostError from None  # it may have been done: the client must decide
        raise ClusterLostError

    def drop(self, node: int) -> None:
        """The cluster has given this node up: do not wait for its answers."""
        for known, lane in self._all_lanes:
            if known == node:
                lane.close()

    def close(self) -> None:
        """Close everything."""
        if self.relay is not None:
            self.relay.close()
        for _, lane in self._all_lanes:
            lane.close()
        self._writer.close()


async def forward(session: Session, call: Call) -> bytes:
    """To any node, as it came; the answer goes back as it comes."""
    return framed(await session.ask_any(framed(call.payload)))
