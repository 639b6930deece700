"""Two consumer groups of a simulated cluster, one of each protocol: members come, go, crash and stall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tapelog.sim.classic import Classic
from tapelog.sim.cluster import Cluster
from tapelog.sim.consuming import Consuming
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.membership import Ledger, Part
from tapelog.sim.routing import Session
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

MEMBERS_MAX: Final = 3
STALL_MS_MIN: Final = 1200
STALL_MS_MAX: Final = 4000
"""Long enough, mostly, to be put out."""
SETTINGS: Final = {
    "group.consumer.heartbeat.interval.ms": "400",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "1500",
    "group.initial.rebalance.delay.ms": "100",
    "group.min.session.timeout.ms": "500",
}


class Groups:
    """See the module."""

    def __init__(self, cluster: Cluster, entropy: SimEntropy, parts: list[Part], note: Callable[[str], None]) -> None:
        self.cluster = cluster
        self.entropy = entropy
        self.note = note
        self.ledgers = [Ledger(name, parts, self._boots) for name in ("shippers", "packers")]
        self._made = 0

    def _boots(self, node_id: int) -> int:
        return self.cluster.machines[node_id - 1].boots if node_id else 0

    def begin(self) -> None:
        """Two members each."""
        for _ in range(2):
            self._come(0)
            self._come(1)

    def act(self) -> None:
        """A member comes, leaves, crashes or stalls."""
        which = self.entropy.below(2)
        members, pick = self.ledgers[which].members, self.entropy.below(10)
        if len(members) < 2 or (len(members) < MEMBERS_MAX and pick < 2):
            self._come(which)
        else:
            member = members[self.entropy.below(len(members))]
            name = f"{member.ledger.name} {member.id}"
            if pick < 3:
                self.note(f"{name} leaves")
                member.leave()
            elif pick < 4:
                self.note(f"{name} crashes")
                member.gone = True
            else:
                for_ms = STALL_MS_MIN + self.entropy.below(STALL_MS_MAX - STALL_MS_MIN)
                self.note(f"{name} stalls for {for_ms}")
                member.stalled_until_ms = self.cluster.world.now_ms + for_ms

    def push(self) -> None:
        """Everybody does what is due."""
        for ledger in self.ledgers:
            for member in ledger.members:
                member.push()
            ledger.members = [member for member in ledger.members if not member.gone]

    def wake(self) -> None:
        """Nobody stalls any more, and each group has somebody who could own everything."""
        for which, ledger in enumerate(self.ledgers):
            for member in ledger.members:
                member.stalled_until_ms = 0
            if not ledger.members:
                self._come(which)

    def end(self) -> None:
        """No member does anything more."""
        for ledger in self.ledgers:
            for member in ledger.members:
                member.gone = True

    def waiting(self) -> list[str]:
        """Groups whose partitions are not all somebody's."""
        waiting = []
        for ledger in self.ledgers:
            owned = [part for member in ledger.members for part in member.owned]
            if ledger.members and sorted(owned) != sorted(ledger.parts):
                waiting.append(f"{ledger.name}: {len(owned)} of {len(ledger.parts)} partitions have an owner")
        return waiting

    @property
    def refused(self) -> int:
        """Commits of members that were none any more."""
        return sum(ledger.refused for ledger in self.ledgers)

    def check(self, client: Session) -> None:
        """What was acknowledged is there."""
        for ledger in self.ledgers:
            promised = dict(ledger.acknowledged)
            topics = [
                OffsetFetchRequestTopics(name=topic, partition_indexes=[i for t, i in ledger.parts if t == topic])
                for topic in sorted({topic for topic, _ in ledger.parts})
            ]
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=ledger.name, topics=topics)])
            answer: Any = client.call(request, 9).groups[0]
            for topic in answer.topics:
                for part in topic.partitions:
                    key = (topic.name, part.partition_index)
                    ledger.found(key, part.committed_offset, promised.get(key, 0))

    def _come(self, which: int) -> None:
        self._made += 1
        name = f"member-{self._made}"
        self.note(f"{name} joins {self.ledgers[which].name}")
        router = self.cluster.router(name)
        ledger = self.ledgers[which]
        member = Classic(ledger, name, router) if which else Consuming(ledger, name, router, self._topic_id)
        ledger.members.append(member)

    def _topic_id(self, topic: str) -> bytes:
        return self.cluster.promises.noticing.newest.topics[topic].id
