"""One leader epoch of a partition with followers: their progress, the ISR, and what follows for acknowledgements.

Owned by a Partition while it leads. Decides, over values only: how far the high watermark may rise, how far a majority
has come, who may enter the ISR and who must leave it.
"""

from __future__ import annotations

from typing import Final

from tapelog.replication.hub import Hub
from tapelog.replication.isr import InSync, IsrChange
from tapelog.replication.progress import NEVER, NO_EPOCH, Replica

REST_MS: Final = 1_000
"""A replica that held up a majority (`tapelog.acks=quorum`) is not let in again before this; twice as long if it was
here for the same reason not long ago, or a slow one would come and go with every batch."""
REST_MS_MAX: Final = 60_000
GOOD_RESTS: Final = 10
"""Who has held nobody up for so many of its rests has earned a short one again."""


class Rest:
    """A replica that was asked out for holding up a majority, and until when it stays out."""

    def __init__(self, until_ms: int, rest_ms: int) -> None:
        self.until_ms = until_ms
        self.rest_ms = rest_ms


class Leadership:
    """The replicas of a partition, seen from its leader in one leader epoch."""

    def __init__(self, hub: Hub, leader_epoch: int, epoch_start: int) -> None:
        self.hub = hub
        self.leader_epoch = leader_epoch
        self.epoch_start = epoch_start
        self.followers: dict[int, Replica] = {}
        self.in_sync = InSync((), -1)
        self.min_isr = 1
        self.rests: dict[int, Rest] = {}

    def assign(self, replicas: tuple[int, ...], isr: tuple[int, ...], partition_epoch: int, now_ms: int) -> bool:
        """The image says who has a replica and who is in sync; False, and nothing changes, if that is older news.

        Those who are not in sync must claim again: between two images we saw, a replica may have been taken away and
        given back, empty."""
        news = partition_epoch > self.in_sync.partition_epoch
        if not self.in_sync.learn(isr, partition_epoch):
            return False
        me, before = self.hub.node_id, self.followers
        self.followers = {
            id: (before.get(id) if id in isr or not news else None) or Replica(id, id in isr, now_ms)
            for id in replicas
            if id != me
        }
        self.recount()
        return True

    def agreed(self, isr: tuple[int, ...], partition_epoch: int) -> bool:
        """The controller made the change we asked for; False if we know of a newer one. Who has left was behind,
        however recently it was not: the high watermark does not wait for it before it has caught up anew."""
        before = self.in_sync.isr
        if not self.in_sync.agreed(isr, partition_epoch):
            return False
        for follower in self.followers.values():
            if follower.id in before and follower.id not in isr:
                follower.caught_up_ms = NEVER
        self.recount()
        return True

    def refused(self, code: int, now_ms: int) -> bool:
        """The controller refused the change under way; whether it must be sent again. If not, and it will not be made
        either, whoever was to leave stays, and has nothing to rest from."""
        again = self.in_sync.refused(code, now_ms, self.hub.alive)
        if self.in_sync.asked is None:
            for id in self.in_sync.isr:
                self.rests.pop(id, None)
        self.recount()
        return again

    def recount(self) -> None:
        """The ISR changed, or what is asked for did: note whom the high watermark waits for."""
        maximal = self.in_sync.maximal
        for follower in self.followers.values():
            follower.counted = follower.id in maximal

    @property
    def under_min_isr(self) -> bool:
        """Too few are in sync for acks=all."""
        return len(self.in_sync.isr) < self.min_isr

    def ceiling(self, own_end: int, leader_end: int, now_ms: int) -> int:
        """How far the high watermark may rise: the least claim over the maximal ISR, ourselves included.

        It also waits for those who are about to enter: they could never do so if it ran ahead of them. And it stands
        still below min.insync.replicas, so that whoever was in sync then has everything that is committed (KIP-966).
        """
        if len(self.in_sync.isr) < self.min_isr:
            return -1
        lowest, hub = own_end, self.hub
        for follower in self.followers.values():
            if follower.end < lowest and (
                follower.counted
                or (
                    follower.caught_up(leader_end, now_ms, hub.lag_ms_max)
                    and follower.eligible(hub.alive)
                    and not self.rests_still(follower.id, now_ms)
                )
            ):
                lowest = follower.end
        return lowest

    def majority_end(self, own_end: int) -> int:
        """How far a majority of the replicas has come, counting only those in sync: nobody else will lead."""
        isr = self.in_sync.isr
        ends = [own_end]
        for follower in self.followers.values():
            if follower.id in isr:
                ends.append(follower.end)
        needed = (len(self.followers) + 1) // 2 + 1
        if len(ends) < needed:
            return -1
        ends.sort(reverse=True)
        return ends[needed - 1]

    def behind(self, end: int) -> list[int]:
        """Members of the ISR, other than ourselves, that have not claimed so much."""
        found: list[int] = []
        for id in self.in_sync.isr:
            follower = self.followers.get(id)
            if id != self.hub.node_id and (follower is None or follower.end < end):
                found.append(id)
        return found

    def grows(self, leader_end: int) -> None:
        """The log is about to grow beyond leader_end: those who have all of it had it as long as they fetched at all
        (a follower's session does not name partitions in which nothing happens)."""
        heard = self.hub.heard_ms
        for follower in self.followers.values():
            if follower.end == leader_end:
                follower.caught_up_ms = max(follower.caught_up_ms, heard.get(follower.id, follower.caught_up_ms))

    def may_enter(self, follower: Replica, high_watermark: int, now_ms: int) -> bool:
        """It has everything that is committed, and all that was there when this epoch began: of the latter, more may be
        committed than we know."""
        in_sync = self.in_sync
        return (
            in_sync.asked is None
            and follower.id not in in_sync.isr
            and follower.end >= high_watermark
            and follower.end >= self.epoch_start
            and now_ms >= in_sync.not_before_ms
            and follower.eligible(self.hub.alive)
            and not self.rests_still(follower.id, now_ms)
        )

    def rest(self, ids: list[int], now_ms: int) -> None:
        """These have held up a majority and are asked out: they stay out for a while."""
        for id in ids:
            before = self.rests.get(id)
            rest_ms = REST_MS
            if before is not None and now_ms - before.until_ms < GOOD_RESTS * before.rest_ms:
                rest_ms = min(2 * before.rest_ms, REST_MS_MAX)
            self.rests[id] = Rest(now_ms + rest_ms, rest_ms)

    def rests_still(self, id: int, now_ms: int) -> bool:
        """Whether it is kept out for having been slow; not where it is needed."""
        if not self.rests or len(self.in_sync.isr) < self.min_isr:
            return False
        rest = self.rests.get(id)
        return rest is not None and now_ms < rest.until_ms

    def low_watermark(self, own_start: int) -> int:
        """Below this nobody who is there has anything any more: the least start, ours and the living followers'."""
        lowest, alive = own_start, self.hub.alive
        for follower in self.followers.values():
            if follower.start < lowest and follower.id in alive:
                lowest = follower.start
        return lowest

    def lagging(self, leader_end: int, now_ms: int) -> list[int]:
        """Members of the ISR that have not caught up for too long, or hold no replica any more."""
        late: list[int] = []
        for id in self.in_sync.isr:
            if id == self.hub.node_id:
                continue
            follower = self.followers.get(id)
            if follower is None or not follower.caught_up(leader_end, now_ms, self.hub.lag_ms_max):
                late.append(id)
        return late

    def ask(self, ids: list[int]) -> None:
        """Ask for an ISR of these; the maximal one counts from now on."""
        self.in_sync.ask(
            IsrChange([(id, self._epoch_of(id)) for id in ids], self.leader_epoch, self.in_sync.partition_epoch)
        )
        self.recount()

    def _epoch_of(self, id: int) -> int:
        if id == self.hub.node_id:
            return self.hub.alive.get(id, NO_EPOCH)
        follower = self.followers.get(id)
        return NO_EPOCH if follower is None else max(follower.broker_epoch, NO_EPOCH)
