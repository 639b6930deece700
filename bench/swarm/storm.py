"""A rebalance storm: members join and leave within a minute, and how long each partition stood still meanwhile.

One member stays from beginning to end, so that every partition could always have an owner. A partition stands still
while no member owns it: in the classic protocol from the moment its owner is told to join again (eager, as range is)
until it has its next assignment; in the newer one from its revocation until its new owner hears of it.
"""

from __future__ import annotations

import random
import struct
import time
from functools import partial
from typing import Any

from bench.swarm.classic import ClassicMember
from bench.swarm.consumer import ConsumerMember
from bench.swarm.links import Link, Swarm
from tapelog.wire.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from tapelog.wire.messages.join_group_response import JoinGroupResponse
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tapelog.wire.messages.sync_group_response import SyncGroupResponse

SETTLE_S = 60.0
SEED = 7


class Stillness:
    """Who owns what, and for how long nobody did."""

    def __init__(self, partitions: int) -> None:
        self.owners = [0] * partitions
        self.since = [time.monotonic()] * partitions
        self.still_s = [0.0] * partitions
        self.longest_s = [0.0] * partitions

    def change(self, before: set[int], after: set[int]) -> None:
        """A member's share changes."""
        now = time.monotonic()
        for partition in before - after:
            self.owners[partition] -= 1
            if self.owners[partition] == 0:
                self.since[partition] = now
        for partition in after - before:
            if self.owners[partition] == 0:
                gap = now - self.since[partition]
                self.still_s[partition] += gap
                self.longest_s[partition] = max(self.longest_s[partition], gap)
            self.owners[partition] += 1

    def begin(self) -> None:
        """Everything is owned: count from here."""
        self.still_s = [0.0] * len(self.owners)
        self.longest_s = [0.0] * len(self.owners)

    @property
    def whole(self) -> bool:
        """Whether every partition has an owner."""
        return min(self.owners) > 0


class ClassicStormer(ClassicMember):
    """Real shares instead of one assignment for all: partition p belongs to the member number p modulo their count."""

    def __init__(self, swarm: Swarm, link: Link, group: str, still: Stillness) -> None:
        self.still, self.share, self.gone = still, set[int](), False
        super().__init__(swarm, link, group)

    def _own(self, share: set[int]) -> None:
        self.still.change(self.share, share)
        self.share = share

    def _join(self) -> None:
        self._own(set())
        if not self.gone:
            super()._join()

    def _on_joined(self, answer: JoinGroupResponse) -> None:
        if answer.error_code or self.gone:
            return super()._on_joined(answer) if not self.gone else None
        self.member_id, self._joined = answer.member_id, answer.generation_id
        self.size = len(answer.members)
        ids = sorted(member.member_id for member in answer.members)
        shares = [
            SyncGroupRequestAssignment(member_id=one, assignment=pack(range(at, len(self.still.owners), len(ids))))
            for at, one in enumerate(ids)
        ]
        request = SyncGroupRequest(
            group_id=self.group, generation_id=self._joined, member_id=self.member_id, assignments=shares
        )
        self.link.ask(request, 3, self._on_synced)
        return None

    def _on_synced(self, answer: SyncGroupResponse) -> None:
        if self.gone:
            return
        if not answer.error_code:
            self._own(set(struct.unpack(f">{len(answer.assignment) // 4}i", answer.assignment)))
        super()._on_synced(answer)

    def _heartbeat(self) -> None:
        if not self.gone:
            super()._heartbeat()

    def leave(self) -> None:
        """Tell the group and stop."""
        self.gone = True
        self._own(set())
        request = LeaveGroupRequest(group_id=self.group, members=[MemberIdentity(member_id=self.member_id)])
        self.link.ask(request, 4, ignore)


class ConsumerStormer(ConsumerMember):
    """A member of the newer protocol whose share is watched."""

    def __init__(self, swarm: Swarm, link: Link, group: str, topic: str, still: Stillness) -> None:
        self.still, self.gone = still, False
        super().__init__(swarm, link, group, topic)

    def _share(self) -> set[int]:
        return {index for indexes in self.owned.values() for index in indexes}

    def _beat(self, *, joining: bool = False, tell: bool = False) -> None:
        if not self.gone:
            super()._beat(joining=joining, tell=tell)

    def _on_answer(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        if self.gone:
            return
        before = self._share()
        if answer.assignment is not None:
            after = {index for part in answer.assignment.topic_partitions for index in part.partitions}
            self.still.change(before, after)
        super()._on_answer(answer)

    def leave(self) -> None:
        """Tell the group and stop."""
        self.still.change(self._share(), set())
        self.epoch = -1
        super()._beat()
        self.gone = True


def ignore(answer: Any) -> None:
    """Nobody waits for it."""


def pack(indexes: range) -> bytes:
    """A share; brokers do not look into it."""
    return struct.pack(f">{len(indexes)}i", *indexes)


def run(swarm: Swarm, protocol: str, topic: str, members: int, partitions: int, secs: float) -> dict[str, float]:
    """The storm; seconds of standing still per partition (p50, p99, most), and the longest single gap."""
    group, still, chance = f"storm-{time.time_ns()}", Stillness(partitions), random.Random(SEED)

    def join() -> ClassicStormer | ConsumerStormer:
        link = swarm.connect()
        if protocol == "classic":
            return ClassicStormer(swarm, link, group, still)
        return ConsumerStormer(swarm, link, group, topic, still)

    anchor = join()
    swarm.run_until(lambda: still.whole, SETTLE_S, "the first member owns everything")
    still.begin()
    left = [0]

    def visit(stay_s: float) -> None:
        member = join()

        def leave() -> None:
            member.leave()
            left[0] += 1

        swarm.after(stay_s, leave)

    for _ in range(members):
        at = chance.uniform(0, secs * 0.7)
        swarm.after(at, partial(visit, chance.uniform(secs * 0.1, secs - at)))
    swarm.run_until(lambda: left[0] == members, secs + SETTLE_S, "everybody has come and gone")
    swarm.run_until(lambda: still.whole, SETTLE_S, "the member that stayed owns everything again")
    anchor.leave()
    spent = sorted(still.still_s)
    return {
        "still_p50_s": spent[len(spent) // 2],
        "still_p99_s": spent[(len(spent) * 99 - 1) // 100],
        "still_max_s": spent[-1],
        "gap_max_s": max(still.longest_s),
    }
