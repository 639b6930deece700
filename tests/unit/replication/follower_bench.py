"""A node that follows broker 2, driven by hand: what it sends is kept, what it gets is said by the test."""

from __future__ import annotations

from collections.abc import Callable

from tapelog.base.ports import DiskError
from tapelog.base.timers import Timers
from tapelog.log.config import LogConfig
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.log.trim import Cut, Seed
from tapelog.node.rounds import FlushRounds
from tapelog.replication.followed import Followed, Limits
from tapelog.replication.follower import Fetcher
from tapelog.replication.hub import Hub
from tapelog.replication.partition import Partition
from tapelog.replication.throttle import Throttle
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest
from tapelog.wire.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from tapelog.wire.messages.list_offsets_request import ListOffsetsRequest
from tapelog.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tapelog.wire.record_batch import Record, build_batch

TOPIC, TOPIC_ID, LEADER = "t", b"\1" * 16, 2


def batch(offset: int, epoch: int, count: int = 1) -> bytes:
    """A leader's batch."""
    records = [Record(0, 1000, b"k", b"v%d" % (offset + n)) for n in range(count)]
    return build_batch(records, base_offset=offset, leader_epoch=epoch)


def part(
    index: int = 0,
    records: bytes = b"",
    *,
    error: int = 0,
    high_watermark: int = 0,
    start: int = 0,
    diverging: tuple[int, int] | None = None,
) -> PartitionData:
    """What the leader says of one partition."""
    return PartitionData(
        partition_index=index,
        error_code=error,
        high_watermark=high_watermark,
        log_start_offset=start,
        records=records,
        diverging_epoch=None if diverging is None else EpochEndOffset(*diverging),
    )


class Sent:
    """A request on its way."""

    def __init__(self, lane: str, request: Message, timeout_ms: int, done: Callable[[Message | None], None]) -> None:
        self.lane = lane
        self.request = request
        self.timeout_ms = timeout_ms
        self.done = done


