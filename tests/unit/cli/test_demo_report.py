"""What the demo says of its pipeline: windows and letters counted once, a report in lines, a picture that is SVG."""

from __future__ import annotations

import datetime
import json
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tapelog.cli import demo_report, demo_shop
from tapelog.cli.demo_ledger import Books, Ledger, Sums, middle_and_worst
from tapelog.cli.demo_load import orders, spoiled
from tapelog.cli.demo_picture import picture
from tapelog.cli.demo_pipeline import check, write_report
from tapelog.cli.output import CliError

NOON_MS = 1_700_049_600_000


def value(second: int, region: str = "Asia", revenue: float = 10.0, orders: int = 2) -> bytes:
    start, end = (f"2023-11-15T12:{s // 60:02d}:{s % 60:02d}.000Z" for s in (second, second + 10))
    return json.dumps(
        {"window_start": start, "window_end": end, "region": region, "orders": orders, "revenue": revenue}
    ).encode()


def row(second: int, region: str = "Asia", revenue: float = 10.0) -> dict[str, object]:
    """The same in the lake table."""
    start = datetime.datetime.fromtimestamp(NOON_MS / 1000 + second, datetime.UTC)
    return {"window_start": start, "region": region, "revenue": revenue}


def filled(minutes: int = 4) -> Ledger:
    ledger = Ledger()
    for second in range(0, minutes * 60, 10):
        for region in ("Asia", "Europe"):
            ledger.add_window(value(second, region), NOON_MS + (second + 14) * 1000)
    ledger.table += [(NOON_MS + 20_000, 12.0), (NOON_MS + 80_000, 15.0)]
    return ledger


def test_a_record_that_comes_again_counts_once_and_a_window_that_is_written_twice_is_seen() -> None:
    ledger, books = Ledger(), Books(10_000)
    for offset in (5, 5, 5):
        if ledger.is_new("revenue", 0, offset):
            ledger.add_window(value(0), NOON_MS + 13_000)
    assert (ledger.revenue, ledger.orders) == (10.0, 2)
    assert ledger.topic_late_s() == [(NOON_MS + 13_000, 3.0)]
    for _ in range(2):
        books.sold(NOON_MS + 1, 5.0)
    ledger.set_table([row(0)])
    assert ledger.sums(books).agree
    assert ledger.is_new("revenue", 0, 6)
    ledger.add_window(value(0), NOON_MS + 14_000)
    assert not ledger.sums(books).agree and ledger.sums(books).topic == 2000


def test_revenue_must_be_the_same_in_every_window_and_place() -> None:
    books = Books(10_000)
    for second, amount in ((1, 5.0), (9, 15.0), (11, 20.0), (25, 1.0)):
        books.sold(NOON_MS + second * 1000, amount)
    assert books.closed(2000) == {NOON_MS, NOON_MS + 10_000}, "of the newest order nobody knows the window's end"
    ledger = Ledger()
    ledger.add_window(value(0, revenue=20.0), NOON_MS)
    ledger.add_window(value(10, revenue=20.0), NOON_MS)
    assert not ledger.has(books.closed(2000), 0), "the table has nothing yet"
    ledger.set_table([row(0, revenue=12.0), row(0, "Europe", 8.0), row(10, revenue=20.0)])
    assert ledger.has(books.closed(2000), 0) and not ledger.has(books.closed(2000), 1)
    assert ledger.sums(books) == Sums(2, 4000, 4000, 4000, agree=True)
    ledger.set_table([row(0, revenue=19.0), row(10, revenue=21.0)])
    assert ledger.sums(books) == Sums(2, 4000, 4000, 4000, agree=False)
    ledger.set_table([row(0, revenue=20.0), row(0, revenue=20.0), row(10, revenue=20.0)])
    assert ledger.sums(books).table == 6000, "a row that is there twice counts twice"


@pytest.mark.parametrize("bad", [b"", b"{", b"[]", b'{"window_start": 5}', b'{"region": "Asia"}'])
def test_what_is_no_window_is_passed_over(bad: bytes) -> None:
    ledger = Ledger()
    ledger.add_window(bad, NOON_MS)
    assert not ledger.windows


