"""Whose turn it is to be cleaned, and who has to wait."""

from __future__ import annotations

import pytest

from tapelog.base.config import BrokerSettings
from tapelog.log.compaction.cleaning import Statistics
from tapelog.log.compaction.plan import CleaningPlan
from tapelog.log.compaction.schedule import (
    RETRY_MS,
    RETRY_MS_MAX,
    CleanerSettings,
    Schedule,
    filthiest_first,
)
from tapelog.log.config import LogConfig

KEY = ("tables", 0)
CONFIG = LogConfig()


def dirty(clean: int, dirty: int) -> CleaningPlan:
    return CleaningPlan(0, 10, clean, dirty, 0, False)


def test_the_filthiest_log_comes_first_and_equals_by_name() -> None:
    due = {("b", 1): dirty(5, 5), ("a", 0): dirty(1, 9), ("b", 0): dirty(50, 50)}
    assert filthiest_first(due) == [("a", 0), ("b", 0), ("b", 1)]


def test_kafkas_defaults() -> None:
    settings = CleanerSettings.of(BrokerSettings().text)
    assert settings == CleanerSettings(True, 1, 134217728, 0.9, 524288, 0.0, 15_000)
    assert settings.rate_share == 0.0


def test_memory_and_rate_are_shared_out_among_the_workers() -> None:
    static = {
        "log.cleaner.threads": "4",
        "log.cleaner.dedupe.buffer.size": "4000",
        "log.cleaner.io.max.bytes.per.second": "1E6",
        "log.cleaner.enable": "false",
    }
    settings = CleanerSettings.of(BrokerSettings(static).text)
    assert (settings.map_share, settings.rate_share, settings.enabled) == (1000, 250_000.0, False)


def test_a_log_under_way_is_not_given_to_another() -> None:
    schedule, owner = Schedule(), object()
    assert schedule.may_clean(KEY, owner, CONFIG, 0)
    schedule.record_of(KEY, owner, CONFIG).under_way = True
    assert not schedule.may_clean(KEY, owner, CONFIG, 0)


def test_a_log_that_cannot_be_cleaned_is_left_out_until_its_settings_change() -> None:
    schedule, owner = Schedule(), object()
    record = schedule.record_of(KEY, owner, CONFIG)
    schedule.condemned(record, "damaged")
    assert not schedule.may_clean(KEY, owner, CONFIG, 10**9)
    assert schedule.may_clean(KEY, owner, LogConfig(), 0)
    assert record.uncleanable == ""


def test_a_new_log_of_the_same_name_begins_afresh() -> None:
    schedule = Schedule()
    schedule.condemned(schedule.record_of(KEY, object(), CONFIG), "damaged")
    assert schedule.may_clean(KEY, object(), CONFIG, 0)


def test_what_came_to_nothing_waits_longer_each_time_until_it_succeeds() -> None:
    schedule, owner = Schedule(), object()
    record = schedule.record_of(KEY, owner, CONFIG)
    pauses = [schedule.put_off(record, 0) for _ in range(12)]
    assert pauses[:3] == [RETRY_MS, 2 * RETRY_MS, 4 * RETRY_MS]
    assert pauses[-1] == RETRY_MS_MAX
    assert not schedule.may_clean(KEY, owner, CONFIG, RETRY_MS_MAX - 1)
    assert schedule.may_clean(KEY, owner, CONFIG, RETRY_MS_MAX)
    schedule.finished(record, Statistics(), 5)
    assert (record.cleanings, record.cleaned_ms) == (1, 5)
    assert schedule.put_off(record, 0) == RETRY_MS


def test_logs_that_are_gone_are_forgotten() -> None:
    schedule, owner = Schedule(), object()
    schedule.record_of(KEY, owner, CONFIG)
    schedule.forget_others({KEY: owner})
    assert KEY in schedule.records
    schedule.forget_others({})
    assert not schedule.records


@pytest.mark.parametrize("load", ["0.9", "0.5"])
def test_the_load_factor_is_taken_from_the_settings(load: str) -> None:
    assert CleanerSettings.of(BrokerSettings({"log.cleaner.io.buffer.load.factor": load}).text).load_factor == float(
        load
    )
