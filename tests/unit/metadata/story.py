"""Text scenarios of the controller: commands in, what changed out.

`tests/scenarios/controller_*.txt`, run by test_scenarios.py; the form is that of the group coordinator's stories.
Every step tells of each broker and partition that changed, and what was answered or cried out.
"""

from __future__ import annotations

from tapelog.metadata.image import NO_LEADER, BrokerImage, MetadataImage, PartitionImage
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.unit.metadata.desk import Desk
from tests.unit.metadata.test_alter_partition import ask
from tests.unit.metadata.test_reassignment import move


class Story:
    """Runs commands against a desk and tells what happened. All partitions are number 0 of their topic."""

    def __init__(self) -> None:
        self.desk = Desk()
        self.before = self.desk.image
        self.incarnations: dict[int, int] = {}
        self.told: list[str] = []

    def run(self, line: str) -> None:
        """One command."""
        words = line.split()
        plain = [word for word in words[1:] if "=" not in word]
        named = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        try:
            getattr(self, "do_" + words[0])(plain, named)
        except KafkaError as error:
            self.told.append(f"{words[0]}: {error.code.name}")

    def output(self) -> str:
        """What happened since the last time."""
        image = self.desk.image
        told = [*self.told, *(f"alert: {text}" for text in self.desk.alerts), *_changes(self.before, image)]
        self.before, self.told = image, []
        self.desk.alerts.clear()
        return "\n".join(told or ["nothing"])

    # -- commands

    def do_brokers(self, plain: list[str], named: dict[str, str]) -> None:
        """brokers 3: that many, unfenced"""
        for id in range(1, int(plain[0]) + 1):
            self.incarnations[id] = 1
            self.desk.register(id)
            self.desk.beat(id)

    def do_topic(self, plain: list[str], named: dict[str, str]) -> None:
        """topic t 1 2 3 min.insync.replicas=2"""
        configs = {name.replace(".", "_"): value for name, value in named.items()}
        self.desk.create(plain[0], [int(id) for id in plain[1:]], **configs)

    def do_silence(self, plain: list[str], named: dict[str, str]) -> None:
        """silence 1 2: until they are fenced"""
        self.desk.silence(*(int(id) for id in plain))

    def do_beat(self, plain: list[str], named: dict[str, str]) -> None:
        """beat 1 2"""
        self.desk.beat(*(int(id) for id in plain))

    def do_wait(self, plain: list[str], named: dict[str, str]) -> None:
        """wait 300 seconds, everybody unfenced being heard of"""
        for _ in range(int(plain[0])):
            self.desk.beat(*(id for id, broker in self.desk.image.brokers.items() if not broker.fenced))
            self.desk.wait(1000)

    def do_start(self, plain: list[str], named: dict[str, str]) -> None:
        """start 1 [clean] [disk=2]: another process registers under that id"""
        id = int(plain[0])
        self.incarnations[id] = self.incarnations.get(id, 0) + 1
        known = self.desk.image.brokers.get(id)
        previous = known.epoch if "clean" in plain and known is not None else -1
        self.desk.register(id, self.incarnations[id], int(named.get("disk", "1")), previous)

    def do_stop(self, plain: list[str], named: dict[str, str]) -> None:
        """stop 1: it asks to shut down"""
        answer = self.desk.heartbeat(int(plain[0]), stop=True)
        self.told.append("stop: go" if answer.should_shut_down else "stop: wait")

    def do_unregister(self, plain: list[str], named: dict[str, str]) -> None:
        """unregister 1"""
        self.desk.run(lambda image: self.desk.controller.unregister_broker(image, int(plain[0])))

    def do_controller(self, plain: list[str], named: dict[str, str]) -> None:
        """controller: another one takes over"""
        self.desk.controller.resign()
        self.desk.controller.activate(self.desk.image)

    def do_isr(self, plain: list[str], named: dict[str, str]) -> None:
        """isr 1 2 [by=1] [epoch.3=old]: the leader of t asks for it"""
        leader = int(named.get("by", self.desk.partition().leader))
        answer = ask(self.desk, [int(id) for id in plain], asker=leader)
        self.told.append(f"isr: {ErrorCode(answer.error_code).name}")

    def do_move(self, plain: list[str], named: dict[str, str]) -> None:
        """move 3 4, or move back"""
        code = move(self.desk, None if plain == ["back"] else [int(id) for id in plain])
        self.told.append(f"move: {ErrorCode(code).name}")

    def do_elect(self, plain: list[str], named: dict[str, str]) -> None:
        """elect preferred|unclean"""
        kind = 0 if plain[0] == "preferred" else 1
        request = ElectLeadersRequest(election_type=kind, topic_partitions=[TopicPartitions(topic="t", partitions=[0])])
        response = self.desk.run(lambda image: self.desk.controller.elect_leaders(image, request))
        code = response.replica_election_results[0].partition_result[0].error_code
        self.told.append(f"elect: {ErrorCode(code).name}")

    def do_config(self, plain: list[str], named: dict[str, str]) -> None:
        """config t min.insync.replicas=1"""
        changes = [AlterableConfig(name=name, config_operation=0, value=value) for name, value in named.items()]
        resource = AlterConfigsResource(resource_type=2, resource_name=plain[0], configs=changes)
        request = IncrementalAlterConfigsRequest(resources=[resource])
        self.desk.run(lambda image: self.desk.controller.incremental_alter_configs(image, request))
        self.desk.tick()


def _changes(before: MetadataImage, after: MetadataImage) -> list[str]:
    told = []
    for id in sorted({*before.brokers, *after.brokers}):
        old, new = _broker(before.brokers.get(id)), _broker(after.brokers.get(id))
        if old != new:
            told.append(f"broker {id}: {new}")
    for name in sorted({*before.topics, *after.topics}):
        was, now = before.partition(name, 0), after.partition(name, 0)
        if was != now:
            told.append(f"{name}: {'gone' if now is None else _partition(now)}")
    return told


def _broker(broker: BrokerImage | None) -> str:
    if broker is None:
        return "unknown"
    return "fenced" if broker.fenced else "leaving" if broker.in_controlled_shutdown else "here"


def _partition(partition: PartitionImage) -> str:
    leader = "nobody" if partition.leader == NO_LEADER else str(partition.leader)
    parts = [f"led by {leader} in epoch {partition.leader_epoch}", f"isr {_ids(partition.isr)}"]
    if partition.elr:
        parts.append(f"eligible {_ids(partition.elr)}")
    parts.append(f"replicas {_ids(partition.replicas)}")
    if partition.adding_replicas or partition.removing_replicas:
        parts.append(f"adding {_ids(partition.adding_replicas)}, removing {_ids(partition.removing_replicas)}")
    if partition.leader_recovery_state:
        parts.append("recovering")
    return ", ".join(parts)


def _ids(ids: tuple[int, ...]) -> str:
    return " ".join(str(id) for id in ids) or "-"
