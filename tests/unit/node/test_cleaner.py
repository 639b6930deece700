"""Compaction in a node, in virtual time: which logs are cleaned, when, and what is left of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tapelog.log import names
from tapelog.log.checkpoints import parse_offsets
from tapelog.sim import cleaning
from tapelog.wire.errors import ErrorCode
from tapelog.wire.record_batch import Record, batches, build_batch
from tests.support.rig import TOPIC, Rig
from tests.unit.node.compacted import (
    CLEAN,
    SMALL,
    SOON_MS,
    alter,
    cleaner,
    described,
    fill,
    found,
    keyed,
    leftovers,
)


@pytest.fixture(autouse=True)
def immortal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers do not die unless a test says so, and take many steps."""
    monkeypatch.setattr(cleaning, "DEATHS_PER_THOUSAND", 0)
    monkeypatch.setattr(cleaning, "STEP_BYTES_MAX", 100)
    yield


def test_of_every_key_the_last_record_stays_at_its_offset() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    assert len(found(rig)) == 13
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN
    assert leftovers(rig) == []
    data = rig.node.disk.read_file("logs/cleaner-offset-checkpoint")
    assert parse_offsets(data, "cleaned") == {(TOPIC, 0): 12}


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_what_is_clean_is_clean_after_a_restart_and_not_cleaned_again(how: str) -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    rig.reboot(getattr(rig.node, how))
    assert found(rig) == CLEAN
    rig.node.pass_time(SOON_MS)
    assert cleaner(rig).lanes == [], "nothing was to be done"
    assert found(rig) == CLEAN


def test_a_topic_that_is_not_compacted_keeps_everything() -> None:
    rig = Rig()
    rig.create(**{**SMALL, "cleanup_policy": "delete"})
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13


def test_the_cleaner_can_be_switched_off() -> None:
    rig = Rig(log_cleaner_enable="false")
    rig.create(**SMALL)
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13


def test_a_topic_becomes_compacted_when_its_policy_says_so() -> None:
    rig = Rig()
    rig.create(**{**SMALL, "cleanup_policy": "delete"})
    fill(rig)
    alter(rig, 2, TOPIC, cleanup_policy="compact")
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN


def test_a_log_below_the_dirty_ratio_waits_for_the_broker_wide_ratio_to_change() -> None:
    rig = Rig(log_cleaner_min_cleanable_ratio="0.9")
    rig.create(cleanup_policy="compact", segment_ms="1000")
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN  # everything was dirty
    keyed(rig, (b"a", b"new"))
    keyed(rig, (b"z", b"end"))
    rig.node.pass_time(SOON_MS)
    assert (9, b"a", b"a3") in found(rig)
    alter(rig, 4, "", log_cleaner_min_cleanable_ratio="0.1")
    rig.node.pass_time(SOON_MS)
    assert (9, b"a", b"a3") not in found(rig)


def test_records_younger_than_the_least_lag_stay() -> None:
    rig = Rig()
    rig.create(**SMALL, min_compaction_lag_ms="3600000")
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    rig.node.pass_time(3_700_000)
    assert found(rig) == CLEAN


def test_a_log_is_cleaned_by_the_greatest_lag_whatever_its_ratio_and_the_segment_rolls_for_it() -> None:
    rig = Rig()
    rig.create(cleanup_policy="compact", min_cleanable_dirty_ratio="1", max_compaction_lag_ms="60000")
    keyed(rig, (b"a", b"1"))
    keyed(rig, (b"a", b"2"))
    rig.node.pass_time(61_000)
    keyed(rig, (b"z", b"end"))  # a new segment, long before segment.ms
    rig.node.pass_time(SOON_MS)
    assert found(rig) == [(1, b"a", b"2"), (2, b"z", b"end")]


def test_tombstones_stay_for_a_consumer_to_see_and_go_when_their_time_has_passed() -> None:
    rig = Rig()
    rig.create(**SMALL, delete_retention_ms="600000")
    keyed(rig, (b"a", b"1"), (b"b", b"1"))
    keyed(rig, (b"a", None))
    keyed(rig, (b"z", b"end"))
    rig.node.pass_time(SOON_MS)
    assert found(rig) == [(1, b"b", b"1"), (2, b"a", None), (3, b"z", b"end")]
    rig.node.pass_time(700_000)
    keyed(rig, (b"z", b"2"))
    keyed(rig, (b"z", b"3"))
    rig.node.pass_time(SOON_MS)
    assert [one for one in found(rig) if one[1] == b"a"] == []


