"""Reports of Spark become figures, each once; and what went wrong becomes three lines."""

from __future__ import annotations

from typing import Any

from tapelog.spark.pipeline.progress import Tally, total
from tapelog.spark.pipeline.trouble import told


def report(batch: int, rows: int, start: object, end: object, **more: object) -> dict[str, Any]:
    """What Spark says after a batch."""
    source = {
        "startOffset": start,
        "endOffset": end,
        "latestOffset": more.pop("latest", None),
        "metrics": more.pop("metrics", {}),
    }
    return {
        "batchId": batch,
        "numInputRows": rows,
        "inputRowsPerSecond": 10.0,
        "processedRowsPerSecond": 20.0,
        "batchDuration": 500,
        "sources": [source],
        **more,
    }


def test_rows_are_counted_once_however_often_a_report_comes() -> None:
    tally = Tally()
    first = report(
        0, 5, None, {"t": {"0": 5}}, observedMetrics={"expect_valid": {"rows": 5, "a > 0": 2}, "other": {"x": 1}}
    )
    for one in (first, first, report(1, 7, {"t": {"0": 5}}, {"t": {"0": 12}}), first):
        tally.add(one)
    assert (tally.batch, tally.rows, tally.batch_ms) == (1, 12, 500)
    assert tally.expectations == {"valid": {"rows": 5, "a > 0": 2}}


def test_how_far_it_is_and_how_far_behind() -> None:
    tally = Tally()
    tally.add(report(0, 5, {"t": {"0": 10, "1": 0}}, {"t": {"0": 15, "1": 4}}, latest={"t": {"0": 20, "1": 4}}))
    assert (tally.beginning, tally.position, tally.behind) == (10, 19, 5)
    tally.add(report(1, 5, {"t": {"0": 15}}, {"t": {"0": 20}}, metrics={"maxOffsetsBehindLatest": "3.0"}))
    assert tally.behind == 3 and tally.beginning == 10
    assert tally.document()["behind"] == 3


def test_offsets_of_other_sources_are_no_offsets() -> None:
    assert total('{"t": {"0": 3}}') == 3
    assert total({"logOffset": 3}) is None and total("words") is None and total(None) is None
    tally = Tally()
    tally.add(report(0, 1, None, {"logOffset": 0}))
    assert tally.behind is None and tally.rows == 1


WALL = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage failure
Traceback (most recent call last):
  File "worker.py", line 1, in main
tapelog.spark.source.errors.TapelogError: Topic orders does not exist.
Did you mean order?
Create it, or change subscribe.

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
SQLSTATE: XXKST"""


def test_our_own_errors_are_told_as_they_are() -> None:
    assert told(WALL) == ["Topic orders does not exist.", "Did you mean order?", "Create it, or change subscribe."]


def test_an_expectation_that_fails_tells_its_own_words() -> None:
    text = (
        "[STREAM_FAILED] … \n[USER_RAISED_EXCEPTION] Expectation 'a > 0' of valid failed. SQLSTATE: P0001\n\tat org.x"
    )
    assert told(text) == ["Expectation 'a > 0' of valid failed."]


def test_an_error_of_a_python_step_is_its_last_line() -> None:
    text = 'Traceback (most recent call last):\n  File "x.py", line 3\nValueError: no such thing\n\n\tat py4j.Gateway'
    assert told(text) == ["ValueError: no such thing"]


def test_what_spark_does_not_know_is_told_without_its_codes() -> None:
    text = (
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `amuont` cannot be resolved. Did you mean `amount`? "
        "SQLSTATE: 42703; line 1 pos 7;\n'Project ['amuont]\n+- SubqueryAlias orders"
    )
    lines = told(text)
    assert lines[0] == "A column with name `amuont` cannot be resolved. Did you mean `amount`?" and len(lines) <= 3


def test_no_words_are_words_too() -> None:
    assert told("") == ["Spark gave no reason."]
