"""The history of commits, read from the tail of `__consumer_offsets`: it tells at once what sampling would take a
window's time to learn. Where that topic cannot be read (hidden, forbidden), there is no history, and None says so.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tapelog.toolkit.clients import DAMAGED, Cluster
from tapelog.toolkit.lag.clients import EARLIEST, LATEST, list_offsets, make_consumer
from tapelog.toolkit.lag.values import Place
from tapelog.wire.records.framing import decode_record
from tapelog.wire.records.group_metadata_key import GroupMetadataKey
from tapelog.wire.records.group_metadata_value import GroupMetadataValue
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue
from tapelog.wire.values import WireError

TOPIC = "__consumer_offsets"
RECORDS_MAX = 200_000  # of one partition's tail
READ_S_MAX = 10.0
POLL_S = 0.1
AT_ONCE = 2000

_TYPES = {1: (OffsetCommitKey, OffsetCommitValue), 2: (GroupMetadataKey, GroupMetadataValue)}


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of one partition; `expires_ms` is set only by clients that asked for a retention of their own."""

    offset: int
    at_ms: int
    metadata: str = ""
    expires_ms: int | None = None


@dataclass(slots=True)
class CommitLog:
    """What a tail told. `whole`: nothing between the moment asked for and now was left out.

    `stood_since_ms`: when a classic group came into the state it is in, for groups whose record was seen.
    """

    commits: dict[str, dict[Place, list[Commit]]] = field(default_factory=dict)
    stood_since_ms: dict[str, int] = field(default_factory=dict)
    whole: bool = True

    def of(self, group: str, place: Place) -> list[Commit]:
        """Commits of one partition, oldest first."""
        return self.commits.get(group, {}).get(place, [])

    def apply(self, key: bytes, value: bytes | None, groups: Collection[bytes]) -> None:
        """Take in one record; what is not about these groups (UTF-8) or cannot be decoded is passed over."""
        if key[4 : 4 + int.from_bytes(key[2:4], "big")] not in groups:
            return
        try:
            decoded = decode_record(_TYPES, key, value)
        except WireError:
            return
        match decoded:
            case (OffsetCommitKey() as about, None):
                self.commits.get(about.group, {}).pop((about.topic, about.partition), None)
            case (OffsetCommitKey() as about, OffsetCommitValue() as said):
                expires = said.expire_timestamp if said.expire_timestamp >= 0 else None
                commit = Commit(said.offset, said.commit_timestamp, said.metadata, expires)
                places = self.commits.setdefault(about.group, {})
                history = places.setdefault((about.topic, about.partition), [])
                if not history or history[-1] != commit:  # rewritten logs say the same again
                    history.append(commit)
            case (GroupMetadataKey() as whose, None):
                self.stood_since_ms.pop(whose.group, None)
            case (GroupMetadataKey() as whose, GroupMetadataValue() as state):
                if state.current_state_timestamp >= 0:
                    self.stood_since_ms[whose.group] = state.current_state_timestamp


def coordinator_partition(group: str, partitions: int) -> int:
    """The partition of `__consumer_offsets` that has a group: Java's hash of its name."""
    units, value = group.encode("utf-16-be", "surrogatepass"), 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    signed = value - (1 << 32) if value >= 1 << 31 else value
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


def read_commits(
    cluster: Cluster,
    admin: AdminClient,
    groups: Iterable[str],
    since_ms: int | None,
    *,
    timeout_s: float = 10.0,
    records_max: int = RECORDS_MAX,
    read_s_max: float = READ_S_MAX,
) -> CommitLog | None:
    """Commits of these groups since a moment (None: as far back as bounds allow); None if the topic is not readable."""
    wanted = sorted(set(groups))
    known = admin.list_topics(timeout=timeout_s).topics.get(TOPIC)
    if known is None or known.error is not None or not known.partitions or not wanted:
        return None
    places = sorted({(TOPIC, coordinator_partition(group, len(known.partitions))) for group in wanted})
    begin = EARLIEST if since_ms is None else OffsetSpec.for_timestamp(since_ms)
    try:
        starts = list_offsets(admin, dict.fromkeys(places, begin), "read_committed", timeout_s)
        ends = list_offsets(admin, dict.fromkeys(places, LATEST), "read_committed", timeout_s)
    except KafkaException:
        return None
    log = CommitLog(whole=all(place in starts and place in ends for place in places))
    ranges: dict[Place, tuple[int, int]] = {}
    for place in places:
        start, end = starts.get(place, -1), ends.get(place, 0)
        if 0 <= start < end:
            ranges[place] = (max(start, end - records_max), end)
            log.whole = log.whole and ranges[place][0] == start
    if not _read(cluster, ranges, log, {group.encode() for group in wanted}, read_s_max):
        return None
    if since_ms is not None:
        _forget_before(log, since_ms)
    return log


def _read(
    cluster: Cluster,
    ranges: Mapping[Place, tuple[int, int]],
    log: CommitLog,
    groups: Collection[bytes],
    read_s_max: float,
) -> bool:
    """Read the ranges into the log; False if reading is not allowed."""
    if not ranges:
        return True
    consumer = make_consumer(cluster, "read_committed", fetch_wait_max_ms=10)
    waiting, deadline = set(ranges), time.monotonic() + read_s_max
    try:
        consumer.assign([TopicPartition(*place, start) for place, (start, _) in ranges.items()])
        while waiting and time.monotonic() < deadline:
            for message in consumer.consume(AT_ONCE, POLL_S):
                place, error, offset = (
                    (message.topic() or "", message.partition() or 0),
                    message.error(),
                    message.offset(),
                )
                if error is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        waiting.discard(place)
                    elif error.code() in DAMAGED:
                        log.whole = False
                        waiting.discard(place)  # the client does not get beyond a damaged batch
                    elif error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                        return False
                    continue
                log.apply(message.key() or b"", message.value(), groups)
                if place in ranges and (offset or 0) >= ranges[place][1] - 1:
                    waiting.discard(place)
    finally:
        consumer.close()
    log.whole = log.whole and not waiting
    return True


def _forget_before(log: CommitLog, since_ms: int) -> None:
    """Only what was committed since then: a rewritten log may repeat older commits at a later time."""
    for places in log.commits.values():
        for place, history in places.items():
            places[place] = sorted(
                (commit for commit in history if commit.at_ms >= since_ms), key=lambda commit: commit.at_ms
            )
