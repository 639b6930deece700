"""The fetcher: everything this node follows of one leader, without I/O.

One per leader node, fed by `node.fetchers`: `follow` and `stop` as roles change, `moved` when a followed partition's
disk has caught up, `pump` at the end of a wake-up. A follower asks from the end of what its own disk has, with the
epoch of its last record. The answer brings batches, or says where the two logs part: then the log is cut there and
nowhere else, and asked again. High watermark and start offset are taken over from the leader. Errors that metadata will
resolve are waited out, a little longer each time.

Which lane (connection) serves which partition is up to `fetch_lanes`.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.timers import Timers
from tapelog.log.trim import Seed
from tapelog.replication import divergence
from tapelog.replication.fetch_lane import Lane
from tapelog.replication.fetch_lanes import FETCH_VERSION, Lanes
from tapelog.replication.followed import AWAY, CUTTING, FETCHING, SETTLING, Followed, Surroundings
from tapelog.replication.ranges import RangeQuestion
from tapelog.replication.throttle import WINDOW_MS, Throttle
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_response import EpochEndOffset, FetchResponse, PartitionData
from tapelog.wire.record_batch import HEADER_SIZE, base_offset, last_offset
from tapelog.wire.values import Region, Slice

BACKOFF_MS: Final = 20
"""After a first error; doubles up to replica.fetch.backoff.ms."""
SESSION_FAILURES_MAX: Final = 3
"""A lost session is opened again at once, but not for ever."""

_SESSION_ERRORS: Final = (
    int(ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    int(ErrorCode.INVALID_FETCH_SESSION_EPOCH),
    int(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
)
_OUT_OF_RANGE: Final = int(ErrorCode.OFFSET_OUT_OF_RANGE)
_TIERED: Final = int(ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE)


class Fetcher:
    """See the module."""

    def __init__(self, leader: int, node: Surroundings, timers: Timers, throttle: Throttle) -> None:
        self.leader = leader
        self.node = node
        self.timers = timers
        self.throttle = throttle
        self.lanes = Lanes(leader, node, timers.clock)
        self.truncations = 0
        self._out_of_range: list[Followed] = []
        self._tiered: list[Followed] = []

    # --- what the node says ----------------------------------------------------------------------------------------

    def follow(self, followed: Followed) -> None:
        """Fetch this partition from now on; what it has need not be on disk yet."""
        followed.state = AWAY
        if followed.settled:
            self._back(followed)

    def stop(self, followed: Followed) -> None:
        """Never again: it has another role now, or is gone."""
        followed.stopped = True
        if followed.lane is not None:
            followed.lane.remove(followed)
            self.node.pump_soon(self)

    def moved(self, followed: Followed) -> None:
        """Its own end moved: all it has may be on disk now."""
        if followed.stopped or not followed.settled:
            return
        lane = followed.lane
        if lane is None:
            self._back(followed)
        elif followed.state == SETTLING:
            lane.enter(followed, FETCHING)
            self.node.pump_soon(self)

    def taken_back(self, followed: Followed) -> None:
        """What it was sent could not be written: later again."""
        if not followed.stopped and followed.state == SETTLING:
            self._back_off(followed)

    def pump(self) -> None:
        """The wake-up ends: send what can be sent."""
        if self._out_of_range:
            asked, self._out_of_range = self._out_of_range, []
            RangeQuestion(self, [one for one in asked if not one.stopped]).ask()
        if self._tiered:
            asked, self._tiered = self._tiered, []
            RangeQuestion(self, [one for one in asked if not one.stopped], True).ask()
        if self.throttle.active and self.throttle.exceeded(self.timers.clock.monotonic_ms()):
            self._hold_back()
        for lane in self.lanes.all:
            if lane.may_send:
                self._send(lane)

    # --- requests --------------------------------------------------------------------------------------------------

    def _send(self, lane: Lane) -> None:
        node = self.node
        limits = node.limits
        wait_ms = self.lanes.wait_ms(lane)
        request = lane.request(limits, node.broker_epoch, wait_ms)
        lane.due_ms = self.timers.clock.monotonic_ms() + wait_ms
        timeout_ms = limits.timeout_ms + limits.wait_ms
        node.send(
            self.leader, lane.name, request, FETCH_VERSION, timeout_ms, lambda response: self._answered(lane, response)
        )

    def _answered(self, lane: Lane, response: Message | None) -> None:
        lane.in_flight = False
        self.node.pump_soon(self)
        if not isinstance(response, FetchResponse):
            lane.reset()
            self._rest(lane)
        elif response.error_code:
            lane.reset()
            if response.error_code not in _SESSION_ERRORS or lane.failures >= SESSION_FAILURES_MAX:
                self._rest(lane)
            else:
                lane.failures += 1
        else:
            lane.failures = 0
            lane.memory.answered(response)
            self._take(lane, response)
            self.lanes.answered(lane)

    def _rest(self, lane: Lane) -> None:
        lane.resting = True
        lane.failures += 1
        self.timers.after(self._delay_ms(lane.failures), lambda: self._rested(lane))

    def _rested(self, lane: Lane) -> None:
        lane.resting = False
        self.node.pump_soon(self)

    def _delay_ms(self, failures: int) -> int:
        return min(self.node.limits.backoff_ms, BACKOFF_MS << min(failures - 1, 10))

    # --- answers ---------------------------------------------------------------------------------------------------

    def _take(self, lane: Lane, response: FetchResponse) -> None:
        received = 0
        for topic in response.responses:
            for data in topic.partitions:
                followed = lane.members.get((topic.topic_id, data.partition_index))
                if followed is None or followed.state != FETCHING or not followed.in_session:
                    continue  # stopped, or another one by now: it will ask for itself
                if followed.throttled and data.records is not None:
                    received += len(data.records) if not isinstance(data.records, Region) else data.records.size
                if data.error_code:
                    self._refused(lane, followed, data.error_code)
                elif data.diverging_epoch is not None:
                    self._diverged(followed, data.diverging_epoch, data.log_start_offset)
                else:
                    self._append(lane, followed, data)
        if received:
            self.throttle.record(received, self.timers.clock.monotonic_ms())

    def _append(self, lane: Lane, followed: Followed, data: PartitionData) -> None:
        partition, records = followed.partition, data.records
        assert not partition.leading, "a leader follows nobody"
        if records:
            if not isinstance(records, Slice):
                whole = records if isinstance(records, bytes) else records.read()
                records = Slice(whole, 0, len(whole))
            if self._begins_early(followed, records):
                self._cut(followed, base_offset(records.buf, records.start), True, data)
                return
            try:
                partition.append_replicated(records.buf, records.start, records.end)
            except KafkaError as error:
                self.node.complain(f"{partition.topic}-{partition.index}: broker {self.leader} sent {error}")
                self._back_off(followed)
                return
        followed.failures = 0
        before = partition.log.start_offset
        if not followed.settled:
            lane.enter(followed, SETTLING)
        partition.leader_says(data.high_watermark, data.log_start_offset)
        if partition.log.start_offset != before:
            lane.touch(followed)

    def _begins_early(self, followed: Followed, records: Slice) -> bool:
        """An empty log began at an offset within a batch, where its leader's log begins: it must begin with that batch,
        which the leader would never give from its first offset on."""
        log = followed.partition.log
        if log.start_offset != log.end_offset or len(records) < HEADER_SIZE:
            return False
        return base_offset(records.buf, records.start) < log.end_offset <= last_offset(records.buf, records.start)

    def _refused(self, lane: Lane, followed: Followed, code: int) -> None:
        if code == _OUT_OF_RANGE:
            lane.enter(followed, AWAY)
            self._out_of_range.append(followed)
        elif code == _TIERED and followed.partition.log.config.remote:
            lane.enter(followed, AWAY)
            self._tiered.append(followed)
        else:
            self._back_off(followed)

    def _diverged(self, followed: Followed, parts: EpochEndOffset, leader_start: int) -> None:
        log = followed.partition.log
        if log.start_offset == log.end_offset and leader_start >= 0:
            self._cut(followed, leader_start, True)  # nothing is lost, and what the leader has below our end is needed
            return
        offset = divergence.truncation_point(log, parts.epoch, parts.end_offset)
        if log.start_offset <= offset < log.local_start_offset:  # only after an unclean election: begin all anew
            assert followed.lane is not None
            self._refused(followed.lane, followed, _TIERED)
        elif 0 <= offset < log.end_offset:
            self._cut(followed, offset, False)
        else:
            partition = followed.partition
            self.node.complain(
                f"{partition.topic}-{partition.index}: broker {self.leader} has epoch {parts.epoch} up to "
                f"{parts.end_offset}, which is no reason to cut a log that ends at {log.end_offset}"
            )
            self._back_off(followed)

    def ranged(self, followed: Followed, leader_start: int, leader_end: int) -> None:
        """The leader's log begins and ends there (-1: it did not say)."""
        if followed.stopped:
            return
        if leader_start < 0 or leader_end < 0:
            self._back_off(followed)
            return
        log = followed.partition.log
        meeting = divergence.meeting_point(log.end_offset, leader_start, leader_end)
        if meeting is None and log.start_offset == log.end_offset and log.leader_epoch_cache.latest >= 0:
            self._cut(followed, leader_start, True)  # the leader knows nothing of the epochs of a log that is empty
        elif meeting is None:
            self._back_off(followed)
        elif not meeting.start_anew and log.start_offset <= meeting.offset < log.local_start_offset:
            assert followed.lane is not None
            self._refused(followed.lane, followed, _TIERED)  # what is to be cut only the tier has: begin all anew
            self.node.pump_soon(self)
        else:
            self._cut(followed, meeting.offset, meeting.start_anew)

    def tiered(self, followed: Followed, leader_start: int, leader_local_start: int) -> None:
        """What it asks for only the tier has (-1: the leader did not say from where on it has everything itself): learn
        from there what the leader knew at that point, and go on behind it."""
        if followed.stopped:
            return
        if leader_start < 0 or leader_local_start < leader_start:
            self._back_off(followed)
            return
        if leader_local_start == leader_start:  # it has everything itself
            self._cut(followed, leader_start, True)
            return
        self.node.seed(followed, leader_start, leader_local_start, lambda answer: self._seeded(followed, answer))

    def _seeded(self, followed: Followed, answer: tuple[int, Seed] | None) -> None:
        if followed.stopped:
            return
        if answer is None:
            self._back_off(followed)
        else:
            self._cut(followed, answer[0], True, None, answer[1])

    def _cut(
        self,
        followed: Followed,
        offset: int,
        start_anew: bool,
        then: PartitionData | None = None,
        seed: Seed | None = None,
    ) -> None:
        """then: what the leader sent, to be appended when the log is cut. seed: what it learnt of what is below."""
        lane = followed.lane
        assert lane is not None
        lane.enter(followed, CUTTING)
        self.truncations += 1
        if seed is None:
            self.node.truncate(followed, offset, start_anew, lambda cut: self._was_cut(lane, followed, then, cut))
        else:
            self.node.begin_in_tier(followed, offset, seed, lambda cut: self._was_cut(lane, followed, then, cut))

    def _was_cut(self, lane: Lane, followed: Followed, then: PartitionData | None, cut: bool) -> None:
        if followed.stopped:
            return
        if not cut:
            self._back_off(followed)
            return
        lane.enter(followed, FETCHING if followed.settled else SETTLING)
        self.node.pump_soon(self)
        if then is not None:
            self._append(lane, followed, then)

    # --- away and back -----------------------------------------------------------------------------------------------

    def _back_off(self, followed: Followed) -> None:
        assert followed.lane is not None
        followed.lane.enter(followed, AWAY)
        followed.failures += 1
        self._away(followed, self._delay_ms(followed.failures))

    def _away(self, followed: Followed, delay_ms: int) -> None:
        self.timers.after(delay_ms, lambda: self._rejoin(followed))

    def _rejoin(self, followed: Followed) -> None:
        if not followed.stopped:
            self._back(followed)

    def _hold_back(self) -> None:
        """Too much was fetched: those who are not in sync wait a while."""
        for lane in self.lanes.all:
            if not lane.busy:
                for followed in [one for one in lane.members.values() if one.throttled and one.state == FETCHING]:
                    lane.enter(followed, AWAY)
                    self._away(followed, WINDOW_MS)

    def _back(self, followed: Followed) -> None:
        """It can be fetched: by its lane, or by one that is free."""
        lane = self.lanes.place_for(followed)
        if followed.lane is not lane:
            if followed.lane is not None:
                followed.lane.remove(followed)
            lane.add(followed)
        lane.enter(followed, FETCHING if followed.settled else SETTLING)
        self.node.pump_soon(self)

    def invariants(self) -> None:
        """What must hold after every step."""
        for lane in self.lanes.all:
            states = [one.state for one in lane.members.values()]
            assert lane.fetching == states.count(FETCHING)
            assert lane.held == states.count(SETTLING) + states.count(CUTTING)
            for one in lane.members.values():
                assert one.lane is lane
                assert not one.stopped
                assert not one.partition.leading
