"""A client of the simulated cluster: finds leaders and coordinators, follows them, and gives up when it takes too long.

One Router per application. It learns from Metadata and FindCoordinator, asks anew when an answer says that it knew the
wrong node or when a connection is lost, and keeps requests of one destination in order. `Session` is what applications
hold: it looks like the connection of a single node, and is closed for good when any answer fails to come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tapelog.base.ports import Net
from tapelog.sim.client import Client
from tapelog.sim.clock import START_WALL_MS
from tapelog.sim.destinations import MOVED, NOWHERE, Destination, codes_of, destination_of
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.wire import Done, Wire
from tapelog.sim.world import World
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.find_coordinator_response import FindCoordinatorResponse
from tapelog.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tapelog.wire.messages.metadata_response import MetadataResponse

REQUEST_MS: Final = 2500
LOOKUP_MS: Final = 600
BACKOFF_MS: Final = 60
CALL_MS_MAX: Final = 90_000


class Waiting:
    """A request whose destination is not known yet."""

    __slots__ = ("deadline_ms", "done", "request", "version")

    def __init__(self, request: Message, version: int, deadline_ms: int, done: Done) -> None:
        self.request = request
        self.version = version
        self.deadline_ms = deadline_ms
        self.done = done


class Router:
    """See the module."""

    def __init__(self, world: World, net: Net, entropy: SimEntropy, bootstrap: list[tuple[str, int]]) -> None:
        self.world = world
        self.net = net
        self.entropy = entropy
        self.bootstrap = bootstrap
        self.addresses: dict[int, tuple[str, int]] = {}
        self.known: dict[Destination, int] = {}
        self.epochs: dict[Destination, int] = {}
        """The newest leader epoch heard of; what is older than that is not believed, as clients do."""
        self.request_ms = REQUEST_MS
        self._wires: dict[tuple[str, int], Wire] = {}
        self._waiting: dict[Destination, list[Waiting]] = {}
        self._looking: dict[Destination, bool] = {}

    def send(self, request: Message, version: int, done: Done, to: Destination | None = None) -> None:
        """Ask whoever is in charge. done gets the answer, or None if none came in time; never before send returns."""
        where = destination_of(request) if to is None else to
        node = self.known.get(where)
        if where == NOWHERE:
            self._ask(self._any(), where, request, version, self.request_ms, done)
        elif node is not None and where not in self._waiting and node in self.addresses:
            self._ask(self.addresses[node], where, request, version, self.request_ms, done)
        else:
            deadline_ms = self.world.now_ms + self.request_ms
            self._waiting.setdefault(where, []).append(Waiting(request, version, deadline_ms, done))
            self._look_up(where)

    def send_to(self, node: int, request: Message, version: int, done: Done) -> None:
        """Ask one node, whoever is in charge. done gets None if no answer comes in time, or nobody knows the node."""
        address = self.addresses.get(node)
        if address is None:
            self.world.after(0, lambda: done(None))
        else:
            self._ask(address, NOWHERE, request, version, self.request_ms, done)

    def leader_of(self, topic: str, index: int) -> int | None:
        """The node that leads a partition as far as is known; None also begins to find out."""
        where: Destination = ("leader", topic, index)
        node = self.known.get(where)
        if node is None:
            self._look_up(where)
        return node

    def forget(self, where: Destination) -> None:
        """It is not there any more."""
        self.known.pop(where, None)

    # -- inside

    def _any(self) -> tuple[str, int]:
        return self.bootstrap[self.entropy.below(len(self.bootstrap))]

    def _ask(
        self, address: tuple[str, int], where: Destination, request: Message, version: int, timeout_ms: int, done: Done
    ) -> None:
        wire = self._wires.get(address)
        if wire is None or wire.closed_by:
            wire = self._wires[address] = Wire(self.world, self.net, *address)

        def answered(response: Any) -> None:
            if response is None or any(code in MOVED for code in codes_of(response)):
                self.forget(where)
            done(response)

        wire.send(request, version, timeout_ms, answered)

    def _look_up(self, where: Destination) -> None:
        if where in self._looking:
            return
        self._looking[where] = True
        kind, name, _ = where
        if kind == "leader":
            request: Message = MetadataRequest(topics=[MetadataRequestTopic(name=name)])
            self._ask(self._any(), NOWHERE, request, 9, LOOKUP_MS, lambda got: self._learned(where, got))
        else:
            request = FindCoordinatorRequest(key=name, key_type=1 if kind == "transactions" else 0)
            self._ask(self._any(), NOWHERE, request, 3, LOOKUP_MS, lambda got: self._found(where, got))

    def _learned(self, where: Destination, response: MetadataResponse | None) -> None:
        if response is not None:
            for broker in response.brokers:
                self.addresses[broker.node_id] = (broker.host, broker.port)
            for topic in response.topics:
                for part in topic.partitions:
                    place = ("leader", topic.name or "", part.partition_index)
                    if part.leader_id >= 0 and part.leader_epoch >= self.epochs.get(place, -1):
                        self.known[place] = part.leader_id
                        self.epochs[place] = part.leader_epoch
        self._looked(where)

    def _found(self, where: Destination, response: FindCoordinatorResponse | None) -> None:
        if response is not None and response.error_code == 0:
            self.addresses[response.node_id] = (response.host, response.port)
            self.known[where] = response.node_id
        self._looked(where)

    def _looked(self, where: Destination) -> None:
        waiting = self._waiting.pop(where, [])
        node = self.known.get(where)
        if node is not None and node in self.addresses:
            self._looking.pop(where, None)
            for one in waiting:
                self._ask(self.addresses[node], where, one.request, one.version, self.request_ms, one.done)
            return
        kept = [one for one in waiting if one.deadline_ms > self.world.now_ms]
        if kept:
            self._waiting[where] = kept
        self.world.after(BACKOFF_MS + self.entropy.below(BACKOFF_MS), lambda: self._again(where))
        for one in waiting:
            if one.deadline_ms <= self.world.now_ms:
                one.done(None)

    def _again(self, where: Destination) -> None:
        self._looking.pop(where, None)
        if where in self._waiting:
            self._look_up(where)


class Session:
    """A Client on a Router: one application between two mishaps."""

    def __init__(self, router: Router) -> None:
        self.router = router
        self.closed = False

    def send(self, request: Message, version: int, done: Callable[[Any], None] | None) -> None:
        """Send; done gets the response, unless the session closes before."""

        def answered(response: Any) -> None:
            if response is None:
                self.closed = True
            elif not self.closed and done is not None:
                done(response)

        self.router.send(request, version, answered)

    def call(self, request: Message, version: int, wait_ms: int = CALL_MS_MAX) -> Any:
        """Send, and again while the answer says or means that somebody else is in charge, while time passes."""
        router, world = self.router, self.router.world
        until_ms = world.now_ms + wait_ms
        while world.now_ms < until_ms:
            answers: list[Any] = []
            router.send(request, version, answers.append)
            world.run_until(lambda got=answers: bool(got), until_ms - world.now_ms)  # type: ignore[misc]
            if answers and answers[0] is not None and not any(code in MOVED for code in codes_of(answers[0])):
                return answers[0]
            world.run(BACKOFF_MS)
        got = [ErrorCode(code).name for code in codes_of(answers[0])] if answers and answers[0] is not None else None
        raise AssertionError(f"no answer to {type(request).__name__} v{version} within {wait_ms} ms: {got}")

    def wall_ms(self) -> int:
        """The application's own clock."""
        return START_WALL_MS + self.router.world.now_ms

    def pass_time(self, by_ms: int) -> None:
        """Wait."""
        self.router.world.run(by_ms)


def _is_client(session: Session) -> Client:
    return session
