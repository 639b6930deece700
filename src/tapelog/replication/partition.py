"""One partition hosted here, as its leader or as a follower: appends, the high watermark, and the role.

Called by the produce and fetch handlers, by the follower's fetcher, and by the node core (`write`, `flushed`).
Promises: nobody is answered before the bytes are as durable as the acknowledgement says, answers keep the order of
appends, the high watermark never goes back within a leader epoch. A leader's high watermark is the least durable end
over the maximal ISR (`page_cache` topics: what has been written); a follower's is what its leader says, as far as its
own disk has it. Roles change only when the published image says so.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import DiskError
from tapelog.log.log import CLIENT, COORDINATOR, REPLICATION, Appended, FlushTicket, Log
from tapelog.replication.admission import admit
from tapelog.replication.guards import Guards
from tapelog.replication.hub import Hub
from tapelog.replication.invariants import check
from tapelog.replication.isr import IsrChange
from tapelog.replication.leadership import Leadership
from tapelog.replication.majority import Majority
from tapelog.replication.progress import Replica
from tapelog.replication.quota import Quota
from tapelog.replication.traffic import Traffic
from tapelog.replication.waiting import AppendWaiter
from tapelog.replication.waitroom import Parked, WaitingRoom, release, wake
from tapelog.wire.control_records import ended_epoch, marker_batch
from tapelog.wire.errors import ErrorCode, KafkaError

ORIGIN_CLIENT: Final = CLIENT
ORIGIN_COORDINATOR: Final = COORDINATOR
NO_LEADER: Final = -1
BATCH_COST: Final = 4096
"""What it costs to keep the sender of a batch waiting, in bytes; beside the batch's own."""
_STORAGE_ERROR: Final = int(ErrorCode.KAFKA_STORAGE_ERROR)
_NOT_LEADER: Final = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
_INVALID_TXN_STATE: Final = int(ErrorCode.INVALID_TXN_STATE)
_TOO_FEW_NOW: Final = int(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


class Partition(WaitingRoom):
    """A partition this node holds. A new one leads alone, up to what its disk has; `lead` and `follow` change that."""

    def __init__(self, hub: Hub, log: Log, topic: str, topic_id: bytes, index: int, leader_epoch: int) -> None:
        super().__init__(hub)
        self.log = log
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.leader_epoch = leader_epoch
        self.high_watermark: int = log.durable_end
        self.page_cache = log.config.page_cache
        self.leading = True
        self.leader = hub.node_id
        self.alone = True
        """Led here without followers: the high watermark is our own end."""
        self.leadership: Leadership | None = None
        """With followers: what the leader knows of them."""
        self.under_min_isr = False
        self._hindered = False
        """A follower, or too few are in sync, or there are bounds: not everybody may append."""
        self.quotas: tuple[Quota, ...] = ()
        """What bounds the topic, or its prefix, on disk."""
        self.watched = False
        self.offline = False
        self.closed = False
        self._queued = False
        self._unflushed = False
        self.unflushed_bytes = 0
        """Its share of `hub.unflushed_bytes`, without the round under way."""
        self.leader_high_watermark = self.high_watermark
        """On a follower: what its leader has committed."""
        self.leader_start_offset = -1
        self.in_followed = False
        self._majority: Majority | None = None
        self.guards = Guards(hub)
        self.traffic: Traffic | None = None
        """What is written and read here; None while that is nothing."""
        self.role_since_ms = hub.now_ms

    # --- appends -------------------------------------------------------------------------------------------------

    def append(self, buf: bytes, start: int, end: int, origin: int) -> Appended:
        """Validate, give offsets to, and queue one batch; raises KafkaError and changes nothing when it is refused."""
        if self._hindered:
            admit(self, origin, end - start)
        appended = self._take(buf, start, end, origin)
        if not appended.duplicate:
            traffic = self.traffic if self.traffic is not None else self.counted()
            traffic.wrote(end - start, appended.last_offset - appended.base_offset + 1)
            if not self._queued:
                self._queued = True
                self.hub.dirty.append(self)
        return appended

    def _take(self, buf: bytes, start: int, end: int, origin: int) -> Appended:
        """Into the log; if reading its own files fails, the node is told, and who appends."""
        try:
            return self.log.append(buf, start, end, self.leader_epoch, origin)
        except DiskError as trouble:
            self.hub.troubled.append((self, trouble))
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(trouble)) from trouble

    @property
    def lacks_room(self) -> bool:
        """Whether what is left on its disk is kept for others: coordinators' partitions may go on."""
        return not self.watched and self.log.disk in self.hub.full

    def counted(self) -> Traffic:
        """The counters of this role; made when first needed."""
        if self.traffic is None:
            self.traffic = self.hub.busy[self] = Traffic(self.role_since_ms, self.hub.now_ms)
        return self.traffic

    def forget_traffic(self) -> None:
        """Nothing has happened for long, or the role is over: count anew."""
        if self.traffic is not None:
            self.traffic = None
            self.hub.busy.pop(self, None)

    def append_marker(
        self, producer_id: int, producer_epoch: int, commit: bool, coordinator_epoch: int, transaction_version: int
    ) -> Appended:
        """Queue the marker that ends a producer's transaction here; raises KafkaError and changes nothing when the
        producer or the coordinator is fenced. Batches that wait for this transaction's admission are refused."""
        self.log.producers.check_marker(producer_id, producer_epoch, coordinator_epoch, transaction_version)
        batch = marker_batch(
            commit=commit,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp=self.log.clock.wall_ms(),
        )
        appended = self.append(batch, 0, len(batch), ORIGIN_COORDINATOR)
        self.guards.break_up_to(producer_id, ended_epoch(producer_epoch, transaction_version), _INVALID_TXN_STATE)
        return appended

    def append_replicated(self, buf: bytes, start: int, end: int) -> Appended:
        """Queue the leader's batches as they are, on a follower; KafkaError and no change when they do not fit."""
        assert not self.leading, "a leader takes no batches from others"
        if self.hub.full and self.lacks_room:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "more than there is room for here")
        appended = self._take(buf, start, end, REPLICATION)
        if not self._queued:
            self._queued = True
            self.hub.dirty.append(self)
        return appended

    def park(self, end_offset: int, waiter: AppendWaiter, index: int) -> None:
        """Tell the waiter when everything below end_offset is committed; at once if it already is."""
        if end_offset <= self.high_watermark:
            waiter.committed(index)
        else:
            self._wait(Parked(end_offset, waiter, index))

    def park_local(self, end_offset: int, waiter: AppendWaiter, index: int) -> None:
        """acks=1: tell the waiter when this node's own disk has it (`page_cache` topics: when it is written)."""
        if self.alone:
            self.park(end_offset, waiter, index)
        elif end_offset <= self.own_end:
            waiter.committed(index)
        else:
            self._wait_for_disk(Parked(end_offset, waiter, index))

    def park_marker(self, end_offset: int, waiter: AppendWaiter, index: int) -> None:
        """Like park, but on `page_cache` topics, too, not before the disk has it: its transaction is over then for the
        coordinator, and a marker that a power cut takes back would never be written again."""
        if self.page_cache:
            self._wait_for_both(Parked(end_offset, waiter, index))
        elif end_offset <= self.high_watermark:
            waiter.committed(index)
        else:
            self._wait(Parked(end_offset, waiter, index))

    # --- disk ----------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Hand what was appended to the file system. Raises DiskError after failing everybody who waits for it."""
        self._queued = False
        if self.closed:
            return
        log = self.log
        if not self.alone and self.leadership is not None:
            self.leadership.grows(log.written_end)
        cost = log.bytes_since_checkpoint + BATCH_COST * log.batches_since_checkpoint
        try:
            log.write()
        except Exception:
            if self.leadership is not None:
                self.leadership.epoch_start = min(self.leadership.epoch_start, self.log.written_end)
            self.fail_parked_above(self.log.written_end, _STORAGE_ERROR)
            raise
        cost = log.bytes_since_checkpoint + BATCH_COST * log.batches_since_checkpoint - cost
        self.hub.uncheckpointed_bytes += cost
        if self._tail_waiters:
            wake(self.hub, self._tail_waiters)
        if self.page_cache:
            if self.alone and not self._parked_local:
                self._advance(self.log.written_end)
            else:
                self._moved(self.hub.now_ms)
            unflushed = self.log.written_end - self.log.durable_end
            flush = unflushed >= self.log.config.flush_messages or len(self._parked_markers) > 0
            self.hub.cached_bytes += cost
        else:
            flush = True
            self.unflushed_bytes += cost
            self.hub.unflushed_bytes += cost
        if flush:
            self.flush_soon()

    def flush_soon(self) -> None:
        """What was done to its files becomes durable with the next round."""
        if not self._unflushed:
            self._unflushed = True
            self.hub.unflushed.append(self)

    def begin_flush(self) -> FlushTicket:
        """What the coming flush round must sync for this partition."""
        self._unflushed = False
        return self.log.begin_flush()

    def flushed(self, ticket: FlushTicket) -> None:
        """The round of this ticket is on disk."""
        if self.closed:
            return
        self.log.end_flush(ticket)
        if not self.alone or self._parked_local:  # the latter: it had followers when they were parked
            self._moved(self.hub.now_ms)
        elif not self.page_cache:
            self._advance(self.log.durable_end)
        if self._parked_markers:
            self._release_markers()

    @property
    def own_end(self) -> int:
        """Up to where this replica's own copy counts."""
        return self.log.written_end if self.page_cache else self.log.durable_end

    # --- roles ---------------------------------------------------------------------------------------------------

    def lead(
        self, leader_epoch: int, partition_epoch: int, replicas: tuple[int, ...], isr: tuple[int, ...], now_ms: int
    ) -> None:
        """Lead in a new leader epoch. What followers claimed before does not count any more; who waits, waits on: a
        leader that stays one has lost nothing."""
        if self.leadership is None:
            self.forget_traffic()
            self.role_since_ms = now_ms
        self.leading = True
        self.leader = self.hub.node_id
        self.leader_epoch = leader_epoch
        self.leadership = Leadership(self.hub, leader_epoch, self.log.end_offset)
        self.update(partition_epoch, replicas, isr, now_ms)

    def update(self, partition_epoch: int, replicas: tuple[int, ...], isr: tuple[int, ...], now_ms: int) -> None:
        """The same leader epoch, and perhaps other replicas or another ISR. Older news than what the controller has
        told us already are left aside. A follower has nothing to learn from this."""
        lead = self.leadership
        if lead is None or not lead.assign(replicas, isr, partition_epoch, now_ms):
            return
        self.alone = len(replicas) == 1
        if self.alone:
            self.hub.replicated.pop(self, None)
        else:
            self.hub.replicated[self] = None
        self.wake_low_waiters()
        self._count_in_sync()
        self._moved(now_ms)

    def follow(self, leader: int, leader_epoch: int) -> None:
        """Somebody else leads (-1: nobody): whoever waits for us to commit something is told to ask there."""
        was_leading = self.leading
        if was_leading:
            self.forget_traffic()
            self.role_since_ms = self.hub.now_ms
        self.leading = False
        self.alone = False
        self.under_min_isr = False
        self._hindered = True
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.leadership = None
        self.leader_high_watermark = self.high_watermark
        self.leader_start_offset = -1
        self.log.tiered_end = 0  # what was known of the tier, another leader may have made another log of
        self.hub.replicated.pop(self, None)
        if was_leading:
            self.guards.close(_NOT_LEADER)
            self.fail_parked_above(-1, _NOT_LEADER)
            self.wake_low_waiters()
        self.wake_fetches()

    def leader_says(self, high_watermark: int, start_offset: int) -> None:
        """A follower's leader has committed up to there, and begins there."""
        self.leader_high_watermark = high_watermark
        self.leader_start_offset = start_offset
        self._moved(self.hub.now_ms)

    def truncated(self) -> None:
        """The log was cut (only ever a follower's): the high watermark follows it, and the next round makes the cut
        durable. What was readable here can be gone only after an unclean election, or with the start of the log."""
        log = self.log
        self.high_watermark = max(min(self.high_watermark, log.end_offset), log.local_start_offset)
        self.leader_high_watermark = self.high_watermark
        self.leader_start_offset = -1
        self.flush_soon()
        self.wake_fetches()

    # --- followers -----------------------------------------------------------------------------------------------

    def follower(self, replica: int, knows_epoch: bool) -> Replica:
        """The follower of that id. KafkaError if it has none here: as far as we know, or as far as it knows."""
        found = self.leadership.followers.get(replica) if self.leadership is not None else None
        if found is None:
            code = ErrorCode.UNKNOWN_LEADER_EPOCH if knows_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER
            raise KafkaError(code, f"{replica} is no replica of {self.topic}-{self.index}")
        return found

    def follower_fetched(
        self, replica: int, offset: int, broker_epoch: int, now_ms: int, start_offset: int = -1
    ) -> None:
        """A follower fetches from offset in this leader epoch: everything below is safe on its side. KafkaError if it
        is no replica here, or if the fetch is older than the registration of its broker."""
        lead, follower = self.leadership, self.follower(replica, True)
        assert lead is not None
        if follower.stale(broker_epoch, self.hub.alive):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"a fetch of broker {replica} from before it came back")
        before, start = follower.end, follower.start
        follower.fetched(offset, start_offset, broker_epoch, self.log.written_end, now_ms)
        if not follower.counted and lead.may_enter(follower, self.high_watermark, now_ms):
            self._ask([*lead.in_sync.isr, replica])
        if offset != before:
            self._moved(now_ms)
        if self._low_waiters is not None and start_offset != start:
            wake(self.hub, self._low_waiters)

    def low_watermark(self) -> int:
        """Below this neither we nor any follower that is there has records any more."""
        lead = self.leadership
        return self.log.start_offset if lead is None else lead.low_watermark(self.log.start_offset)

    def has_in_sync(self, replica: int) -> bool:
        """Whether that replica is in the committed ISR."""
        return self.leadership is not None and replica in self.leadership.in_sync.isr

    def check_isr(self, now_ms: int) -> None:
        """By the clock: ask for an ISR without those who lag, and go on without those who only seemed to come."""
        lead = self.leadership
        if lead is None:
            return
        if lead.in_sync.asked is None:
            late = lead.lagging(self.log.written_end, now_ms)
            if late:
                self._ask([id for id in lead.in_sync.isr if id not in late])
        self._moved(now_ms)

    def hurry(self, now_ms: int) -> None:
        """By the clock, `tapelog.acks=quorum`: what a majority has had for a while is not held up by the others. They
        are asked out of the ISR first, so that none of them can be elected without it."""
        lead = self.leadership
        if lead is None or not self.log.config.acks_quorum or not self._parked or lead.in_sync.asked is not None:
            self._majority = None
            return
        if self._majority is None:
            self._majority = Majority()
        late = self._majority.held_up_by(lead, self.own_end, self.high_watermark, now_ms)
        if late:
            self._ask([id for id in lead.in_sync.isr if id not in late])

    def brokers_changed(self, now_ms: int) -> None:
        """Other brokers live, or in other epochs: those the high watermark waits for have changed with that."""
        self.wake_low_waiters()
        wake(self.hub, self._tail_waiters)
        self._moved(now_ms)

    def isr_agreed(self, change: IsrChange, isr: tuple[int, ...], partition_epoch: int, now_ms: int) -> None:
        """The controller answered a change of ours with what holds now."""
        lead = self.leadership
        if lead is not None and lead.in_sync.asked is change and lead.agreed(isr, partition_epoch):
            self._count_in_sync()
            self._moved(now_ms)

    def isr_refused(self, change: IsrChange, code: int, now_ms: int) -> bool:
        """The controller refused a change of ours; whether it must be sent again."""
        lead = self.leadership
        if lead is None or lead.in_sync.asked is not change:
            return False
        again = lead.refused(code, now_ms)
        wake(self.hub, self._tail_waiters)
        self._moved(now_ms)
        return again

    def _ask(self, isr: list[int]) -> None:
        assert self.leadership is not None
        self.leadership.ask(isr)
        self.hub.isr_changes.append(self)

    def _count_in_sync(self) -> None:
        """Whether enough are in sync for acks=all; if not any more, those who wait for that are told. Followers that
        have said all they had to say are asked again."""
        lead = self.leadership
        if lead is None:
            return
        wake(self.hub, self._tail_waiters)
        config, count = self.log.config, len(lead.followers) + 1
        least = max(config.min_insync_replicas, count // 2 + 1 if config.acks_quorum else 1)
        lead.min_isr = min(least, count)  # as Kafka has it
        self.under_min_isr = lead.under_min_isr
        self._hindered = self.under_min_isr or len(self.quotas) > 0
        if self.under_min_isr:
            self.fail_replicated_above(self.high_watermark, _TOO_FEW_NOW)

    # --- what is committed ---------------------------------------------------------------------------------------

    @property
    def high_watermark_is_known(self) -> bool:
        """False while a new leader cannot say what is committed: its epoch began above the high watermark it knows."""
        return self.leadership is None or self.leadership.epoch_start <= self.high_watermark

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """(largest known epoch <= epoch, where it ended); (-1, -1) if unknown. The log learns of an epoch with its
        first record; one in which nothing was written ended where the leader's log ends."""
        latest = self.log.leader_epoch_cache.latest
        if self.leading and latest < epoch <= self.leader_epoch:
            known = epoch if latest < 0 or epoch == self.leader_epoch else latest
            return known, self.log.end_offset
        return self.log.epoch_end_offset(epoch)

    def use_config(self) -> None:
        """The log's configuration changed: take over what concerns acknowledgements."""
        before, self.page_cache = self.page_cache, self.log.config.page_cache
        if before and not self.page_cache:
            self.flush_soon()  # what was only written counts already
        self._count_in_sync()
        if not self.alone:
            self._moved(self.hub.now_ms)
        elif self.page_cache:
            self._advance(self.log.written_end)

    def bound_by(self, quotas: tuple[Quota, ...]) -> None:
        """From now on these count what clients append here."""
        self.quotas = quotas
        self._hindered = not self.leading or self.under_min_isr or len(quotas) > 0

    def close(self, code: int = _NOT_LEADER) -> None:
        """The partition is here no more: everybody who waits is told so."""
        self.closed = True
        self.forget_traffic()
        self.wake_low_waiters()
        self.hub.replicated.pop(self, None)
        self.guards.close(code)
        self.fail_parked_above(-1, code)
        self.wake_fetches()

    def _moved(self, now_ms: int) -> None:
        """Our own end, a claim, the ISR or the role changed: tell whom that concerns."""
        lead, own_end = self.leadership, self.own_end
        if not self.leading:
            self._followed(own_end)
            return
        if self._parked_local:
            release(self._parked_local, own_end)
        if lead is not None:
            own_end = lead.ceiling(own_end, self.log.written_end, now_ms)
        self._advance(own_end)
        if self._parked_markers:
            self._release_markers()

    def _followed(self, own_end: int) -> None:
        """The same on a follower: as far as both have come, its leader and its own disk."""
        self._advance(min(own_end, self.leader_high_watermark))
        if self.log.start_offset < self.leader_start_offset <= self.high_watermark:
            self.log.increment_start_offset(self.leader_start_offset)
            self.wake_fetches()
        if not self.in_followed:
            self.in_followed = True
            self.hub.followed.append(self)

    def _release_markers(self) -> None:
        release(self._parked_markers, min(self.high_watermark, self.log.durable_end))

    def _advance(self, offset: int) -> None:
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        release(self._parked, offset)
        if self.log.producers.undecided:
            self.log.producers.forget_decided(offset)
        if self._waiters:
            self.wake_fetches()
        if self.watched:
            self.hub.advanced.append(self)

    def invariants(self) -> None:
        """What must hold after every step."""
        check(self, len(self._parked) + len(self._parked_local) + len(self._parked_markers))
