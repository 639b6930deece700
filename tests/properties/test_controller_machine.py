"""Any sequence of registrations, heartbeats, silences, AlterPartitions, elections, moves, crashes and new disks: no
leader lacks what was acknowledged, unless it was elected uncleanly on demand or the last replica itself lost it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tapelog.metadata.image import NO_LEADER, invariants
from tapelog.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.properties.controller_world import ControllerWorld, Key

BROKERS = 4
ids = st.integers(1, BROKERS)
topics = st.sampled_from(["safe", "safe", "wild"])
seldom = st.sampled_from([True, False, False, False, False, False])
KINDS = ("topics", "views", "controls", "moves", "elections", "minimum", "disks")


def only(kind: str) -> Callable[[Any], Any]:
    """A rule for runs of that kind: a run without moves, say, goes deeper elsewhere."""
    return precondition(lambda self: kind in self.kinds)


class ControllerMachine(RuleBasedStateMachine):
    """`safe` never elects uncleanly, `wild` does when it must. One partition each."""

    kinds: tuple[str, ...] = ()

    @initialize(
        seed=st.integers(0, 1000),
        elr=st.sampled_from([True, True, False]),
        min_isr=st.integers(1, 3),
        kinds=st.lists(st.sampled_from(KINDS), max_size=4, unique=True),
    )
    def begin(self, seed: int, elr: bool, min_isr: int, kinds: list[str]) -> None:
        self.kinds = tuple(kinds)
        self.world = ControllerWorld(BROKERS, seed, elr, min_isr)
        for id in range(1, BROKERS + 1):
            self.world.start(id)
        self.world.live(*range(1, BROKERS + 1))
        for name in ("safe", "wild"):
            self.create(name, 3)
        self.world.live(*range(1, BROKERS + 1))

    def key(self, name: str) -> Key | None:
        topic = self.world.image.topics.get(name)
        return (topic.id, 0) if topic is not None else None

    def leader(self, name: str) -> tuple[Key, int] | None:
        key = self.key(name)
        part = self.world.partition(key) if key is not None else None
        return (key, part.leader) if key is not None and part is not None and part.leader != NO_LEADER else None

    @only("topics")
    @rule(name=topics, factor=st.integers(1, 3))
    def create(self, name: str, factor: int) -> None:
        unclean = "true" if name == "wild" else "false"
        topic = CreatableTopic(
            name=name,
            num_partitions=1,
            replication_factor=factor,
            configs=[CreatableTopicConfig(name="unclean.leader.election.enable", value=unclean)],
        )
        request = CreateTopicsRequest(topics=[topic])
        self.world.ask(lambda image: self.world.controller.create_topics(image, request))

    @only("topics")
    @rule(name=topics, really=seldom)
    def delete(self, name: str, really: bool) -> None:
        if not really:
            return
        request = DeleteTopicsRequest(topic_names=[name])
        self.world.ask(lambda image: self.world.controller.delete_topics(image, request, 5))

    @rule(name=topics, count=st.integers(1, 3))
    def produce_everywhere(self, name: str, count: int) -> None:
        """The normal course: the leader writes, all followers fetch, the leader acknowledges."""
        found = self.leader(name)
        if found is None:
            return
        key, leader = found
        for _ in range(count):
            self.world.produce(leader, key)
        for id in range(1, BROKERS + 1):
            self.world.fetch(id, key)
        self.world.acknowledge(leader, key)

    @only("views")
    @rule(id=ids, name=topics, what=st.sampled_from(["produce", "fetch", "acknowledge"]))
    def data(self, id: int, name: str, what: str) -> None:
        key = self.key(name)
        if key is not None:
            getattr(self.world, what)(id, key)

    @only("views")
    @rule(id=ids, name=topics, drop=st.integers(0, BROKERS), add=st.integers(0, BROKERS))
    def alter_isr(self, id: int, name: str, drop: int, add: int) -> None:
        """Asked by anybody who believes to lead."""
        key = self.key(name)
        if key is not None:
            self.world.alter_isr(id, key, drop, add)

    @rule(name=topics, drop=st.integers(0, BROKERS), add=st.integers(0, BROKERS), tell=st.booleans())
    def the_leader_alters_its_isr(self, name: str, drop: int, add: int, tell: bool) -> None:
        found = self.leader(name)
        if found is not None:
            self.world.alter_isr(found[1], found[0], drop, add)
            if tell:
                self.world.live(*range(1, BROKERS + 1))

    @only("views")
    @rule(id=ids)
    def learn(self, id: int) -> None:
        self.world.learn(id)

    @rule()
    def everybody_lives(self) -> None:
        self.world.live(*range(1, BROKERS + 1))

    @only("controls")
    @rule(id=ids, stop=st.booleans())
    def beat(self, id: int, stop: bool) -> None:
        self.world.heartbeat(id, want_shut_down=stop)

    @only("controls")
    @rule(id=ids, again=st.booleans())
    def shut_down(self, id: int, again: bool) -> None:
        """In good order, as far as the others let it."""
        for _ in range(4):
            self.world.heartbeat(id, want_shut_down=True)
            self.world.live(*(other for other in range(1, BROKERS + 1) if other != id))
        if again and not self.world.brokers[id].running:
            self.world.start(id)

    @rule(silent=st.lists(ids, min_size=1, max_size=3, unique=True))
    def silence(self, silent: list[int]) -> None:
        self.world.silence(*silent)

    @rule(id=ids, lost=st.integers(0, 3), fenced=st.booleans())
    def kill(self, id: int, lost: int, fenced: bool) -> None:
        self.world.kill(id, lost)
        if fenced:
            self.world.silence(id)

    @rule(id=ids, lost=st.integers(0, 3), fenced=st.booleans())
    def bounce(self, id: int, lost: int, fenced: bool) -> None:
        """Killed, and back again."""
        self.kill(id, lost, fenced)
        self.world.start(id)
        self.world.live(id)
        self.world.live(id)

    @only("disks")
    @rule(id=ids, really=seldom)
    def wipe(self, id: int, really: bool) -> None:
        if really:
            self.world.wipe(id)
            self.world.silence(id)
            self.world.start(id)
            self.world.live(id)

    @only("controls")
    @rule(id=ids)
    def start(self, id: int) -> None:
        if not self.world.brokers[id].running:
            self.world.start(id)

    @only("controls")
    @rule(ms=st.sampled_from([100, 5000, 9001, 300_000]))
    def pass_time(self, ms: int) -> None:
        self.world.pass_time(ms)

    @only("controls")
    @rule()
    def new_controller(self) -> None:
        self.world.new_controller()

    @only("moves")
    @rule(name=topics, replicas=st.lists(ids, min_size=1, max_size=3, unique=True), cancel=st.booleans())
    def move(self, name: str, replicas: list[int], cancel: bool) -> None:
        part = ReassignablePartition(partition_index=0, replicas=None if cancel else replicas)
        request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=name, partitions=[part])])
        self.world.ask(lambda image: self.world.controller.alter_partition_reassignments(image, request))

    @only("elections")
    @rule(name=topics, kind=st.integers(0, 1))
    def elect(self, name: str, kind: int) -> None:
        asked = [TopicPartitions(topic=name, partitions=[0])]
        request = ElectLeadersRequest(election_type=kind if name == "wild" else 0, topic_partitions=asked)
        self.world.ask(lambda image: self.world.controller.elect_leaders(image, request))

    @only("minimum")
    @rule(name=st.sampled_from(["safe", "wild", ""]), value=st.integers(1, 3))
    def min_isr(self, name: str, value: int) -> None:
        change = AlterableConfig(name="min.insync.replicas", config_operation=0, value=str(value))
        resource = AlterConfigsResource(resource_type=2 if name else 4, resource_name=name, configs=[change])
        request = IncrementalAlterConfigsRequest(resources=[resource])
        self.world.ask(lambda image: self.world.controller.incremental_alter_configs(image, request))

    @only("disks")
    @rule(id=ids, really=seldom)
    def unregister(self, id: int, really: bool) -> None:
        if really:
            self.world.ask(lambda image: self.world.controller.unregister_broker(image, id))

    @invariant()
    def nothing_acknowledged_is_missing(self) -> None:
        self.world.check()
        invariants(self.world.image)
        assert not any(
            name == "safe" and (topic.id, index) in self.world.excused and partition.leader_recovery_state
            for name, topic in self.world.image.topics.items()
            for index, partition in enumerate(topic.partitions)
        ), "an unclean election that nobody asked for"

    def teardown(self) -> None:
        if hasattr(self, "world"):
            assert self.world.desk.replay().same_state(self.world.image), "replay equals live"


TestControllerMachine = ControllerMachine.TestCase
TestControllerMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
