"""Runs the router: listens, keeps the catalogue fresh, and stops on SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence

from tapelog.base.addresses import host_port
from tapelog.router.catalogue import Address, Catalogue, ClusterLostError
from tapelog.router.routes import HANDLERS
from tapelog.router.session import Self, Session
from tapelog.wire.strangers import Strangers

log = logging.getLogger("tapelog.router")

REFRESH_S = 1.0
SERVES_AGAIN_S = 0.5
FIRST_ANSWER_S_MAX = 30.0


class NoClusterError(Exception):
    """The cluster did not answer when the router started."""


class Router:
    """One listening router. `address` is where it listens once `start` has returned."""

    def __init__(self, bootstrap: Sequence[Address], host: str, port: int, advertised: Address | None = None) -> None:
        self.catalogue = Catalogue(bootstrap)
        self._host, self._port = host, port
        self._advertised = advertised
        self._sessions: dict[int, Session] = {}
        self._strangers = Strangers()
        self._server: asyncio.Server | None = None
        self._me = Self(0, host, port)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def address(self) -> Address:
        """Where clients are told to connect."""
        return self._me.host, self._me.port

    async def start(self) -> None:
        """Learn the cluster, listen. NoClusterError, or OSError for an address that cannot be had."""
        await self._first_answer()
        self._server = await asyncio.start_server(self._serve, self._host, self._port, backlog=128, limit=1 << 20)
        port = self._server.sockets[0].getsockname()[1]
        host, told_port = self._advertised or (self._host, port)
        self._me = Self(min(self.catalogue.nodes), host, told_port or port)
        self._tasks.append(asyncio.create_task(self._keep_fresh()))

    async def _first_answer(self) -> None:
        deadline = asyncio.get_running_loop().time() + FIRST_ANSWER_S_MAX
        while True:
            try:
                await self.catalogue.refresh()
                if self.catalogue.nodes and self.catalogue.versions:
                    return
            except ClusterLostError:
                pass
            if asyncio.get_running_loop().time() > deadline:
                where = ", ".join(host_port(host, port) for host, port in self.catalogue.bootstrap)
                raise NoClusterError(f"no node of the cluster answers ({where})")
            await asyncio.sleep(SERVES_AGAIN_S)

    async def _keep_fresh(self) -> None:
        """Nodes that the cluster has given up are not waited for any longer."""
        while True:
            await asyncio.sleep(REFRESH_S)
            self._strangers.due(int(asyncio.get_running_loop().time() * 1000), log.warning)
            before = list(self.catalogue.nodes)
            try:
                await self.catalogue.refresh()
            except ClusterLostError:
                log.warning("no node of the cluster answers")
                continue
            for node in before:
                if node not in self.catalogue.nodes:
                    log.info("node %s is not there any more", node)
                    self.catalogue.doubt_node(node)
                    for session in list(self._sessions.values()):
                        session.drop(node)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self.catalogue, self._me, HANDLERS, reader, writer, self._strangers)
        self._sessions[id(session)] = session
        try:
            await session.run()
        except asyncio.CancelledError:
            pass  # the router stops: whoever waits for this task need not hear of it
        except Exception:
            log.exception("a session failed")
        finally:
            del self._sessions[id(session)]

    async def stop(self) -> None:
        """Close everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
        for session in list(self._sessions.values()):
            session.close()
        self.catalogue.close()


async def _run(router: Router, on_ready: Callable[[str], None]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await router.start()
    host, port = router.address
    on_ready(host_port(host, port))
    await stopped.wait()
    await router.stop()


def run(
    bootstrap: Sequence[Address],
    host: str,
    port: int,
    *,
    on_ready: Callable[[str], None],
    advertised: Address | None = None,
) -> None:
    """Serve until told to stop."""
    asyncio.run(_run(Router(bootstrap, host, port, advertised), on_ready))
