"""Where samples come from: past commits if they can be read, watching if they cannot."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from tapelog.toolkit.lag import health
from tapelog.toolkit.lag.commits import Commit, CommitLog
from tapelog.toolkit.lag.health import SAMPLES_LIVE, HealthReader
from tapelog.toolkit.lag.judgement import Cause, Limits, Verdict
from tapelog.toolkit.lag.values import GroupLag, Oldest, PartitionLag

PLACE = ("t", 0)
NOW_MS = 10_000_000


class Admin:
    """Describes every group as empty, and answers ListOffsets by time from a list of (time, offset)."""

    def __init__(self, ends: Iterable[tuple[int, int]] = ()) -> None:
        self._ends = list(ends)

    def describe_consumer_groups(self, groups: list[str], **more: Any) -> dict[str, Future[Any]]:
        state = SimpleNamespace(name="EMPTY")
        return {
            group: done(SimpleNamespace(members=[], state=state, is_simple_consumer_group=False)) for group in groups
        }

    def list_offsets(self, wanted: dict[Any, Any], **more: Any) -> dict[Any, Future[Any]]:
        return {place: done(SimpleNamespace(offset=self._at(spec._value))) for place, spec in wanted.items()}

    def _at(self, time_ms: int) -> int:
        return next((offset for at_ms, offset in self._ends if at_ms >= time_ms), -1)


def done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


class Reader:
    """A LagReader whose group stands at these offsets, one look after the other, in a log that grows."""

    timeout_s = 1.0
    isolation = "read_committed"

    def __init__(self, offsets: Iterable[int], ends: Iterable[tuple[int, int]] = (), *, markers: bool = False) -> None:
        self.admin, self.markers = Admin(ends), markers
        self._offsets = list(offsets)
        self.looks = 0

    def measure(self, groups: list[str], more: Any = None) -> dict[str, GroupLag]:
        offset = self._offsets[min(self.looks, len(self._offsets) - 1)]
        self.looks += 1
        oldest = Oldest(offset, 0)
        lag = PartitionLag(*PLACE, offset, 0, 100 + self.looks, oldest=oldest, measured_ms=NOW_MS + self.looks * 1000)
        return {group: GroupLag(group, (lag,), markers=self.markers) for group in groups}


def judge(reader: Reader, log: CommitLog | None, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Any:
    monkeypatch.setattr(health, "read_commits", lambda *args, **kwargs: log)
    monkeypatch.setattr(health.time, "time", lambda: NOW_MS / 1000)
    slept: list[float] = []
    judge = HealthReader("nowhere:1", reader, Limits(600_000), **more)  # type: ignore[arg-type]
    found = judge.judge(["g"], slept.append)["g"]
    return found, slept


def test_past_commits_are_samples_with_the_lag_they_had_then(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [NOW_MS - 50_000, NOW_MS - 30_000, NOW_MS - 10_000]
    commits = [Commit(10 * number, at_ms) for number, at_ms in enumerate(times, 1)]
    ends = [(at_ms + 1, 20 * number) for number, at_ms in enumerate(times, 1)]
    found, slept = judge(Reader([30], ends), CommitLog({"g": {PLACE: commits}}), monkeypatch)
    (finding,) = found.findings
    assert (found.history, slept) == ("commits", [])
    assert (finding.first.lag, finding.last.lag) == (10, 30)
    assert (finding.verdict, finding.cause) == (Verdict.WARN, Cause.ONLY_GROWS)


@pytest.mark.parametrize("log", [None, CommitLog(whole=False)])
def test_groups_are_watched_where_commits_cannot_be_read(
    log: CommitLog | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    reader = Reader([7])
    found, slept = judge(reader, log, monkeypatch, notice=told.append)
    assert (found.history, reader.looks, len(slept)) == ("samples", SAMPLES_LIVE + 1, SAMPLES_LIVE)
    assert sum(slept) == pytest.approx(30) and "watching" in told[0]
    assert found.verdict is Verdict.STOP, "nobody is there, and nothing moves"


def test_nobody_is_watched_where_there_is_no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "read_commits", lambda *args, **kwargs: None)
    told: list[str] = []
    reader, slept = Reader([7]), list[float]()
    judge = HealthReader("nowhere:1", reader, notice=told.append)  # type: ignore[arg-type]
    assert (judge.judge([], slept.append), reader.looks, slept, told) == ({}, 0, [], [])


def test_watching_by_choice_is_not_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    found, slept = judge(Reader(range(0, 90, 9)), CommitLog(), monkeypatch, sample_s=5.0, notice=told.append)
    assert (found.history, told, sum(slept)) == ("samples", [], pytest.approx(5))
    assert found.verdict is Verdict.OK


def test_markers_of_sparks_sink_are_no_group_that_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judge(Reader([7]), CommitLog(), monkeypatch)[0].verdict is Verdict.STOP
    found, _ = judge(Reader([7], markers=True), CommitLog(), monkeypatch)
    assert (found.verdict, found.findings[0].cause) == (Verdict.OK, Cause.MARKERS)