class FollowerBench:
    """The follower, its disk and its fetcher."""

    def __init__(self, partitions: int = 1, **configs: str) -> None:
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.disk = SimDisk(SimEntropy(1), self.timers)
        self.disk.flush_ms_max = 0
        self.count = partitions
        self.configs = configs
        self.limits = Limits(1, backoff_ms=160)
        self.broker_epoch = 7
        self.throttle = Throttle()
        self.sent: list[Sent] = []
        self.complaints: list[str] = []
        self.session = 0
        self.boot()

    def boot(self) -> None:
        """Open everything."""
        self.directory = LogDirectory.open(
            self.disk, "d", clock=self.clock, entropy=SimEntropy(2), cluster_id="c", node_id=1
        )
        config = LogConfig({name.replace("_", "."): value for name, value in self.configs.items()})
        logs = self.directory.create_many([NewLog(TOPIC, index, TOPIC_ID, config) for index in range(self.count)])
        self.hub = Hub()
        self.hub.node_id = 1
        self.partitions = [Partition(self.hub, log, TOPIC, TOPIC_ID, log.partition, 0) for log in logs]
        self.rounds = FlushRounds(self.hub, self.disk, self.clock, self._broke)
        self.fetcher = Fetcher(LEADER, self, self.timers, self.throttle)
        self.followed: dict[int, Followed] = {}
        self.cuts: list[tuple[Followed, Cut, Callable[[bool], None]]] = []
        self.seeds: list[tuple[tuple[int, int], Callable[[tuple[int, Seed] | None], None]]] = []
        self.pumping = False
        self.failed_writes = 0

    def power_cut(self) -> None:
        """And back again, with nothing under way."""
        self.timers = Timers(self.clock)
        self.disk = self.disk.crash(self.timers)
        self.disk.flush_ms_max = 0
        self.sent.clear()
        self.boot()

    # --- what the test does ------------------------------------------------------------------------------------------

    def lead(self, *appends: tuple[int, int]) -> None:
        """Partition 0 led here for a while: (epoch, batches) each; all of it on disk."""
        partition = self.partitions[0]
        for epoch, count in appends:
            partition.leader_epoch = epoch
            for _ in range(count):
                data = build_batch([Record(0, 1000, b"k", b"ours")])
                partition.append(data, 0, len(data), 0)
        self.settle()
        self.pass_time(1)
        assert partition.log.durable_end == partition.log.end_offset

    def follow(self, *indexes: int, epoch: int = 5, throttled: bool = False) -> None:
        """Follow these partitions in that epoch."""
        for index in indexes or (0,):
            partition = self.partitions[index]
            if index in self.followed:
                self.fetcher.stop(self.followed[index])
            partition.follow(LEADER, epoch)
            self.followed[index] = Followed(partition, epoch, throttled)
            self.fetcher.follow(self.followed[index])
        self.settle()

    def stop(self, index: int) -> None:
        """Not any more."""
        self.fetcher.stop(self.followed.pop(index))
        self.settle()

    def answer(self, *parts: PartitionData, error: int = 0, session: int | None = None, flush: bool = True) -> None:
        """The leader answers the oldest request; flush: and the disk has all of it."""
        sent = self.sent.pop(0)
        self.session = session if session is not None else max(self.session, 99)
        response = FetchResponse(session_id=self.session, error_code=error)
        response.responses = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(parts))]
        sent.done(response)
        self.settle()
        if flush:
            self.pass_time(3)  # a round may be under way, and this one's comes after it

    def fail(self) -> None:
        """No answer comes."""
        self.sent.pop(0).done(None)
        self.settle()

    def pass_time(self, by_ms: int) -> None:
        """Let time pass."""
        for _ in range(by_ms):
            self.clock.advance(1)
            self.timers.run_due()
            self.settle()

    def settle(self) -> None:
        """The end of a wake-up, as in the node core."""
        hub = self.hub
        for _ in range(50):
            dirty, hub.dirty = hub.dirty, []
            for partition in dirty:
                try:
                    partition.write()
                except DiskError:
                    self.failed_writes += 1
                    self.fetcher.taken_back(self.followed[partition.index])
            moved, hub.followed = hub.followed, []
            for partition in moved:
                partition.in_followed = False
                if partition.index in self.followed:
                    self.fetcher.moved(self.followed[partition.index])
            cuts, self.cuts = self.cuts, []
            for followed, cut, done in cuts:
                self.directory.truncate_many([cut], lambda _: None)
                if not followed.stopped:
                    followed.partition.truncated()
                done(True)
            if self.pumping:
                self.pumping = False
                self.fetcher.pump()
            if not (hub.dirty or hub.followed or self.cuts or self.pumping):
                break
        self.rounds.start()
        self.fetcher.invariants()
        for partition in self.partitions:
            partition.invariants()

    # --- what the test looks at --------------------------------------------------------------------------------------

    @property
    def request(self) -> FetchRequest:
        """The only request on its way."""
        (sent,) = self.sent
        assert isinstance(sent.request, FetchRequest)
        return sent.request

    def asked(self) -> list[FetchPartition]:
        """The partitions it names."""
        return [part for topic in self.request.topics for part in topic.partitions]

    def position(self) -> tuple[int, int]:
        """Offset and epoch of the only partition it names."""
        (asked,) = self.asked()
        return asked.fetch_offset, asked.last_fetched_epoch

    def end(self, index: int = 0) -> int:
        """Where a log ends."""
        return self.partitions[index].log.end_offset

    # --- Surroundings ------------------------------------------------------------------------------------------------

    def send(
        self,
        leader: int,
        lane: str,
        request: Message,
        version: int,
        timeout_ms: int,
        done: Callable[[Message | None], None],
    ) -> None:
        assert leader == LEADER
        self.sent.append(Sent(lane, request, timeout_ms, done))

    def truncate(self, followed: Followed, offset: int, start_anew: bool, done: Callable[[bool], None]) -> None:
        cut = Cut(followed.partition.log, offset, start_anew=start_anew, wanted=lambda: not followed.stopped)
        self.cuts.append((followed, cut, done))

    def seed(
        self, followed: Followed, start: int, local_start: int, done: Callable[[tuple[int, Seed] | None], None]
    ) -> None:
        self.seeds.append(((start, local_start), done))

    def begin_in_tier(self, followed: Followed, offset: int, seed: Seed, done: Callable[[bool], None]) -> None:
        log = followed.partition.log
        cut = Cut(log, offset, start_anew=True, wanted=lambda: not followed.stopped, seed=seed)
        self.cuts.append((followed, cut, done))

    def pump_soon(self, fetcher: object) -> None:
        self.pumping = True

    def complain(self, text: str) -> None:
        self.complaints.append(text)

    def _broke(self, error: DiskError) -> None:
        raise error


def tell_range(bench: FollowerBench, start: int, end: int, second: int = -1) -> None:
    """The leader says where its log begins and ends; second=-4: where it begins on its own disk."""
    asked = [sent for sent in bench.sent if isinstance(sent.request, ListOffsetsRequest)]
    times = [sent.request.topics[0].partitions[0].timestamp for sent in asked]  # type: ignore[attr-defined]
    assert times == [-2, second]
    bench.sent = [sent for sent in bench.sent if sent not in asked]
    for sent, offset in zip(asked, (start, end), strict=True):
        told = ListOffsetsPartitionResponse(partition_index=0, offset=offset)
        sent.done(ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=[told])]))
    bench.settle()
