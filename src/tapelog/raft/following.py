"""The fetch loop of followers and observers, and how a replica without a leader finds one.

One fetch at a time: append what came, wait until it is durable, fetch again from there. Where the logs part, cut one's
own back; where the leader has only a snapshot, download it. A leader that has not answered for the fetch timeout, or
whose connection broke, makes a voter ask for pre-votes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.ports import DiskError
from tapelog.raft import control, requests
from tapelog.raft.download import Download
from tapelog.raft.quorum import Quorum
from tapelog.raft.roles import Follower, Leader, Resigned, Role, Unattached
from tapelog.raft.values import NO_NODE, Endpoint, OffsetEpoch
from tapelog.wire.errors import KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.fetch_response import FetchResponse, PartitionData
from tapelog.wire.values import WireError

ASK_AROUND_MS: Final = 100
"""A replica that knows no leader asks another voter this often."""
FAST_FAILURES_MAX: Final = 2
"""A broken connection to the leader may be an accident; after so many in a row it is taken for its end."""


class Following:
    """See the module."""

    def __init__(self, quorum: Quorum, stand: Callable[[], None]) -> None:
        self.quorum = quorum
        self.stand = stand
        self.download = Download(quorum, self._downloaded)
        self._under_way: object | None = None
        self._waits_for_disk = False
        self._failures = 0
        self._asked = 0
        self.told_high_watermark = 0

    def entered(self, role: Role) -> None:
        """The replica's role changed."""
        quorum = self.quorum
        self._under_way = None
        self._waits_for_disk = False
        self._failures = 0
        self.told_high_watermark = 0
        self.download.stop()
        if isinstance(role, Follower):
            if quorum.may_stand:
                quorum.arm(quorum.config.fetch_timeout_ms, self.stand)
            self._fetch()
        elif isinstance(role, Unattached | Resigned):
            quorum.later(ASK_AROUND_MS, self._ask_around)

    def durable(self) -> None:
        """What came is on disk: go on."""
        log = self.quorum.log
        if isinstance(self.quorum.role, Follower):
            self.quorum.advance(min(self.told_high_watermark, log.durable_end))
        if self._waits_for_disk and log.durable_end >= log.end_offset:
            self._waits_for_disk = False
            self._fetch()

    def write_failed(self) -> None:
        """What came could not be written: ask for it again, but not all the time."""
        if isinstance(self.quorum.role, Follower) and self._waits_for_disk:
            self._waits_for_disk = False
            self.quorum.later(ASK_AROUND_MS, self._fetch)

    # -- fetching

    def _fetch(self) -> None:
        quorum, role, log = self.quorum, self.quorum.role, self.quorum.log
        if not isinstance(role, Follower) or self._under_way is not None or self.download.under_way:
            return
        if log.durable_end < log.end_offset:
            self._waits_for_disk = True
            return
        endpoint = quorum.leader_endpoint()
        if endpoint is None:
            self._ask_around()
            return
        self._ask(role.leader_id, endpoint, self._answered)

    def _ask(self, node_id: int, endpoint: Endpoint, done: Callable[[FetchResponse | None], None]) -> None:
        quorum = self.quorum
        request = requests.fetch(
            quorum.cluster_id,
            quorum.me,
            quorum.epoch,
            quorum.end(),
            quorum.log.start_offset,
            quorum.high_watermark,
            quorum.config.fetch_max_wait_ms,
            quorum.config.fetch_bytes_max,
        )
        token = self._under_way = object()

        def came(response: Message | None) -> None:
            if self._under_way is not token:
                return
            self._under_way = None
            try:
                done(response if isinstance(response, FetchResponse) else None)
            except DiskError as error:  # what was learned could not be kept: ask again, an observer has no deadline
                quorum.trouble(error)
                again = self._fetch if isinstance(quorum.role, Follower) else self._ask_around
                quorum.later(ASK_AROUND_MS, again)

        quorum.send_to(node_id, endpoint, request, requests.FETCH_VERSION, quorum.config.request_timeout_ms, came)

    def _answered(self, response: FetchResponse | None) -> None:
        quorum, role = self.quorum, self.quorum.role
        assert isinstance(role, Follower)
        partition = _partition_of(response)
        if response is None or partition is None:
            self._failed(role)
            return
        if self._learn(response, partition):
            return
        if partition.error_code != 0:
            self._failed(role)
            return
        role.fetched, role.suspect = True, False
        quorum.heard_leader(role.leader_id)
        self._failures = 0
        quorum.lost_elections = 0
        if quorum.may_stand:
            quorum.arm(quorum.config.fetch_timeout_ms, self.stand)
        else:
            quorum.disarm()
        self._take(partition)

    def _learn(self, response: FetchResponse, partition: PartitionData) -> bool:
        """Whether the answer told of another leader or epoch."""
        quorum, role = self.quorum, self.quorum.role
        current = partition.current_leader
        if current is None or current.leader_epoch < 0:
            return False
        quorum.learn(current.leader_epoch, current.leader_id, requests.told_endpoint(response, current.leader_id))
        return quorum.role is not role

    def _failed(self, role: Follower) -> None:
        """No answer, or a refusal without news: try again soon. If it goes on, the leader is not trusted any more."""
        quorum = self.quorum
        self._failures += 1
        if self._failures == FAST_FAILURES_MAX:
            role.suspect = True
            if quorum.may_stand:
                quorum.arm(quorum.entropy.below(max(1, min(100, quorum.config.election_backoff_max_ms))), self.stand)
        around = self._failures >= FAST_FAILURES_MAX and self._failures % 2 == 0
        quorum.later(quorum.config.retry_backoff_ms, self._ask_around if around else self._fetch)

    def _take(self, partition: PartitionData) -> None:
        """The leader's answer to a fetch from the end of the log."""
        quorum = self.quorum
        diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
        if snapshot is not None and snapshot.end_offset >= 0:
            self.download.start(OffsetEpoch(snapshot.end_offset, snapshot.epoch))
            return
        if diverging is not None and diverging.end_offset >= 0:
            self.truncate(OffsetEpoch(diverging.end_offset, diverging.epoch))
            return
        data = partition.records
        if data and not self._append(requests.plain(data)):
            quorum.later(quorum.config.retry_backoff_ms, self._fetch)
            return
        self.told_high_watermark = partition.high_watermark
        quorum.advance(min(partition.high_watermark, quorum.log.durable_end))
        self._fetch()

    def _append(self, data: bytes) -> bool:
        quorum = self.quorum
        try:
            if control.batch_ends(data)[0] != quorum.log.end_offset:
                return False
            quorum.log.append_replicated(data, quorum.epoch)
        except (KafkaError, WireError):
            return False  # damaged on the way: ask again
        quorum.history.append(data)
        return True

    def truncate(self, end: OffsetEpoch) -> None:
        """Our log parts from the leader's: cut it back to where both may agree."""
        quorum = self.quorum
        ours = quorum.log.end_of_epoch(end.epoch)
        offset = min(ours.offset, end.offset) if ours.epoch == end.epoch else ours.offset
        assert offset >= quorum.high_watermark, f"cutting to {offset}, below what is committed: {quorum.high_watermark}"
        role, token = quorum.role, object()
        self._under_way = token

        def cut(error: DiskError | None) -> None:
            quorum.history.truncate(quorum.log.end_offset)
            if error is not None:
                quorum.trouble(error)
            if self._under_way is token:
                self._under_way = None
                if error is None:
                    self._fetch()
                else:
                    quorum.later(quorum.config.election_timeout_ms, self._fetch)

        quorum.log.truncate(offset, lambda: quorum.role is role and not quorum.closed, cut)

    def _downloaded(self, error: Exception | None) -> None:
        """A snapshot took the log's place, or could not be had."""
        quorum = self.quorum
        if isinstance(error, DiskError):
            quorum.trouble(error)
            quorum.later(quorum.config.election_timeout_ms, self._fetch)
            return
        if error is not None:
            quorum.later(quorum.config.retry_backoff_ms, self._fetch)
            return
        if quorum.may_stand and isinstance(quorum.role, Follower):
            quorum.arm(quorum.config.fetch_timeout_ms, self.stand)
        self._fetch()

    # -- looking for a leader

    def _ask_around(self) -> None:
        """Ask one voter after the other who leads."""
        quorum, role = self.quorum, self.quorum.role
        if isinstance(role, Leader) or self._under_way is not None:
            return
        if quorum.log.durable_end < quorum.log.end_offset:  # asking is a fetch, and a fetch claims what is durable
            quorum.later(ASK_AROUND_MS, self._ask_around)
            return
        known = [voter.endpoint for voter in quorum.voters.others(quorum.me)]
        others = [e for e in (*known, *quorum.bootstrap) if e is not None and e not in quorum.endpoints]
        if not others:
            return
        self._asked += 1
        endpoint = others[self._asked % len(others)]

        def answered(response: FetchResponse | None) -> None:
            partition = _partition_of(response)
            if response is not None and partition is not None and self._learn(response, partition):
                return
            current = partition.current_leader if partition is not None else None
            if isinstance(role, Follower) and current is not None and current.leader_id == role.leader_id != NO_NODE:
                assert response is not None
                role.endpoint = requests.told_endpoint(response, role.leader_id) or role.endpoint
            if quorum.role is role:
                again = self._fetch if isinstance(role, Follower) else self._ask_around
                quorum.later(ASK_AROUND_MS, again)

        self._ask(NO_NODE, endpoint, answered)


def _partition_of(response: FetchResponse | None) -> PartitionData | None:
    if response is None or response.error_code != 0 or not response.responses:
        return None
    partitions = response.responses[0].partitions
    return partitions[0] if partitions else None
