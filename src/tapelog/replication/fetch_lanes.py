"""The lanes of a fetcher: which of them serves a partition.

A request that waits at the leader holds its lane up, so a partition that is new, or back, goes to a lane that is free:
after a failover nobody waits for somebody else's long poll. `num.replica.fetchers` lanes are always there; those that
were opened beyond that give their partitions back when both sides have nothing to do.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import Clock
from tapelog.replication.fetch_lane import Lane
from tapelog.replication.followed import Followed, Surroundings

FETCH_VERSION: Final = 18
LANES_MAX: Final = 4
"""Beyond the lanes of num.replica.fetchers: for partitions that find those parked."""
MERGE_MS: Final = 20
"""So long may partitions of a lane that is given up wait for the lane that takes them."""
LATE_MS: Final = 200
"""A lane whose answer is later than this may never get it: the machine that should give it may have lost power."""


class Lanes:
    """See the module."""

    def __init__(self, leader: int, node: Surroundings, clock: Clock) -> None:
        self.leader = leader
        self.node = node
        self.clock = clock
        self.all: list[Lane] = []

    def place_for(self, followed: Followed) -> Lane:
        """The lane that is to serve this partition: its own, unless that one waits at the leader."""
        lanes, fetchers = self.all, self._fetchers
        while len(lanes) < fetchers:
            lanes.append(Lane(len(lanes)))
        preferred = followed.lane
        if preferred is None:
            preferred = lanes[(sum(followed.key[0]) + followed.key[1]) % fetchers]
        if not preferred.in_flight:
            return preferred
        for lane in lanes:
            if not lane.in_flight:
                return lane
        if len(lanes) < fetchers + LANES_MAX:
            lanes.append(Lane(len(lanes)))
            return lanes[-1]
        return preferred

    def wait_ms(self, lane: Lane) -> int:
        """How long the leader may keep the request; of an additional lane: until the other one comes back."""
        wait_ms = self.node.limits.wait_ms
        if lane.number < self._fetchers or not self._host(lane).in_flight:
            return wait_ms
        due_in_ms = self._host(lane).due_ms - self.clock.monotonic_ms()
        return wait_ms if due_in_ms < -LATE_MS else min(wait_ms, max(0, due_in_ms - MERGE_MS // 2))

    def answered(self, lane: Lane) -> None:
        """An additional lane that had nothing to do gives its partitions back, if the other one comes back soon."""
        if lane.number < self._fetchers or lane.held:
            return
        host = self._host(lane)
        if host.in_flight and not -LATE_MS <= host.due_ms - self.clock.monotonic_ms() <= MERGE_MS:
            return
        lane.hand_over(host)
        if lane.memory.id:
            self._close_session(lane)

    def _close_session(self, lane: Lane) -> None:
        limits = self.node.limits
        request = lane.farewell(limits, self.node.broker_epoch)
        self.node.send(self.leader, lane.name, request, FETCH_VERSION, limits.timeout_ms, lane.session_closed)

    @property
    def _fetchers(self) -> int:
        return max(1, self.node.limits.fetchers)

    def _host(self, lane: Lane) -> Lane:
        """The lane that takes over what an additional one serves."""
        return self.all[lane.number % self._fetchers]
