"""A small world around the controller: brokers with logs, stale views, crashes; what is acknowledged is remembered.

Logs are lists of record numbers. A leader acts on the image it has seen, not on the newest one; it counts what
followers of the same leader epoch claimed; it commits when all of its ISR has a record and the ISR is large enough.
After an unclean stop a broker has lost any number of its last records (a page cache), unless `durable`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapelog.base.ids import DIR_UNASSIGNED
from tapelog.metadata import election
from tapelog.metadata.brokers import BrokerRegistration
from tapelog.metadata.electorate import Electorate, directory_of
from tapelog.metadata.image import NO_LEADER, MetadataImage, PartitionImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import PartitionChangeRecord
from tapelog.wire.errors import KafkaError
from tapelog.wire.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tests.properties.metadata_text import frozen
from tests.unit.metadata.desk import CLUSTER_ID, Desk

Key = tuple[bytes, int]
"""(topic id, partition)"""


class Broker:
    """One broker process, with its disk."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.running = False
        self.disk = 0
        self.epoch = -1
        self.last_epoch = -1
        """What a clean stop wrote down."""
        self.incarnation = 0
        self.seen: MetadataImage | None = None
        self.logs: dict[Key, list[int]] = {}

    @property
    def directory(self) -> bytes:
        return bytes([200, self.id, self.disk]) + b"d" * 13

    @property
    def incarnation_id(self) -> bytes:
        return bytes([self.id, self.incarnation]) + b"i" * 14


class Claim:
    """What a follower said it has, in which epochs."""

    def __init__(self, leader_epoch: int, broker_epoch: int, end: int) -> None:
        self.leader_epoch = leader_epoch
        self.broker_epoch = broker_epoch
        self.end = end


