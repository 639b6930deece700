"""Of all that Spark says about a failure, three lines are told, and each failure once."""

from __future__ import annotations

import logging

import pytest

from tapelog.spark.plan.errors import OptionError
from tapelog.spark.source import telling
from tapelog.spark.source.telling import Telling, ours

RUN = "071b3c48-7efa-45a0-897a-4bb57b05d02d"
BATCH = """[PYTHON_DATA_SOURCE_ERROR] Failed to generate Python data source read partitions: \
tapelog.spark.source.errors.TapelogError: There is no topic 'ordres' on this cluster. Did you mean orders?
Create the topic, or look at kafka.bootstrap.servers: is it the cluster that you mean?
 SQLSTATE: 38000"""
STREAM = f"""[STREAM_FAILED] Query [id = 2b6bb2b5-9fc5-4c7f-89bb-c536eb7e2b28, runId = {RUN}] ended: \
[PYTHON_EXCEPTION] An exception was thrown from the Python worker: tapelog.spark.source.errors.TapelogError: one
two
three SQLSTATE: 38000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 2b6bb2b5-9fc5-4c7f-89bb-c536eb7e2b28, runId = {RUN}]

Logical Plan:
+- ~StreamingDataSourceV2ScanRelation[key#7, value#8] tapelog
"""
JAVA = """org.apache.spark.SparkException: [X] Failed: tapelog.spark.source.errors.TapelogError: only this
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.pythonStreamingDataSourceRuntimeError(Query.scala:1890)
\tat org.apache.spark.sql.SparkSession.withActive(SparkSession.scala:810)"""
TORN = f"""[STREAM_FAILED] Query [id = 2b6bb2b5-9fc5-4c7f-89bb-c536eb7e2b28, runId = {RUN}] terminated with exception: \
assertion failed SQLSTATE: XXKST
Logical Plan:
+- ~StreamingDataSourceV2ScanRelation[key#7, value#8] tapelog
"""
TAKEN = f"""[STREAM_FAILED] Query [id = 2b6bb2b5-9fc5-4c7f-89bb-c536eb7e2b28, runId = {RUN}] ended: \
[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 0.
Logical Plan:
+- ~StreamingDataSourceV2ScanRelation[key#7, value#8] {{source}}
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            BATCH,
            [
                "There is no topic 'ordres' on this cluster. Did you mean orders?",
                "Create the topic, or look at kafka.bootstrap.servers: is it the cluster that you mean?",
            ],
        ),
        (STREAM, ["one", "two", "three"]),
        (JAVA, ["only this"]),
    ],
)
def test_our_lines_are_found_in_all_that_spark_says(text: str, lines: list[str]) -> None:
    assert ours(text) == lines


def test_what_is_not_ours_is_left_alone() -> None:
    assert ours("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012") is None
    assert ours(TORN.replace("] tapelog", "] kafka")) is None


@pytest.mark.parametrize("wording", ["assertion failed", "[STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY] The checkpoint"])
def test_half_a_checkpoint_is_named(wording: str) -> None:
    lines = ours(TORN.replace("assertion failed", wording))
    assert lines is not None and len(lines) == 3 and "checkpointLocation" in "".join(lines)


def test_a_batch_that_the_checkpoint_has_already_is_explained_where_the_source_is_ours() -> None:
    lines = ours(TAKEN.format(source="tapelog"))
    assert lines is not None and len(lines) == 3 and "checkpointLocation" in "".join(lines)
    assert ours(TAKEN.format(source="kafka")) is None


class Told:
    """A Telling whose words are kept."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.telling = Telling(self.words.append)

    def raised(self, error: Exception) -> bool:
        return self.telling.raised(type(error), error, error.__traceback__)


def test_an_error_that_ends_the_program_is_told_with_its_place_and_others_are_not() -> None:
    told = Told()
    try:
        raise OptionError("first", "second")
    except OptionError as error:
        assert told.raised(error)
    assert told.words[0].startswith("test_telling.py, line ") and told.words[0].endswith(": first\nsecond")
    assert not told.raised(ValueError("of the user's own"))
    assert len(told.words) == 1


@pytest.mark.parametrize("mode", ["ErrorIfExists", "Ignore"])
def test_a_write_without_a_mode_that_spark_refuses_is_told_what_mode_to_write(mode: str) -> None:
    said = f'[UNSUPPORTED_DATA_SOURCE_SAVE_MODE] The data source "{{}}" cannot be written in the "{mode}" mode.'
    lines = ours(said.format("tapelog"))
    assert lines is not None and 'mode("append")' in lines[0]
    assert ours(said.format("another")) is None


def test_a_job_may_lie_in_a_directory_called_tapelog() -> None:
    told, source = Told(), "raise OptionError('first', 'second')"
    try:
        exec(compile(source, "/jobs/tapelog/job.py", "exec"), {"OptionError": OptionError})
    except OptionError as error:
        assert told.raised(error)
    assert told.words == ["job.py, line 1: first\nsecond"]


def test_a_query_that_somebody_waits_for_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling.threading, "Timer", _Never)
    told = Told()
    with caplog.at_level(logging.ERROR):
        told.telling.failed(RUN, "revenue", JAVA)
        assert told.raised(Exception(STREAM))
        told.telling.flush()
        assert told.words == ["one\ntwo\nthree"] and not caplog.messages


def test_a_query_that_nobody_waits_for_is_told_late_and_what_is_not_ours_in_full(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling.threading, "Timer", _Never)
    told = Told()
    with caplog.at_level(logging.ERROR):
        told.telling.failed(RUN, "revenue", JAVA)
        told.telling.late(RUN)
        told.telling.late(RUN)
        told.telling.failed("another", "sums", "[DIVIDE_BY_ZERO]\n\tat frames")
        told.telling.flush()
    assert caplog.messages == ["Query revenue failed: only this", "Query sums failed: [DIVIDE_BY_ZERO]\n\tat frames"]


class _Never:
    """A timer that does not ring."""

    daemon = False

    def __init__(self, seconds: float, call: object, given: list[str]) -> None:
        assert seconds == telling.GRACE_SECONDS

    def start(self) -> None:
        """Not now."""


def test_only_so_many_runs_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling.threading, "Timer", _Never)
    monkeypatch.setattr(telling, "RUNS_MAX", 3)
    told = Told()
    for number in range(10):
        told.telling.failed(f"run-{number}", "revenue", JAVA)
        told.telling.late(f"run-{number}")
    assert list(told.telling._told) == ["run-7", "run-8", "run-9"]
