"""Committed offsets by the million: commit for many groups as fast as possible, and ask whether they are back."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.swarm.links import Link, Swarm, SwarmError
from tapelog.wire.errors import ErrorCode, error_code
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_commit_response import OffsetCommitResponse
from tapelog.wire.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestTopic

CONNECTIONS = 10
DEPTH = 20
NOT_YET = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
SAMPLE = 499
"""Every so manieth group is looked at after a restart: more than one for each of the fifty coordinator partitions."""


def wait_for_coordinator(swarm: Swarm, link: Link) -> None:
    """Until groups can be coordinated; the first question creates the offsets topic."""
    state = {"ready": False}

    def ask() -> None:
        link.ask(FindCoordinatorRequest(key="any", key_type=0), 3, told)

    def told(answer: object) -> None:
        state["ready"] = getattr(answer, "error_code", 1) == 0
        if not state["ready"]:
            swarm.after(0.05, ask)

    ask()
    swarm.run_until(lambda: state["ready"], 60, "a group coordinator")


def commit_of(group: int, topic: str, partitions: int) -> OffsetCommitRequest:
    """A commit of one group for so many partitions, by nobody in particular."""
    places = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=group + index, committed_metadata="")
        for index in range(partitions)
    ]
    return OffsetCommitRequest(
        group_id=f"group-{group}",
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=places)],
    )


class Commits:
    """Keeps DEPTH commits under way on every connection until the requests run out or the time is over."""

    def __init__(self, swarm: Swarm, requests: Iterator[OffsetCommitRequest]) -> None:
        self.swarm = swarm
        self.requests = requests
        self.answered = 0
        self.under_way = 0
        self.until = float("inf")

    def run(self, secs: float, timeout_s: float = 300.0) -> float:
        """Commit for so long (or, with infinity, all there are); how long it took."""
        self.until = time.monotonic() + secs
        links = [self.swarm.connect() for _ in range(CONNECTIONS)]
        for link in links:
            for _ in range(DEPTH):
                self._next(link)
        return self.swarm.run_until(lambda: self.under_way == 0, timeout_s, "all commits are answered")

    def _next(self, link: Link) -> None:
        request = next(self.requests, None) if time.monotonic() < self.until else None
        if request is not None:
            self.under_way += 1
            self._ask(link, request)

    def _ask(self, link: Link, request: OffsetCommitRequest) -> None:
        link.ask(request, 8, lambda answer: self._told(link, request, answer))

    def _told(self, link: Link, request: OffsetCommitRequest, answer: OffsetCommitResponse) -> None:
        code = error_code(answer.topics[0].partitions[0].error_code)
        if code in NOT_YET:
            self.swarm.after(0.02, lambda: self._ask(link, request))
            return
        if code != ErrorCode.NONE:
            raise SwarmError(f"a commit was answered with {code.name}")
        self.under_way -= 1
        self.answered += 1
        self._next(link)


def wait_loaded(swarm: Swarm, groups: int, topic: str, timeout_s: float) -> float:
    """Until the offsets of a sample of all groups are told again; how long that took."""
    link = swarm.connect()
    missing = dict.fromkeys(range(0, groups, SAMPLE))

    def ask(group: int) -> None:
        wanted = OffsetFetchRequestTopic(name=topic, partition_indexes=[1])
        request = OffsetFetchRequest(group_id=f"group-{group}", topics=[wanted])
        link.ask(request, 5, lambda answer: told(group, answer))

    def told(group: int, answer: object) -> None:
        topics = getattr(answer, "topics", None)
        if not getattr(answer, "error_code", 0) and topics and topics[0].partitions[0].committed_offset == group + 1:
            missing.pop(group, None)
        else:
            swarm.after(0.005, lambda: ask(group))

    for group in list(missing):
        ask(group)
    return swarm.run_until(lambda: not missing, timeout_s, "the offsets of all groups are back")