def test_letters_are_counted_by_their_reason() -> None:
    ledger = Ledger()
    for reason in (b"expectation failed: amount > 0", b"expectation failed: amount > 0", None):
        ledger.add_letter([("pipeline", b"shop"), ("error-message", reason)])
    assert ledger.letters == {"expectation failed: amount > 0": 2, "no reason given": 1}


def test_revenue_is_summed_by_minute_and_region() -> None:
    per = filled(2).per()
    assert per == [(NOON_MS, {"Asia": 60.0, "Europe": 60.0}), (NOON_MS + 60_000, {"Asia": 60.0, "Europe": 60.0})]


def test_the_report_tells_orders_letters_minutes_freshness_and_the_picture(tmp_path: Path) -> None:
    ledger = filled()
    ledger.add_letter([("error-message", b"expectation failed: amount > 0")])
    books = Books(10_000)
    for second in range(240):
        books.sold(NOON_MS + second * 1000, 2.0)
    ledger.set_table(row(second, region) for second in range(0, 240, 10) for region in ("Asia", "Europe"))
    file, told = write_report(ledger, books, 1000, 240.0, tmp_path / "new")
    text = "\n".join(demo_report.report(told))
    for part in (
        "1,000 orders in 240 s, 0 of them bad",
        "96 in closed windows: revenue 480.00",
        "in 24 windows: the same in the topic, in the lake table and in the orders sent",
        "1 dead letter: expectation failed",
    ):
        assert part in text, text
    assert "12:03" in text and "lake table: median 13.5 s, worst 15.0 s" in text and str(file) in text
    assert told["topic_freshness_s"] == {"median": 4.0, "worst": 4.0}
    assert told["table_rows"] == 48 and told["windows"]["agree"]
    ledger.set_table([row(0)])
    _, told = write_report(ledger, books, 1000, 240.0, tmp_path)
    assert "sent 480.00, in the topic 480.00, in the lake table 10.00" in "\n".join(demo_report.report(told))


def test_a_run_that_ended_before_the_first_window_has_a_report_too(tmp_path: Path) -> None:
    _, told = write_report(Ledger(), Books(10_000), 0, 1.0, tmp_path)
    assert "no dead letters" in demo_report.report(told)
    assert "it ended before the first window was closed" in demo_report.report(told)
    assert "not closed yet" in demo_report.line("running", Ledger())
    assert demo_report.line("starting", Ledger(), 7.4) == "pipeline: Spark is starting, 7 s"
    assert middle_and_worst([]) is None


@pytest.mark.parametrize("minutes", [0, 1, 4, 90])
def test_the_picture_is_svg_with_bars_and_lines(minutes: int) -> None:
    root = ElementTree.fromstring(picture(filled(minutes) if minutes else Ledger()))
    assert root.tag.endswith("svg")
    text = "".join(root.itertext())
    assert ("10 seconds" if minutes < 3 else "Revenue per minute") in text


def test_spoiled_orders_are_what_the_pipeline_turns_away() -> None:
    chance, source = random.Random(3), orders(3)
    kinds = set()
    for _ in range(60):
        text = spoiled(next(source)[1], chance)
        try:
            order = json.loads(text)
        except ValueError:
            kinds.add("cut")
        else:
            assert order["amount"] <= 0 or order["quantity"] == 0
            kinds.add("negative" if order["amount"] <= 0 else "nothing")
    assert kinds == {"cut", "negative", "nothing"}


def test_the_demos_pipeline_is_valid(tmp_path: Path) -> None:
    from tapelog.spark.pipeline import load
    from tapelog.spark.pipeline.plan import make_plan

    plan = make_plan(load(str(demo_shop.write(tmp_path))))
    assert [query.name for query in plan.queries] == ["revenue", "table", "dead_letters"]


def test_without_java_or_pyspark_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(CliError, match="PySpark is not installed") as caught:
        check({})
    assert "tapelog[spark-local]" in caught.value.hint
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    with pytest.raises(CliError, match="Java") as caught:
        check({"PATH": str(tmp_path)})
    assert "\n" not in str(caught.value) and "17" in str(caught.value)
