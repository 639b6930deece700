"""Requests of this node to the active controller and to other brokers.

A request to the controller goes wherever the active one is: here (a call into our own dispatcher) or elsewhere. It is
sent again when the controller turned out to be another one, was lost, or changed meanwhile, until its time is over.
So a request may be carried out twice; all that nodes send to each other is made for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from tapelog.server.call import LocalCall
from tapelog.server.connection import Connection
from tapelog.server.routes import ON_BROKER, ON_CONTROLLER, ROUTES
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message

if TYPE_CHECKING:
    from tapelog.metadata.image import MetadataImage
    from tapelog.node.core import NodeCore

RETRY_MS: Final = 50
"""Between two attempts to reach the controller."""

WATCH_MS: Final = 100
"""How often a request under way looks whether the controller has changed."""

LANES: Final = {
    62: "lifecycle",  # BrokerRegistration
    63: "lifecycle",  # BrokerHeartbeat
    56: "alter-partition",  # AlterPartition
    73: "alter-partition",  # AssignReplicasToDirs
    58: "forwarding",  # Envelope
}
"""By API key. A heartbeat never waits behind somebody's new topics."""

Done = Callable[[Message | KafkaError], None]


class Remote:
    """Sends on behalf of the node."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._here: Connection | None = None

    def to_controller(self, request: Message, version: int, timeout_ms: int, done: Done) -> Errand:
        """See `NodeApi.to_controller`. done is never called before this returns."""
        errand = Errand(self, request, version, timeout_ms, done)
        errand.attempt()
        return errand

    def to_broker(
        self,
        node_id: int,
        lane: str,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        """See `NodeApi.to_broker`. done is never called before this returns."""
        node = self.node
        broker = node.image.brokers.get(node_id)
        endpoint = broker.endpoint(node.config.inter_broker_listener) if broker is not None else None
        if node_id == node.node_id:
            self.here(request, version, done, ON_BROKER)
        elif node.peers is None or endpoint is None:
            node.timers.after(0, lambda: done(None))
        else:
            node.peers.send(endpoint.host, endpoint.port, lane, request, version, timeout_ms, done)

    def brokers_changed(self, before: MetadataImage, changed: Iterable[int]) -> None:
        """Brokers that are gone, silent, or back as another process: what was sent to them before gets no answer. A
        machine that lost power does not even say so."""
        node = self.node
        for id in changed:
            was, now = before.brokers.get(id), node.image.brokers.get(id)
            if was is None or id == node.node_id or node.peers is None:
                continue
            if now is None or now.epoch != was.epoch or (now.fenced and not was.fenced):
                endpoint = was.endpoint(node.config.inter_broker_listener)
                if endpoint is not None:
                    node.peers.forget(endpoint.host, endpoint.port)

    def here(self, request: Message, version: int, done: Callable[[Message | None], None], side: int) -> None:
        """Ask ourselves, as if over the wire."""
        node = self.node
        if self._here is None:
            self._here = node.connect("127.0.0.1", node.config.inter_broker_listener)
        from tapelog.server.forward import stand_in

        asked = stand_in(self._here, "127.0.0.1", self._here.principal)
        asked.side = side
        route = ROUTES[request.API_KEY]
        assert route is not None, f"{type(request).__name__} is not served here"
        call = LocalCall(asked, request.API_KEY, version, f"node-{node.node_id}", _later(node, done))
        node.dispatcher.start(route, call, request)


class Errand:
    """One request to the active controller, until it is answered or its time is over."""

    def __init__(self, remote: Remote, request: Message, version: int, timeout_ms: int, done: Done) -> None:
        self.remote = remote
        self.node = remote.node
        self.request = request
        self.version = version
        self.deadline_ms = self.node.clock.monotonic_ms() + timeout_ms
        self.lane = LANES.get(request.API_KEY, "controller")
        self.done = done
        self.over = False
        self.attempts = 0
        self.asked: object = None
        """Whom the last attempt went to: an address, or True for this node."""

    def attempt(self) -> None:
        """Ask whoever is the active controller now."""
        node = self.node
        self.attempts += 1
        number = self.attempts
        left_ms = self.deadline_ms - node.clock.monotonic_ms()

        def answered(response: Message | None) -> None:
            self._answered(number, response)

        self.asked = self._controller()
        if node.controls:
            self.remote.here(self.request, self.version, answered, ON_CONTROLLER)
        elif isinstance(self.asked, tuple) and node.peers is not None and left_ms > 0:
            host, port = self.asked
            node.peers.send(host, port, self.lane, self.request, self.version, left_ms, answered)
        else:
            self.asked = None
        self._watch(WATCH_MS if self.asked is not None else RETRY_MS, number)

    def _controller(self) -> object:
        return True if self.node.controls else self.node.metadata.controller_endpoint

    def _watch(self, delay_ms: int, number: int) -> None:
        self.node.timers.after(delay_ms, lambda: self._look(number))

    def _look(self, number: int) -> None:
        """Nothing came yet: give up, ask somebody else, or go on waiting."""
        if self.over or number != self.attempts:
            return
        if self.node.clock.monotonic_ms() >= self.deadline_ms:
            self._finish(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no active controller answered in time"))
        elif self.asked is None or self._controller() not in (None, self.asked):
            self.attempt()
        else:
            self._watch(WATCH_MS, number)

    def _answered(self, number: int, response: Message | None) -> None:
        if self.over:
            return
        from tapelog.server.forward import NOT_CONTROLLER, mentions

        if response is not None and not mentions(response, NOT_CONTROLLER):
            self._finish(response)
        elif number == self.attempts:
            self.asked = None
            self._watch(RETRY_MS, number)

    def _finish(self, outcome: Message | KafkaError) -> None:
        self.over = True
        self.done(outcome)


def _later(node: NodeCore, done: Callable[[Message | None], None]) -> Callable[[Message | None], None]:
    """Handlers may answer at once; whoever asked is told after the call returned."""

    def receive(response: Message | None) -> None:
        node.timers.after(0, lambda: done(response))

    return receive
