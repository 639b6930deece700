"""What the demo shows."""

from __future__ import annotations

import io
import itertools

from rich.console import Console

from tapelog.cli import demo_view
from tapelog.cli.demo_load import orders
from tapelog.cli.demo_stats import TOPICS_MAX, GroupView, Snapshot, TopicView, own_first

SNAPSHOT = Snapshot(
    65.0,
    (TopicView("orders", 3, 12_345, 99.6),),
    (
        GroupView("analytics", "stable", 100.0, 4, 120),
        GroupView("billing", "empty", 0.0, 2_500, 25_000, (0, 500, 2_500)),
    ),
    35 * 1024**2,
)


def shown(stopped: list[str], trouble: str = "") -> str:
    out = io.StringIO()
    Console(file=out, width=120).print(demo_view.live("Tapelog on 127.0.0.1:9092", SNAPSHOT, stopped, 100, trouble))
    return out.getvalue()


def test_the_view_has_address_topics_rates_and_groups_with_lag_in_records_and_seconds() -> None:
    text = shown([])
    for part in ("127.0.0.1:9092", "orders", "12,345", "100", "analytics", "stable", "2,500", "25.0 s", "35.0 MiB"):
        assert part in text


def test_the_keys_say_what_they_do_now() -> None:
    assert "s stop billing" in shown([])
    assert "s start billing again" in shown(["billing"])
    assert "stopped" in shown(["billing"])


def test_trouble_is_shown() -> None:
    assert "no answer" in shown([], "no answer from 127.0.0.1:9092")


def test_a_sparkline_grows_with_the_lag_and_is_calm_when_there_is_little() -> None:
    assert demo_view.sparkline([0, 500, 1000], bars="abcd") == "abd"
    assert demo_view.sparkline([3, 9, 1], bars="abcd") == "aaa"
    assert demo_view.sparkline([], bars="abcd") == ""
    assert len(demo_view.sparkline(list(range(1000)), width=40)) == 40


def test_a_plain_line_says_the_same() -> None:
    assert demo_view.line(SNAPSHOT) == (
        "orders 12,345 records 100/s · analytics lag 4 (0.1 s) · billing lag 2,500 (25.0 s)"
    )


def test_many_other_topics_do_not_push_its_own_out() -> None:
    others = [f"answers-{number}" for number in range(TOPICS_MAX)]
    assert own_first([*others, "orders"])[0] == "orders"


def test_programs_get_a_document() -> None:
    document = demo_view.document(SNAPSHOT)
    assert document["groups"][1] == {
        "group": "billing",
        "state": "empty",
        "records_per_second": 0.0,
        "lag_records": 2500,
        "lag_seconds": 25.0,
    }


def test_lines_to_paste_have_the_real_address() -> None:
    lines = demo_view.paste_lines("127.0.0.1:9093")
    assert all("127.0.0.1:9093" in line for _, line in lines)
    assert any(line.startswith("kcat ") for _, line in lines)
    assert any("confluent_kafka" in line for _, line in lines)


def test_orders_are_synthetic_and_endless() -> None:
    some = list(itertools.islice(orders(seed=1), 50))
    assert [order["order"] for _, order in some] == list(range(1, 51))
    assert all(customer == order["customer"] and order["amount"] > 0 for customer, order in some)
