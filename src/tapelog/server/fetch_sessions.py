"""Incremental fetch sessions (KIP-227): what a consumer reads, remembered between its requests.

A session keeps the partitions in the order they are to be served; partitions that returned data go to the end, so that
a bound on bytes starves nobody. The cache holds `max.incremental.fetch.session.cache.slots` sessions; when it is full,
a session idle for longer than `EVICTION_MS` makes room, else the newcomer is served without one.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import Clock, Entropy
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.fetch_request import FetchRequest

EVICTION_MS: Final = 120_000
SESSIONLESS: Final = -1
INITIAL: Final = 0

Key = tuple[bytes | str, int]


class Wanted:
    """One partition a consumer asks for, and what it was last told about it."""

    def __init__(self, topic: str, topic_id: bytes, index: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        self.last_fetched_epoch = -1
        self.told_high_watermark = -1
        self.told_start_offset = -1
        self.told_error = 0


class Session:
    """The partitions of one incremental fetcher."""

    def __init__(self, id: int, by_id: bool) -> None:
        self.id = id
        self.by_id = by_id
        self.epoch = 1
        self.used_ms = 0
        self.wanted: dict[Key, Wanted] = {}


class FetchSessions:
    """The cache of sessions of one node."""

    def __init__(self, clock: Clock, entropy: Entropy, slots: int) -> None:
        self.clock = clock
        self.entropy = entropy
        self.slots = slots
        self.sessions: dict[int, Session] = {}

    def open(self, request: FetchRequest, version: int) -> tuple[Session | None, dict[Key, Wanted], bool]:
        """The session of this request (None: sessionless), its partitions, and whether the answer is incremental.

        Raises KafkaError with the session error codes.
        """
        by_id = version >= 13
        if request.session_epoch == SESSIONLESS:
            self.sessions.pop(request.session_id, None)
            return None, _wanted({}, request, by_id), False
        if request.session_epoch == INITIAL:
            self.sessions.pop(request.session_id, None)
            wanted = _wanted({}, request, by_id)
            return self._create(wanted, by_id), wanted, False
        session = self.sessions.get(request.session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"no fetch session {request.session_id}")
        if session.by_id != by_id:
            raise KafkaError(
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, "the session was opened with the other kind of topic"
            )
        if session.epoch != request.session_epoch:
            raise KafkaError(
                ErrorCode.INVALID_FETCH_SESSION_EPOCH, f"expected epoch {session.epoch}, got {request.session_epoch}"
            )
        session.epoch = 1 if session.epoch == 0x7FFFFFFF else session.epoch + 1
        session.used_ms = self.clock.monotonic_ms()
        _wanted(session.wanted, request, by_id)
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                session.wanted.pop((topic.topic_id if by_id else topic.topic, index), None)
        return session, session.wanted, True

    def _create(self, wanted: dict[Key, Wanted], by_id: bool) -> Session | None:
        now_ms = self.clock.monotonic_ms()
        if len(self.sessions) >= self.slots and not self._evict(now_ms):
            return None
        id = 0
        while id == 0 or id in self.sessions:
            id = self.entropy.below(0x7FFFFFFF - 1) + 1
        session = Session(id, by_id)
        session.wanted = wanted
        session.used_ms = now_ms
        self.sessions[id] = session
        return session

    def _evict(self, now_ms: int) -> bool:
        if not self.sessions:
            return False
        oldest = min(self.sessions.values(), key=lambda session: session.used_ms)
        if now_ms - oldest.used_ms < EVICTION_MS:
            return False
        del self.sessions[oldest.id]
        return True


def _wanted(into: dict[Key, Wanted], request: FetchRequest, by_id: bool) -> dict[Key, Wanted]:
    for topic in request.topics:
        for part in topic.partitions:
            key: Key = (topic.topic_id if by_id else topic.topic, part.partition)
            wanted = into.get(key)
            if wanted is None:
                wanted = into[key] = Wanted(topic.topic, topic.topic_id, part.partition)
            wanted.offset = part.fetch_offset
            wanted.max_bytes = part.partition_max_bytes
            wanted.leader_epoch = part.current_leader_epoch
            wanted.last_fetched_epoch = part.last_fetched_epoch
    return into
