"""Ratios pair repetitions, promises are judged by the median, and the chart is well-formed."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from bench import chart, report
from bench.load import Figures
from bench.runner import LEAD_IN_MAX, settled, turned
from bench.scenarios import SCENARIOS, Scenario, at_least, at_most, select


def samples(figure: str, values: list[float]) -> list[Figures]:
    return [{"rep": float(i), figure: v, "cpu_us_req": v / 10} for i, v in enumerate(values)]


SCENARIO = Scenario("s", "A <title> & more", "produce", "req_s", "cpu_us_req", targets=(at_least("req_s", 3),))
RESULTS = {"s": {"tapelog": samples("req_s", [300, 500, 400]), "kafka": samples("req_s", [100, 100, 200])}}


def test_a_ratio_pairs_what_ran_in_the_same_repetition() -> None:
    found = report.ratio(RESULTS["s"]["tapelog"], RESULTS["s"]["kafka"], "req_s")
    assert found == report.Spread(3.0, 2.0, 5.0)


def test_a_repetition_that_failed_on_one_side_is_left_out() -> None:
    found = report.ratio(RESULTS["s"]["tapelog"], RESULTS["s"]["kafka"][1:], "req_s")
    assert found == report.Spread(3.5, 2.0, 5.0)


def test_the_median_decides_whether_a_promise_is_met() -> None:
    (verdict,) = report.verdicts(SCENARIO, RESULTS["s"])
    assert verdict.met
    worse = {"tapelog": samples("req_s", [290, 290, 290]), "kafka": samples("req_s", [100, 100, 100])}
    (verdict,) = report.verdicts(SCENARIO, worse)
    assert not verdict.met


def test_an_absolute_promise_needs_no_kafka_and_binds_the_interpreted_broker_too() -> None:
    scenario = Scenario("x", "x", "start", "start_s", targets=(at_most("start_s", 0.3, absolute=True),))
    results = {"tapelog": samples("start_s", [0.2]), "interpreted": samples("start_s", [0.4])}
    assert [(v.side, v.met) for v in report.verdicts(scenario, results)] == [("tapelog", True), ("interpreted", False)]


def test_the_table_shows_both_sides_and_the_verdict() -> None:
    text = report.table([SCENARIO], RESULTS)
    assert "3.00× (2.00–5.00)" in text
    assert "≥ 3× met" in text
    assert "400 req/s" in text


def test_the_document_keeps_every_repetition() -> None:
    document = json.loads(report.document([SCENARIO], RESULTS, {"reps": 3}))
    assert len(document["scenarios"]["s"]["sides"]["tapelog"]) == 3
    assert document["verdicts"][0]["met"] is True


def test_the_chart_turns_costs_so_that_more_is_better() -> None:
    results = {"s": {"tapelog": [{"rep": 0.0, "cpu_us_req": 2.0}], "kafka": [{"rep": 0.0, "cpu_us_req": 20.0}]}}
    (bar,) = chart.bars([SCENARIO], results)
    assert bar.value.median == 10.0


def test_the_chart_is_well_formed_and_names_its_rows() -> None:
    text = chart.svg("title & more", "below", chart.bars([SCENARIO], RESULTS))
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    assert "A &lt;title&gt; &amp; more" in text


def test_every_side_is_first_in_its_turn() -> None:
    assert [turned(["a", "b"], rep)[0] for rep in range(4)] == ["a", "b", "a", "b"]


def test_a_lead_in_ends_when_a_side_no_longer_gets_cheaper() -> None:
    assert not settled([])
    assert not settled([10.0])
    assert not settled([10.0, 8.0])
    assert settled([10.0, 8.0, 7.9])
    assert settled([10.0 / (i + 1) for i in range(LEAD_IN_MAX)])


def test_scenarios_have_distinct_names_and_can_be_selected_by_their_beginning() -> None:
    assert len({s.name for s in SCENARIOS}) == len(SCENARIOS)
    assert {s.name for s in select(["fetch", "start"])} == {"start", "fetch-1m-1c", "fetch-1m-4c"}


def test_busy_neighbours_are_named() -> None:
    assert report.noise({"s": {"kafka": [{"other_pct": 40.0}]}, "t": {"kafka": [{"other_pct": 1.0}]}}) == ["s (40 %)"]
