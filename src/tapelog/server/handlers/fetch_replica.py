"""Fetch of a follower (versions 4 to 18, with a replica id): reads to the log's end, and claims.

The offset a follower fetches from is its claim that everything below is safe on its disk; the partition counts it.
The fetch waits until something is written to one of its partitions, or a little while after the high watermark moved
beyond what the follower was told. Only partitions in which something happened are looked at: what the request names,
and what has moved since. What a follower was given is not given again before it has come back for more.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import DiskError
from tapelog.base.timers import Timer
from tapelog.replication.partition import Partition
from tapelog.replication.throttle import ThrottledReplicas
from tapelog.replication.waiting import FetchWaiter
from tapelog.server.call import Call
from tapelog.server.fetch_sessions import Key, Session, Wanted, Watch
from tapelog.server.handlers.fetch_parts import check, find, hint, is_news, missing, nothing, put
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import FetchResponse, PartitionData

MAX_WAIT_MS_MAX: Final = 30_000
_TIERED: Final = ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE
NEWS_MS: Final = 5
"""So long a high watermark waits for records to travel with: who reads from a follower waits for it."""


class ReplicaFetch(FetchWaiter):
    """A follower's fetch being answered, perhaps after a wait."""

    def __init__(self, node: NodeApi, call: Call, request: FetchRequest) -> None:
        super().__init__()
        self.node = node
        self.call = call
        self.request = request
        state = request.replica_state
        self.replica = state.replica_id if state is not None else request.replica_id
        self.broker_epoch = state.replica_epoch if state is not None else -1
        self.by_id = call.version >= 13
        kept, wanted, self.incremental = node.fetch_sessions.open(request, call.version)
        self.kept = kept is not None
        self.session = kept if kept is not None else Session(0, self.by_id)
        self.timer: Timer | None = None
        self.hurried = False
        self.outdated = False
        """A claim of this request counts no more (there was an image): the follower may make it anew."""
        self.arriving = False
        """Only a request that arrives claims: while it waits, the follower may lose what it had."""
        self.crowded = False
        self.throttled = False
        if not self.incremental:
            self.session.wanted = wanted
            self.session.moved.update(wanted)

    def start(self) -> None:
        """Take note of the claims; answer now, or park."""
        hub = self.node.hub
        if self.replica in hub.alive:  # anybody may claim to be a replica
            hub.heard_ms[self.replica] = self.node.clock.monotonic_ms()
        session = self.session
        for key, wanted in session.outside.items():
            if not wanted.served:
                session.moved[key] = wanted
        before, self.session.waiting = self.session.waiting, self
        if before is not None:
            before.retry()  # of a connection that is gone: it notices
        self.arriving = True
        self.attempt(self.request.max_wait_ms <= 0 or not self.session.wanted)
        self.arriving = False

    def retry(self) -> None:
        """Some of its partitions moved."""
        self.ripe = False
        if not self.call.done:
            self.attempt(False)

    def expired(self) -> None:
        """The wait is over: answer with what there is."""
        if not self.call.done:
            self.attempt(True)

    def attempt(self, final: bool) -> None:
        """Read what has moved; answer if there is something, or no more time."""
        if self.call.connection.closed:
            self.end()
            return
        if self.session.waiting is not self:  # the follower has asked anew on another connection
            self.end()
            self.call.reply(FetchResponse(session_id=self.session.id))
            return
        moved = self.session.moved
        parts: list[tuple[Wanted, PartitionData]] = []
        left, total, urgent, news = self.request.max_bytes, 0, False, False
        for key, wanted in list(moved.items()):
            data = self.read(key, wanted, left, total == 0)
            records = data.records
            if records is not None:
                total += records.size  # type: ignore[union-attr]
                left = self.request.max_bytes - total
            elif data.error_code or data.diverging_epoch is not None:
                urgent = urgent or data.error_code == 0 or data.error_code != wanted.told_error
                urgent = urgent or (self.arriving and key not in self.session.watches)  # nobody would wake it up
            elif self.kept and is_news(wanted, data):
                news = True
            elif self.incremental and not is_news(wanted, data):
                if not self.crowded:
                    del moved[key]
                continue
            parts.append((wanted, data))
        if final or urgent or self.outdated or total >= self.request.min_bytes:
            self.end()
            self.answer(parts)
        elif self.timer is None or (news and not self.hurried):
            self.wait(NEWS_MS if news else MAX_WAIT_MS_MAX)
            self.hurried = news

    def wait(self, at_most_ms: int) -> None:
        """Look again when something moves, or when the time is over."""
        if self.timer is not None:
            self.timer.cancel()
        self.call.abandoned = self.end
        self.timer = self.node.timers.after(min(self.request.max_wait_ms, at_most_ms), self.expired)

    def end(self) -> None:
        """It waits no more."""
        if self.session.waiting is self:
            self.session.waiting = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if not self.kept:
            self.session.close()

    def read(self, key: Key, wanted: Wanted, budget: int, min_one: bool) -> PartitionData:
        """What one partition has for this fetch; `crowded` if there is something and no room for it."""
        self.crowded = self.throttled = False
        data = nothing(wanted.index)
        partition = find(self.node, wanted, self.by_id)
        if partition is None:
            data.error_code = missing(self.node, wanted, self.by_id)
            return data
        self.watch(key, partition)
        if not check(partition, wanted, data, True):
            return data
        try:
            follower = partition.follower(self.replica, wanted.leader_epoch >= 0)
            log = partition.log
            if wanted.offset < log.local_start_offset or wanted.offset > log.written_end:
                tiered = log.start_offset <= wanted.offset < log.local_start_offset
                raise KafkaError(_TIERED if tiered else ErrorCode.OFFSET_OUT_OF_RANGE, "")
            if self.arriving or follower.end == wanted.offset:
                self.claim(key, wanted, partition)
            else:
                self.outdated = True
            data.high_watermark = partition.high_watermark
            data.log_start_offset = log.start_offset
            data.last_stable_offset = log.last_stable_offset(partition.high_watermark)
            if wanted.offset < log.written_end and not self.held_back(partition):
                room = min(wanted.max_bytes, budget)
                region = (
                    log.read(wanted.offset, max(room, 0), log.written_end, min_one) if room > 0 or min_one else None
                )
                data.records = region
                self.crowded = region is None
                if self.throttled and region is not None:
                    self.node.leader_throttle.record(region.size, self.node.clock.monotonic_ms())
        except KafkaError as error:
            data.error_code = int(error.code)
        except DiskError as failure:
            self.node.disk_failed(partition, failure)
            data.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
            data.records = None
        return data

    def held_back(self, partition: Partition) -> bool:
        """A replica that catches up takes more than leader.replication.throttled.rate: it has to wait."""
        throttle, lead = self.node.leader_throttle, partition.leadership
        if not throttle.active or lead is None or lead.followers[self.replica].counted:
            return False
        text = self.node.image.topic_config(partition.topic).get("leader.replication.throttled.replicas", "")
        if not text or not ThrottledReplicas(text).covers(partition.index, self.replica):
            return False
        self.throttled = True
        self.crowded = throttle.exceeded(self.node.clock.monotonic_ms())
        return self.crowded

    def claim(self, key: Key, wanted: Wanted, partition: Partition) -> None:
        """What the follower fetches from is what it has."""
        now_ms = self.node.clock.monotonic_ms()
        partition.follower_fetched(self.replica, wanted.offset, self.broker_epoch, now_ms, wanted.log_start_offset)
        if partition.has_in_sync(self.replica):
            self.session.outside.pop(key, None)
        else:
            self.session.outside[key] = wanted

    def watch(self, key: Key, partition: Partition) -> None:
        """Be told when the partition moves."""
        session = self.session
        watch = session.watches.get(key)
        if watch is None or watch.partition is not partition:
            if watch is not None:
                watch.partition.remove_fetch(watch)
            watch = session.watches[key] = Watch(session, key, partition)
            partition.add_replica_fetch(watch)

    def answer(self, parts: list[tuple[Wanted, PartitionData]]) -> None:
        """Build the response. What was told is quiet until it moves, or until the follower names it again."""
        session = self.session
        response = FetchResponse(session_id=session.id)
        for wanted, data in parts:
            records = data.records
            wanted.served = records is not None or data.diverging_epoch is not None
            if records is not None:
                partition = find(self.node, wanted, self.by_id)
                if partition is not None:
                    partition.counted().copied(records.size)  # type: ignore[union-attr]
            put(response, wanted, data)
            if data.error_code:
                hint(self.node, self.call, response, wanted, data)
            elif wanted.served or not self.more(wanted):
                session.moved.pop((wanted.topic_id if self.by_id else wanted.topic, wanted.index), None)
        self.call.reply(response)

    def more(self, wanted: Wanted) -> bool:
        """Whether there is something to read for which there was no room."""
        partition = find(self.node, wanted, self.by_id)
        return partition is not None and wanted.offset < partition.log.written_end


def handle(node: NodeApi, call: Call, request: FetchRequest) -> None:
    """Answer a follower's fetch."""
    ReplicaFetch(node, call, request).start()