class ControllerWorld:
    """Brokers 1 to n, a controller that commits at once, and the bookkeeping of what was acknowledged."""

    def __init__(self, brokers: int, seed: int, elr: bool, min_isr: int) -> None:
        self.desk = Desk(seed=seed, elr=elr, settings={"min.insync.replicas": str(min_isr)})
        self.controller = self.desk.controller
        self.brokers = {id: Broker(id) for id in range(1, brokers + 1)}
        self.acknowledged: dict[Key, list[int]] = {}
        self.claims: dict[tuple[Key, int, int], Claim] = {}
        """(partition, leader, follower) -> its last claim"""
        self.pending: dict[tuple[Key, int], list[int]] = {}
        """(partition, leader) -> who it asked to have in the ISR"""
        self.excused: dict[Key, None] = {}
        """Partitions that may have lost records: an unclean leader, or the last eligible replica lost some."""
        self.records = 0

    @property
    def image(self) -> MetadataImage:
        return self.desk.image

    # -- the controller, watched

    def ask(self, operation: Callable[[MetadataImage], Outcome[Any]]) -> Any:
        """Run an operation; a handler alone changes nothing, and every change of a partition is a legal one."""
        before = self.image
        text = frozen(before)

        def watched(image: MetadataImage) -> Outcome[Any]:
            outcome = operation(image)
            assert frozen(image) == text, "a handler changed the image"
            for record in outcome.records:
                if isinstance(record, PartitionChangeRecord) and election.is_unclean(record):
                    self.excused[(record.topic_id, record.partition_id)] = None
            return outcome

        try:
            return self.desk.run(watched)
        except KafkaError as error:
            return error
        finally:
            self.check_change(before, self.image)

    def check_change(self, before: MetadataImage, after: MetadataImage) -> None:
        """Epochs only grow; a leader comes from ISR or ELR unless the election was unclean."""
        for id, topic in after.topics_by_id.items():
            old_topic = before.topics_by_id.get(id)
            for index, new in enumerate(topic.partitions):
                assert new.isr or new.leader == NO_LEADER
                old = old_topic.partition(index) if old_topic is not None else None
                if old is None:
                    continue
                assert new.leader_epoch >= old.leader_epoch
                assert new.partition_epoch >= old.partition_epoch
                if new.leader != old.leader:
                    assert new.leader_epoch > old.leader_epoch
                    legal = new.leader in (NO_LEADER, *old.isr, *old.elr, *new.isr[1:])
                    assert legal or (id, index) in self.excused, f"{old} -> {new}"

    # -- brokers

    def start(self, id: int) -> None:
        """A process starts and registers."""
        broker = self.brokers[id]
        broker.running = True
        broker.incarnation += 1
        broker.seen = None
        self.register(id)

    def register(self, id: int) -> None:
        broker = self.brokers[id]
        unclean = broker.last_epoch != (known.epoch if (known := self.image.brokers.get(id)) is not None else -2)
        image = self.image
        registration = BrokerRegistration(
            id,
            CLUSTER_ID,
            broker.incarnation_id,
            [],
            [broker.directory],
            previous_epoch=broker.last_epoch,
        )
        answer = self.ask(lambda image: self.controller.register_broker(image, registration))
        if isinstance(answer, KafkaError):
            return
        if answer != broker.epoch and unclean:
            self._excuse_the_last(image, id)
        broker.epoch = answer

    def _excuse_the_last(self, image: MetadataImage, id: int) -> None:
        for topic in image.topics.values():
            for index, partition in enumerate(topic.partitions):
                others = [x for x in (*partition.isr, *partition.elr) if x != id]
                wiped = directory_of(partition, id) not in (DIR_UNASSIGNED, self.brokers[id].directory)
                if not others and id in (*partition.isr, *partition.elr) and not wiped:
                    self.excused[(topic.id, index)] = None

    def heartbeat(self, id: int, want_shut_down: bool = False) -> None:
        broker = self.brokers[id]
        if not broker.running:
            return
        request = BrokerHeartbeatRequest(
            broker_id=id,
            broker_epoch=broker.epoch,
            current_metadata_offset=-1 if broker.seen is None else broker.seen.offset - 1,
            want_shut_down=want_shut_down,
        )
        answer = self.ask(lambda image: self.controller.broker_heartbeat(image, request))
        if isinstance(answer, KafkaError):
            self.register(id)
        elif answer.should_shut_down:
            broker.running, broker.last_epoch = False, broker.epoch

    def kill(self, id: int, lost: int) -> None:
        """The process is gone, and so are its last records in every log."""
        broker = self.brokers[id]
        broker.running, broker.last_epoch = False, -1
        for key, log in broker.logs.items():
            broker.logs[key] = log[: max(0, len(log) - lost)]

    def wipe(self, id: int) -> None:
        """A new disk."""
        broker = self.brokers[id]
        broker.running, broker.last_epoch = False, -1
        broker.disk += 1
        broker.logs = {}

    def learn(self, id: int) -> None:
        """The broker sees the newest image, if that knows this incarnation; logs of topics that are gone go too."""
        broker = self.brokers[id]
        known = self.image.brokers.get(id)
        if broker.running and known is not None and known.incarnation_id == broker.incarnation_id:
            broker.seen = self.image
            for key in list(broker.logs):
                part = self.partition(key)
                if part is None or id not in part.replicas:
                    del broker.logs[key]

    # -- data

    def partition(self, key: Key, image: MetadataImage | None = None) -> PartitionImage | None:
        topic = (image or self.image).topics_by_id.get(key[0])
        return topic.partition(key[1]) if topic is not None else None

    def led(self, id: int, key: Key) -> PartitionImage | None:
        """The partition as the broker has seen it, if it then leads it."""
        broker = self.brokers[id]
        if not broker.running or broker.seen is None:
            return None
        part = self.partition(key, broker.seen)
        return part if part is not None and part.leader == id else None

    def produce(self, id: int, key: Key) -> None:
        if self.led(id, key) is not None:
            self.records += 1
            self.brokers[id].logs.setdefault(key, []).append(self.records)

    def fetch(self, id: int, key: Key) -> None:
        """A follower takes over what its leader has, cutting off what it has not; its claim is noted there."""
        broker = self.brokers[id]
        if not broker.running or broker.seen is None:
            return
        mine = self.partition(key, broker.seen)
        if mine is None or id not in mine.replicas or mine.leader in (NO_LEADER, id):
            return
        theirs = self.led(mine.leader, key)
        if theirs is None or theirs.leader_epoch != mine.leader_epoch:
            return
        log = broker.logs[key] = list(self.brokers[mine.leader].logs.get(key, []))
        self.claims[(key, mine.leader, id)] = Claim(mine.leader_epoch, broker.epoch, len(log))

    def claim(self, key: Key, leader: int, follower: int, leader_epoch: int) -> Claim | None:
        claim = self.claims.get((key, leader, follower))
        return claim if claim is not None and claim.leader_epoch == leader_epoch else None

    def acknowledge(self, id: int, key: Key) -> None:
        """The leader counts, and tells its producers what is committed."""
        part = self.led(id, key)
        broker = self.brokers[id]
        if part is None:
            return
        assert broker.seen is not None
        topic = broker.seen.topics_by_id[key[0]].name
        electorate = Electorate(broker.seen, self.desk.settings)
        if len(part.isr) < electorate.min_isr(topic, len(part.replicas)):
            return
        log = broker.logs.get(key, [])
        end = len(log)
        for other in dict.fromkeys((*part.isr, *self.pending.get((key, id), ()))):
            if other != id:
                claim = self.claim(key, id, other, part.leader_epoch)
                end = min(end, 0 if claim is None else claim.end)
        told = self.acknowledged.setdefault(key, [])
        told += [record for record in log[:end] if record not in told]

    def alter_isr(self, id: int, key: Key, drop: int, add: int) -> None:
        """The leader asks for an ISR without one broker and with another that is caught up."""
        part = self.led(id, key)
        if part is None:
            return
        isr = [x for x in part.isr if x != drop or x == id]
        epochs = {id: self.brokers[id].epoch}
        told = len(self.acknowledged.get(key, []))
        for x in (*part.isr, add):
            claim = self.claim(key, id, x, part.leader_epoch)
            if claim is not None:
                epochs[x] = claim.broker_epoch
                if x == add and x not in isr and x in part.replicas and claim.end >= told:
                    isr.append(x)
        self.pending.setdefault((key, id), []).extend(isr)
        request = AlterPartitionRequest(
            broker_id=id,
            broker_epoch=self.brokers[id].epoch,
            topics=[
                TopicData(
                    topic_id=key[0],
                    partitions=[
                        PartitionData(
                            partition_index=key[1],
                            leader_epoch=part.leader_epoch,
                            partition_epoch=part.partition_epoch,
                            new_isr_with_epochs=[BrokerState(broker_id=x, broker_epoch=epochs.get(x, -1)) for x in isr],
                        )
                    ],
                )
            ],
        )
        self.ask(lambda image: self.controller.alter_partition(image, request, 3))

    # -- time

    def live(self, *ids: int) -> None:
        """These brokers learn what is new and say that they live."""
        for id in ids:
            self.learn(id)
            self.heartbeat(id)

    def silence(self, *silent: int) -> None:
        """Nothing is heard of these brokers until they are fenced; all others live on and learn of it."""
        others = [id for id in self.brokers if id not in silent]
        for _ in range(2):
            self.live(*others)
            self.pass_time(5000)
        self.live(*others)

    def pass_time(self, ms: int) -> None:
        self.desk.clock.now_ms += ms
        while self.controller.upkeep.due_ms(self.image) <= self.desk.clock.now_ms:
            self.ask(self.controller.tick)

    def new_controller(self) -> None:
        self.controller.resign()
        self.controller.activate(self.image)

    # -- what must hold

    def check(self) -> None:
        """Whoever the newest image calls leader has everything that was ever acknowledged."""
        for topic in self.image.topics.values():
            for index, partition in enumerate(topic.partitions):
                key = (topic.id, index)
                if partition.leader == NO_LEADER or key in self.excused:
                    continue
                leads = self.led(partition.leader, key)
                if leads is None or leads.leader_epoch != partition.leader_epoch:
                    continue  # it does not act on it
                log = self.brokers[partition.leader].logs.get(key, [])
                told = self.acknowledged.get(key, [])
                assert log[: len(told)] == told, f"{topic.name}-{index}: {partition} has {log}, told {told}"
