"""Toy consumers of both protocols that behave as real ones do: they own partitions, and give them back when told.

Each has at most one request under way. `act` does the next thing that its protocol asks for; answers come when the
coordinator gives them. What a client owns changes only by what it was told, as in the real ones.
"""

from __future__ import annotations

from typing import Any

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.consumer.migration.embedded import assigned_of, assignment_bytes, subscription_of
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, TopicPartitions
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tapelog.wire.primitives import Writer
from tests.unit.coordinators.bench import Bench

GROUP = "g"
SESSION_MS = 10_000
Place = tuple[str, int]


def subscription_bytes(topics: list[str], owned: set[Place], generation: int, version: int, rack: str | None) -> bytes:
    """A member's metadata in the consumer protocol."""
    w = Writer()
    w.i16(version)
    w.array(len(topics))
    for topic in topics:
        w.string(topic)
    w.nullable_bytestring(None)
    if version >= 1:
        by_topic = _by_topic(owned)
        w.array(len(by_topic))
        for topic, partitions in by_topic.items():
            w.string(topic)
            w.array(len(partitions))
            w.i32_items(list(partitions))
    if version >= 2:
        w.i32(generation)
    if version >= 3:
        w.nullable_string(rack)
    return w.tobytes()


def _by_topic(places: set[Place]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(places):
        found.setdefault(topic, []).append(partition)
    return {topic: tuple(partitions) for topic, partitions in found.items()}


class Client:
    """What both kinds have in common."""

    def __init__(self, world: Any, name: str, topics: list[str], instance: str | None) -> None:
        self.world = world
        self.name = name
        self.topics = topics
        self.instance = instance
        self.member_id = ""
        self.epoch = 0
        self.owned: set[Place] = set()
        self.busy = False
        self.life = 0
        self.heard_ms = 0
        """When it sent the last request that was answered: so long, at least, the coordinator knows of it."""

    @property
    def bench(self) -> Bench:
        return self.world.bench  # type: ignore[no-any-return]

    def act(self) -> None:
        """Do the next thing, unless an answer is outstanding."""
        raise NotImplementedError

    def leave(self) -> None:
        """Go for good."""
        raise NotImplementedError

    def lose(self, *, member_id: bool = False) -> None:
        """What it owned is lost; it starts anew."""
        self.owned = set()
        self.epoch = 0
        if member_id:
            self.member_id = ""

    def send(self, api: str, request: Any, version: int, heard: Any) -> None:
        """One request; `heard` gets the answer, unless the client has been restarted by then."""
        self.busy = True
        life, boots, sent_ms = self.life, self.world.boots, self.bench.clock.now_ms

        def done(response: Any) -> None:
            if life == self.life and boots == self.world.boots:
                self.busy = False
                self.heard_ms = sent_ms
                heard(response)

        getattr(self.bench.coordinator, api)(Caller(self.name, "/h", version), request, done)
        self.bench.settle()

    def tell(self, what: str) -> None:
        self.world.told.append(f"{self.name} {what}")


class ClassicClient(Client):
    """A member of the classic protocol: eager (gives everything back to join) or cooperative."""

    def __init__(
        self, world: Any, name: str, topics: list[str], instance: str | None, *, cooperative: bool, version: int = 3
    ) -> None:
        super().__init__(world, name, topics, instance)
        self.cooperative = cooperative
        self.version = version
        self.protocol = "cooperative-sticky" if cooperative else "range"
        self.step = "join"
        self.roster: list[Any] = []

    def act(self) -> None:
        if self.busy:
            return
        if self.step == "join":
            self._join()
        elif self.step == "sync":
            self._sync()
        else:
            request = HeartbeatRequest(
                group_id=GROUP, generation_id=self.epoch, member_id=self.member_id, group_instance_id=self.instance
            )
            self.send("heartbeat", request, 4, self._beat)

    def leave(self) -> None:
        self.life += 1
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)
        self.send("leave_group", LeaveGroupRequest(group_id=GROUP, members=[identity]), 5, lambda _: None)
        self.lose(member_id=True)
        self.step = "join"

    def lose(self, *, member_id: bool = False) -> None:
        super().lose(member_id=member_id)
        self.step = "join"

    def _join(self) -> None:
        if not self.cooperative:
            self.owned = set()
        metadata = subscription_bytes(self.topics, self.owned, self.epoch or -1, self.version, None)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=30_000,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=self.protocol, metadata=metadata)],
        )
        self.send("join_group", request, 9, self._joined)

    def _joined(self, response: Any) -> None:
        code = ErrorCode(response.error_code)
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
        elif code == ErrorCode.NONE:
            self.member_id, self.epoch = response.member_id, response.generation_id
            self.roster = response.members if response.leader == response.member_id else []
            self.step = "sync"
            self.tell(f"joined generation {self.epoch}" + (", leads" if self.roster else ""))
        else:
            self._refused("join", code)

    def _sync(self) -> None:
        shares = self._shares()
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name=self.protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=m, assignment=assignment_bytes(_by_topic(share), self.version))
                for m, share in shares.items()
            ],
        )
        self.send("sync_group", request, 5, self._synced)

    def _shares(self) -> dict[str, set[Place]]:
        """The leader's assignment: round robin; a cooperative leader leaves out what somebody else still owns."""
        owners: dict[Place, str] = {}
        wishes: dict[str, frozenset[str]] = {}
        for member in self.roster:
            wish = subscription_of(member.metadata)
            wishes[member.member_id] = wish.topics
            for topic, partitions in wish.owned.items():
                owners.update({(topic, p): member.member_id for p in partitions})
        shares: dict[str, set[Place]] = {member_id: set() for member_id in wishes}
        for topic, count in sorted(self.bench.topics.counts.items()):
            readers = sorted(m for m, topics in wishes.items() if topic in topics)
            for p in range(count if readers else 0):
                chosen = readers[p % len(readers)]
                if not self.cooperative or owners.get((topic, p), chosen) == chosen:
                    shares[chosen].add((topic, p))
        return shares

    def _synced(self, response: Any) -> None:
        code = ErrorCode(response.error_code)
        if code != ErrorCode.NONE:
            self._refused("sync", code)
            return
        given = {(topic, p) for topic, ps in assigned_of(response.assignment).places.items() for p in ps}
        gave_back = self.owned - given
        self.owned = given
        # A cooperative member that gave something back joins again, so that others may have it.
        self.step = "join" if gave_back and self.cooperative else "beat"
        self.world.changed(self)

    def _beat(self, response: Any) -> None:
        code = ErrorCode(response.error_code)
        if code != ErrorCode.NONE:
            self._refused("heartbeat", code)

    def _refused(self, what: str, code: ErrorCode) -> None:
        self.tell(f"{what}: {code.name}")
        if what != "heartbeat":
            self.step = "join"
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.step = "join"
            if not self.cooperative:
                self.owned = set()
        elif code in (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self.lose(member_id=code != ErrorCode.ILLEGAL_GENERATION)


class ConsumerClient(Client):
    """A member of the newer protocol."""

    def __init__(self, world: Any, name: str, topics: list[str], instance: str | None) -> None:
        super().__init__(world, name, topics, instance)
        self.reported: set[Place] | None = None

    def act(self) -> None:
        if self.busy:
            return
        joining = self.epoch == 0
        if joining:
            self.owned = set()
            self.member_id = self.member_id or f"{self.name}-{self.life}"
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.member_id, member_epoch=self.epoch, instance_id=self.instance
        )
        if joining:
            request.rebalance_timeout_ms = 30_000
            request.subscribed_topic_names = self.topics
        if joining or self.reported != self.owned:
            ids = self.bench.topics.ids
            request.topic_partitions = [
                TopicPartitions(topic_id=ids[topic], partitions=list(partitions))
                for topic, partitions in _by_topic(self.owned).items()
                if topic in ids
            ]
            self.reported = set(self.owned)
        self.send("consumer_group_heartbeat", request, 1, self._heard)

    def leave(self) -> None:
        self.life += 1
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.member_id, member_epoch=-1, instance_id=self.instance
        )
        self.send("consumer_group_heartbeat", request, 1, lambda _: None)
        self.lose(member_id=True)

    def pause(self) -> None:
        """A static member goes for a while: somebody with its instance id will take its place."""
        self.life += 1
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.member_id, member_epoch=-2, instance_id=self.instance
        )
        self.send("consumer_group_heartbeat", request, 1, lambda _: None)
        self.lose(member_id=True)

    def lose(self, *, member_id: bool = False) -> None:
        super().lose(member_id=member_id)
        self.reported = None

    def _heard(self, response: Any) -> None:
        code = ErrorCode(response.error_code)
        if code != ErrorCode.NONE:
            self.tell(f"heartbeat: {code.name}")
            if code in (
                ErrorCode.FENCED_MEMBER_EPOCH,
                ErrorCode.UNKNOWN_MEMBER_ID,
                ErrorCode.GROUP_ID_NOT_FOUND,
                ErrorCode.FENCED_INSTANCE_ID,
            ):
                self.lose()
            else:
                self.reported = None
            return
        if response.member_epoch != self.epoch:
            self.epoch = response.member_epoch
            self.tell(f"is in epoch {self.epoch}")
        if response.assignment is not None:
            topics = self.bench.topics
            self.owned = {
                (topics.name_of(topic.topic_id) or "", p)
                for topic in response.assignment.topic_partitions
                for p in topic.partitions
            }
            self.world.changed(self)
