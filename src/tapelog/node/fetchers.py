"""The follower's side of this node: a fetcher per leader, over the connections to other brokers.

`node.partitions` says whom each partition follows; the node core calls `settle` at the end of each wake-up. Decisions
are in `replication.follower`, this only connects it with the net, the disk and the settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tapelog.log.trim import Seed
from tapelog.metadata.image import PartitionImage
from tapelog.node.truncations import Truncations
from tapelog.replication.followed import Followed, Limits
from tapelog.replication.follower import Fetcher
from tapelog.replication.partition import Partition
from tapelog.replication.throttle import Throttle, ThrottledReplicas
from tapelog.wire.message import Message

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore


class Fetchers:
    """All fetchers, by leader; what each needs of its node (`Surroundings`)."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self.truncations = Truncations(node)
        self.throttle = Throttle()
        self.by_leader: dict[int, Fetcher] = {}
        self._followed: dict[Partition, tuple[Fetcher, Followed]] = {}
        self._pumped: dict[Fetcher, None] = {}
        self._limits: Limits | None = None

    # --- what the node says ----------------------------------------------------------------------------------------

    def follow(self, partition: Partition, image: PartitionImage) -> None:
        """Fetch the partition from its leader, in this leader epoch; from nobody while it has none."""
        self.stop(partition)
        if image.leader < 0 or image.leader == self.node.node_id:
            return
        fetcher = self.by_leader.get(image.leader)
        if fetcher is None:
            fetcher = Fetcher(image.leader, self, self.node.timers, self.throttle)
            self.by_leader[image.leader] = fetcher
        followed = Followed(partition, image.leader_epoch, self._throttled(partition, image))
        self._followed[partition] = (fetcher, followed)
        fetcher.follow(followed)

    def update(self, partition: Partition, image: PartitionImage) -> None:
        """The same leader epoch, but perhaps another ISR: who is in sync is not throttled."""
        found = self._followed.get(partition)
        if found is not None:
            found[1].throttled = self._throttled(partition, image)

    def stop(self, partition: Partition) -> None:
        """It follows nobody (any more)."""
        found = self._followed.pop(partition, None)
        if found is not None:
            found[0].stop(found[1])

    def taken_back(self, partition: Partition) -> None:
        """What it was sent could not be written."""
        found = self._followed.get(partition)
        if found is not None:
            found[0].taken_back(found[1])

    def settle(self) -> None:
        """The wake-up ends: who has caught up with the disk goes on, logs are cut, requests leave."""
        hub = self.node.hub
        if hub.followed:
            moved, hub.followed = hub.followed, []
            for partition in moved:
                partition.in_followed = False
                found = self._followed.get(partition)
                if found is not None:
                    found[0].moved(found[1])
        if self.truncations.due:
            self.truncations.step()
        if self._pumped:
            pumped, self._pumped = self._pumped, {}
            for fetcher in pumped:
                fetcher.pump()

    @property
    def busy(self) -> bool:
        """Whether settle has work."""
        return bool(self.node.hub.followed or self._pumped or self.truncations.due)

    def configured(self) -> None:
        """Settings changed, or are known for the first time."""
        self._limits = None
        self.throttle.rate = self.node.setting_int("follower.replication.throttled.rate")
        self.node.leader_throttle.rate = self.node.setting_int("leader.replication.throttled.rate")
        for partition, (_, followed) in self._followed.items():
            image = self.node.image.partition(partition.topic, partition.index)
            if image is not None:
                followed.throttled = self._throttled(partition, image)

    def _throttled(self, partition: Partition, image: PartitionImage) -> bool:
        me, config = self.node.node_id, self.node.image.topic_config(partition.topic)
        text = config.get("follower.replication.throttled.replicas", "")
        return bool(text) and me not in image.isr and ThrottledReplicas(text).covers(partition.index, me)

    # --- Surroundings ------------------------------------------------------------------------------------------------

    @property
    def limits(self) -> Limits:
        if self._limits is None:
            number = self.node.setting_int
            self._limits = Limits(
                self.node.node_id,
                fetchers=number("num.replica.fetchers"),
                wait_ms=number("replica.fetch.wait.max.ms"),
                min_bytes=number("replica.fetch.min.bytes"),
                bytes_max=number("replica.fetch.response.max.bytes"),
                partition_bytes_max=number("replica.fetch.max.bytes"),
                backoff_ms=number("replica.fetch.backoff.ms"),
                timeout_ms=number("replica.socket.timeout.ms"),
            )
        return self._limits

    @property
    def broker_epoch(self) -> int:
        node = self.node  # of the image: it may have told us of our registration before the answer to it did
        broker = node.image.brokers.get(node.node_id) if node.lifecycle.known else None
        return node.metadata.broker_epoch if broker is None else broker.epoch

    def send(
        self,
        leader: int,
        lane: str,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        self.node.to_broker(leader, lane, request, version, timeout_ms, done)

    def truncate(self, followed: Followed, offset: int, start_anew: bool, done: Callable[[bool], None]) -> None:
        self.truncations.add(followed, offset, start_anew, done)

    def seed(
        self, followed: Followed, start: int, local_start: int, done: Callable[[tuple[int, Seed] | None], None]
    ) -> None:
        reads = self.node.tier_reads
        if reads is None:
            self.complain(f"{followed.partition.topic}: its leader has the beginning in a tier, this node has no tier")
            done(None)
        else:
            reads.seed(followed.partition, start, local_start, done)

    def begin_in_tier(self, followed: Followed, offset: int, seed: Seed, done: Callable[[bool], None]) -> None:
        self.truncations.add(followed, offset, True, done, seed)

    def pump_soon(self, fetcher: object) -> None:
        assert isinstance(fetcher, Fetcher)
        self._pumped[fetcher] = None

    def complain(self, text: str) -> None:
        self.node.dispatcher.complain(text)

    def invariants(self) -> None:
        """What must hold after every step."""
        for fetcher in self.by_leader.values():
            fetcher.invariants()
        for partition, (fetcher, followed) in self._followed.items():
            assert followed.partition is partition
            assert not followed.stopped
            assert followed.leader_epoch == partition.leader_epoch
            assert partition.leader == fetcher.leader
