"""Commits from the records of `__consumer_offsets`, turns of questions, and when offsets expire."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError
from hypothesis import given
from hypothesis import strategies as st

from tapelog.coordinators.hashing import partition_of
from tapelog.toolkit.lag import commits
from tapelog.toolkit.lag.commits import TOPIC, Commit, CommitLog, coordinator_partition
from tapelog.toolkit.lag.expiry import expires_ms
from tapelog.toolkit.lag.health import lag_then
from tapelog.toolkit.lag.judgement import Sample
from tapelog.toolkit.lag.oldest import PARTITIONS_AT_ONCE_MAX, turns
from tapelog.toolkit.lag.values import PartitionLag, Place
from tapelog.wire.records.framing import encode_key, encode_versioned
from tapelog.wire.records.group_metadata_key import GroupMetadataKey
from tapelog.wire.records.group_metadata_value import GroupMetadataValue
from tapelog.wire.records.offset_commit_key import OffsetCommitKey
from tapelog.wire.records.offset_commit_value import OffsetCommitValue

PLACE = ("t", 3)
GROUPS = {"größe".encode(), b"g"}
DAY_MS = 86_400_000


def committed(log: CommitLog, group: str, value: OffsetCommitValue | None, version: int = 4) -> None:
    encoded = None if value is None else encode_versioned(value, version)
    log.apply(encode_key(OffsetCommitKey(group=group, topic="t", partition=3)), encoded, GROUPS)


def test_commits_are_taken_in_with_time_and_metadata() -> None:
    log = CommitLog()
    committed(log, "größe", OffsetCommitValue(5, metadata="m", commit_timestamp=1000))
    committed(log, "größe", OffsetCommitValue(7, commit_timestamp=2000))
    committed(log, "other", OffsetCommitValue(9, commit_timestamp=2000))
    assert log.of("größe", PLACE) == [Commit(5, 1000, "m"), Commit(7, 2000)]
    assert log.of("other", PLACE) == [] and log.of("g", PLACE) == []


def test_a_log_that_was_rewritten_tells_each_commit_once() -> None:
    log = CommitLog()
    for _ in range(2):
        committed(log, "g", OffsetCommitValue(5, commit_timestamp=1000))
    assert log.of("g", PLACE) == [Commit(5, 1000)]


def test_a_deleted_offset_has_no_history() -> None:
    log = CommitLog()
    committed(log, "g", OffsetCommitValue(5, commit_timestamp=1000))
    committed(log, "g", None)
    assert log.of("g", PLACE) == []


def test_a_retention_of_the_clients_own_is_known() -> None:
    log = CommitLog()
    committed(log, "g", OffsetCommitValue(5, commit_timestamp=1000, expire_timestamp=4000), version=1)
    assert log.of("g", PLACE) == [Commit(5, 1000, "", 4000)]


def test_the_groups_record_tells_since_when_it_stands_so() -> None:
    log, key = CommitLog(), encode_key(GroupMetadataKey(group="g"))
    log.apply(key, encode_versioned(GroupMetadataValue("consumer", 1, current_state_timestamp=77), 3), GROUPS)
    assert log.stood_since_ms == {"g": 77}
    log.apply(key, None, GROUPS)
    assert log.stood_since_ms == {}


@pytest.mark.parametrize("key", [b"", b"\x00", b"\x00\x01\x00\x01g", b"\x00\x63\x00\x01g", b"\xff\xff\x00\x01g\x00"])
def test_what_cannot_be_decoded_is_passed_over(key: bytes) -> None:
    log = CommitLog()
    log.apply(key, b"nonsense", GROUPS)
    assert log.commits == {}


@given(st.text(max_size=40), st.integers(1, 100))
def test_a_group_is_looked_for_where_the_coordinator_keeps_it(group: str, partitions: int) -> None:
    assert coordinator_partition(group, partitions) == partition_of(group, partitions)


PLACES = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3))


@given(st.lists(st.tuples(PLACES, st.integers(0, 5))))
def test_turns_ask_everything_once_and_a_partition_once_in_each(wanted: list[tuple[Place, int]]) -> None:
    made = turns(wanted)
    assert sorted((place, offset) for turn in made for place, offset in turn.items()) == sorted(set(wanted))
    counts = [sum(1 for place, _ in set(wanted) if place == one) for one, _ in wanted]
    assert len(made) == max(counts, default=0)


def test_a_turn_is_bounded() -> None:
    wanted = [(("t", number), 0) for number in range(PARTITIONS_AT_ONCE_MAX + 1)]
    assert [len(turn) for turn in turns(wanted)] == [PARTITIONS_AT_ONCE_MAX, 1]


def test_the_lag_of_a_commit_is_up_to_the_first_record_written_since() -> None:
    lag = PartitionLag("t", 0, 90, 0, 120)
    commit = Sample(0, 80, 0)
    assert lag_then(commit, lag, 95) == 15
    assert lag_then(commit, lag, -1) == lag_then(commit, lag, None) == 40
    assert lag_then(commit, lag, 70) == 0


def test_offsets_of_a_classic_group_expire_after_its_last_member_left() -> None:
    commit = Commit(1, 1000)
    told = {"kind": "classic", "simple": False, "retention_ms": DAY_MS}
    assert expires_ms(commit, **told, empty=True, stood_since_ms=5000) == 5000 + DAY_MS  # type: ignore[arg-type]
    assert expires_ms(commit, **told, empty=True, stood_since_ms=None) == 1000 + DAY_MS  # type: ignore[arg-type]
    assert expires_ms(commit, **told, empty=False, stood_since_ms=5000) is None  # type: ignore[arg-type]


def test_offsets_of_other_groups_expire_after_their_commit() -> None:
    for kind, simple in (("consumer", False), ("classic", True)):
        found = expires_ms(
            Commit(1, 1000), kind=kind, simple=simple, empty=True, stood_since_ms=5000, retention_ms=DAY_MS
        )
        assert found == 1000 + DAY_MS


def test_a_commit_with_its_own_retention_keeps_to_it() -> None:
    commit = Commit(1, 1000, "", 4000)
    assert expires_ms(commit, kind="classic", simple=False, empty=False, stood_since_ms=0, retention_ms=9) == 4000


class Tail:
    """A consumer that is given these errors, by code, one poll after the other."""

    def __init__(self, *codes: int) -> None:
        self._codes = list(codes)

    def assign(self, places: list[Any]) -> None: ...

    def close(self) -> None: ...

    def consume(self, limit: int, wait_s: float) -> list[Any]:
        error = KafkaError(self._codes.pop(0))
        return [SimpleNamespace(topic=lambda: TOPIC, partition=lambda: 0, offset=lambda: 9, error=lambda: error)]


@pytest.mark.parametrize(
    ("codes", "whole"), [([], True), ([KafkaError._BAD_MSG], False), ([KafkaError.INVALID_MSG], False)]
)
def test_a_tail_with_a_damaged_batch_is_not_whole(
    codes: list[int], whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = Tail(*codes, KafkaError._PARTITION_EOF)
    monkeypatch.setattr(commits, "make_consumer", lambda *given, **more: tail)
    log = CommitLog()
    assert commits._read("here:1", {(TOPIC, 0): (0, 10)}, log, set(), 5.0)
    assert log.whole == whole
