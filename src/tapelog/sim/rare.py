"""Rare events: what a thousand lives must have seen, or they prove little. Counted by whoever notices them."""

from __future__ import annotations

from typing import Final

NAMED: Final = {
    "ISR shrinks to one": "whoever is left holds the last copy that counts",
    "another active controller": "the quorum elects another leader while brokers work",
    "bit rot": "a bit of a batch changes on the disk of a node that is down",
    "broker fenced": "the controller has not heard of a broker for too long",
    "commit of a former member refused": "a consumer that was put out of its group commits an offset",
    "controlled shutdown": "a node hands over what it leads and ends",
    "coordinator failover mid-transaction": "another node goes on with a transaction that is open or being ended",
    "deleted records are back": "a replica that had not heard of DeleteRecords leads",
    "divergent truncation": "a replica cuts off what its new leader does not have",
    "fsync error": "a flush fails, and the node ends itself",
    "full disk": "there is no room for what must be written",
    "leader from the eligible replicas": "nobody in sync is left, and one who has everything leads (KIP-966)",
    "lost rename": "a power cut takes back the renaming of a file",
    "log directory fails": "a node goes on without a part of what it holds",
    "partition without leader": "nobody who may lead is there",
    "pre-vote rejected": "a candidate is told that there is a leader, or that its log is too old",
    "producer-epoch overflow": "a transactional producer has used up its epochs and gets another id",
    "reassignment ends": "a partition has moved to other nodes",
    "record compacted away": "of a table, because its key was written again or deleted",
    "record read from a follower": "a consumer reads in its own rack",
    "records deleted": "a log is cut off at its start, by request",
    "snapshot fetch": "a node has been away for so long that the metadata log does not reach back",
    "trial of a stuck follower": "a follower's disk hangs, and acks=all must go on",
    "unclean start": "a node finds that it was not shut down",
    "vote rejected": "a candidate is refused",
    "voter replaced": "a voter with a new disk takes the place of the old one",
    "wiped disk": "a node comes back with nothing",
    "zombie leader": "a node leads a partition, or the quorum, and does not know that another one does",
}
"""Each must happen in a thousand lives of clusters; what it means."""


class Rare:
    """Counters by name."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def count(self, name: str, times: int = 1) -> None:
        """It happened, so often."""
        if times:
            self.counts[name] = self.counts.get(name, 0) + times


def table(counts: dict[str, int], lives: int) -> str:
    """How often each named event happened, and how often in a thousand lives; the others in one line."""
    lines = [f"  {name:<38}{counts.get(name, 0):>9}{counts.get(name, 0) * 1000 / lives:>10.1f}" for name in NAMED]
    others = ", ".join(f"{name} {counts[name]}" for name in sorted(counts) if name not in NAMED)
    return "\n".join([f"  {'rare events':<38}{'in all':>9}{'per 1,000':>10}", *lines, f"  {others}"])


def never(counts: dict[str, int]) -> list[str]:
    """Named events that did not happen."""
    return [name for name in NAMED if not counts.get(name)]