def test_both_policies_compact_and_delete() -> None:
    rig = Rig()
    rig.create(**{**SMALL, "cleanup_policy": "compact,delete"}, retention_ms="1800000")
    fill(rig)
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN
    rig.node.pass_time(3_600_000)
    assert rig.offset_at(-2).offset >= 12


def test_a_record_without_a_key_is_refused_by_its_index() -> None:
    rig = Rig()
    rig.create(**SMALL)
    records = [Record(0, rig.clock.wall_ms(), key, b"v") for key in (b"a", None, b"b", None)]
    answer = rig.produce(build_batch(records))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [one.batch_index for one in answer.record_errors] == [1, 3]


@pytest.mark.parametrize("policy", ["compact", "delete"])
def test_a_consumer_s_answer_begins_with_records_and_a_follower_s_does_not(policy: str) -> None:
    rig = Rig()
    rig.create(**SMALL, segment_index_bytes="16")  # no two segments become one
    for number in range(9):
        rig.produce(rig.batch(b"%d" % number, producer=(7, 0, number)))
        rig.node.pass_time(1_500)
    assert rig.node.core is not None
    rig.produce(rig.batch(b"end", producer=(7, 0, 9)))
    rig.node.pass_time(SOON_MS)
    alter(rig, 2, TOPIC, cleanup_policy=policy)
    log = rig.partition().log
    assert log.read(0, 1 << 20, 10, True).read()[:8] == bytes(8), "an empty batch is left"  # type: ignore[union-attr]
    data = rig.fetch(0)
    assert data.records is not None
    raw = data.records.tobytes()  # type: ignore[union-attr]
    assert next(iter(batches(raw, 0, len(raw)))).record_count > 0
    assert [one[2] for one in found(rig)] == [b"8", b"end"]


def test_a_topic_on_hold_keeps_everything_whatever_the_cluster_s_default_says() -> None:
    rig = Rig()
    rig.create(segment_ms="1000", min_cleanable_dirty_ratio="0.01", tapelog_tier_hold="true")
    fill(rig)
    alter(rig, 4, "", log_cleanup_policy="compact")
    rig.node.pass_time(SOON_MS)
    assert len(found(rig)) == 13
    alter(rig, 2, TOPIC, tapelog_tier_hold="false")
    rig.node.pass_time(SOON_MS)
    assert found(rig) == CLEAN


def test_with_a_map_too_small_a_log_is_clean_after_several_rounds() -> None:
    rig = Rig(log_cleaner_dedupe_buffer_size="48")  # three slots, two keys
    rig.create(**SMALL)
    fill(rig, 6)
    rig.node.pass_time(10 * SOON_MS)
    assert found(rig) == [(15, b"a", b"a5"), (16, b"b", b"b5"), (17, b"c", b"c5"), (18, b"z", b"end")]


def test_operators_are_told_how_clean_a_log_is_and_why_it_cannot_be_cleaned() -> None:
    rig = Rig()
    rig.create(**SMALL)
    fill(rig)
    told = described(rig)
    assert told is not None
    assert (told.clean_bytes, told.dirty_bytes > 0, told.cleaned_ms) == (0, True, -1)
    rig.node.pass_time(SOON_MS)
    told = described(rig)
    assert told is not None
    assert (told.cleaned_offset, told.clean_bytes > 0, told.dirty_bytes, told.uncleanable) == (12, True, 0, "")
    assert told.cleaned_ms > 0
    rig.node.disk.flip_bit(f"logs/{TOPIC}-0/{names.offset_name(0, names.LOG)}", 70, 1)
    keyed(rig, (b"a", b"9"))
    keyed(rig, (b"z", b"end"))
    rig.node.pass_time(SOON_MS)
    told = described(rig)
    assert told is not None
    assert "wrong checksum" in told.uncleanable


def test_a_log_that_is_not_compacted_is_told_without_such_things() -> None:
    rig = Rig()
    rig.create()
    assert described(rig) is None
