"""Incremental fetch sessions (KIP-227): what a consumer or a follower reads, remembered between its requests.

A session keeps the partitions in the order they are to be served; partitions that returned data go to the end, so that
a bound on bytes starves nobody. The cache holds `max.incremental.fetch.session.cache.slots` sessions; when it is full,
a session idle for longer than `EVICTION_MS` makes room, else the newcomer is served without one. Followers' sessions
also note which of their partitions have moved, so that a fetch costs no more than what happened; they make room for
nobody but the idle, and take it from consumers.
"""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import Clock, Entropy
from tapelog.replication.partition import Partition
from tapelog.replication.waiting import FetchWaiter
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.fetch_request import FetchRequest

EVICTION_MS: Final = 120_000
SESSIONLESS: Final = -1
INITIAL: Final = 0

Key = tuple[bytes | str, int]


class Wanted:
    """One partition that is asked for, and what was last told about it."""

    def __init__(self, topic: str, topic_id: bytes, index: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        self.last_fetched_epoch = -1
        self.log_start_offset = -1
        self.served = False
        """A follower was given records (or told where to cut) and has not come back with a new offset yet."""
        self.told_high_watermark = -1
        self.told_start_offset = -1
        self.told_error = 0


class Watch(FetchWaiter):
    """Notes for a follower's session that one of its partitions has moved."""

    def __init__(self, session: Session, key: Key, partition: Partition) -> None:
        super().__init__()
        self.session = session
        self.key = key
        self.partition = partition

    def retry(self) -> None:
        """It moved: the fetch that waits, if one does, looks again once everything else has been noted."""
        self.ripe = False
        session = self.session
        wanted = session.wanted.get(self.key)
        if wanted is None:
            return
        session.outside[self.key] = wanted
        if wanted.served:
            return
        session.moved[self.key] = wanted
        waiting = session.waiting
        if waiting is not None and not waiting.ripe:
            waiting.ripe = True
            self.partition.hub.ripe.append(waiting)


class Session:
    """The partitions of one incremental fetcher."""

    def __init__(self, id: int, by_id: bool, replica: int = -1) -> None:
        self.id = id
        self.by_id = by_id
        self.epoch = 1
        self.used_ms = 0
        self.wanted: dict[Key, Wanted] = {}
        self.replica = replica
        """The follower it belongs to; -1: a consumer's."""
        self.moved: dict[Key, Wanted] = {}
        """A follower's: those to look at."""
        self.outside: dict[Key, Wanted] = {}
        """A follower's: those in which it may not be in sync. Each request claims anew what it has of them."""
        self.watches: dict[Key, Watch] = {}
        self.waiting: FetchWaiter | None = None

    def close(self) -> None:
        """Nobody will ask again."""
        for watch in self.watches.values():
            watch.partition.remove_fetch(watch)
        self.watches = {}

    def forget(self, key: Key) -> None:
        """One partition less."""
        self.wanted.pop(key, None)
        self.moved.pop(key, None)
        self.outside.pop(key, None)
        watch = self.watches.pop(key, None)
        if watch is not None:
            watch.partition.remove_fetch(watch)


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
            self._remove(request.session_id)
            return None, _wanted({}, None, request, by_id), False
        if request.session_epoch == INITIAL:
            self._remove(request.session_id)
            wanted = _wanted({}, None, request, by_id)
            state = request.replica_state
            return self._create(wanted, by_id, request.replica_id if state is None else state.replica_id), wanted, False
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
        _wanted(session.wanted, session.moved if session.replica >= 0 else None, request, by_id)
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                session.forget((topic.topic_id if by_id else topic.topic, index))
        return session, session.wanted, True

    def _create(self, wanted: dict[Key, Wanted], by_id: bool, replica: int) -> Session | None:
        now_ms = self.clock.monotonic_ms()
        if replica >= 0:
            self._forget_idle(replica, now_ms)
        if len(self.sessions) >= self.slots and not self._evict(now_ms, replica >= 0):
            return None
        id = 0
        while id == 0 or id in self.sessions:
            id = self.entropy.below(0x7FFFFFFF - 1) + 1
        session = Session(id, by_id, replica)
        session.wanted = wanted
        session.used_ms = now_ms
        self.sessions[id] = session
        return session

    def _forget_idle(self, replica: int, now_ms: int) -> None:
        """A follower that restarts leaves its sessions behind, and each of them watches all of its partitions."""
        for session in list(self.sessions.values()):
            if session.replica == replica and now_ms - session.used_ms >= EVICTION_MS:
                self._remove(session.id)

    def _remove(self, id: int) -> None:
        session = self.sessions.pop(id, None)
        if session is not None:
            session.close()

    def _evict(self, now_ms: int, privileged: bool) -> bool:
        """Make room: the session used longest ago goes if it is idle, or if it is a consumer's and a follower comes."""
        oldest: Session | None = None
        for session in self.sessions.values():
            if oldest is None or session.used_ms < oldest.used_ms:
                oldest = session
        if oldest is not None and now_ms - oldest.used_ms < EVICTION_MS:
            oldest = self._oldest_consumer() if privileged else None
        if oldest is None:
            return False
        self._remove(oldest.id)
        return True

    def _oldest_consumer(self) -> Session | None:
        oldest: Session | None = None
        for session in self.sessions.values():
            if session.replica < 0 and (oldest is None or session.used_ms < oldest.used_ms):
                oldest = session
        return oldest


def _wanted(
    into: dict[Key, Wanted], moved: dict[Key, Wanted] | None, request: FetchRequest, by_id: bool
) -> dict[Key, Wanted]:
    """Take over what the request names; moved: where to note that."""
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
            wanted.log_start_offset = part.log_start_offset
            if moved is not None:
                wanted.served = False
                moved[key] = wanted
    return into
