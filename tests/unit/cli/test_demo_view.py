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


def on_screen(snapshot: Snapshot, width: int, height: int) -> list[str]:
    out = io.StringIO()
    view = demo_view.live("Tapelog on 127.0.0.1:9092", snapshot, [], 100, bars="abcdefgh", width=width, height=height)
    Console(file=out, width=width).print(view)
    return out.getvalue().splitlines()


def test_a_narrow_terminal_shows_the_newest_lag_and_the_keys_in_one_line() -> None:
    growing = GroupView("shop.dead_letters", "stable", 100.0, 12_345, 145_000, tuple(range(0, 60_000, 1000)))
    lines = on_screen(Snapshot(65.0, SNAPSHOT.topics, (growing,), None), 80, 24)
    assert len(demo_view.keys_text(["billing", "analytics"], 2000, 80)) <= 80
    assert any(line.rstrip().endswith("h") and "shop.dead_letters" in line for line in lines)
    assert lines[-1].endswith("q quit")
    assert max(map(len, lines)) <= 80


def test_long_names_are_shortened_before_a_column_is() -> None:
    names = ["warehouse.inventory.reservations.confirmed-by-region.europe-west.v2." + end for end in ("in", "out")]
    topics = tuple(TopicView(name, 12, 1_234_567, 98.0) for name in names)
    groups = tuple(GroupView(name, "stable", 100.0, 12_345, 145_000, (0, 9000)) for name in names)
    lines = on_screen(Snapshot(65.0, topics, groups, None), 80, 24)
    shown = [line for line in lines if line.startswith("warehouse")]
    assert [line.split()[1:] for line in shown[:2]] == [["12", "1,234,567", "98"]] * 2, lines
    assert all(part in line for line in shown[2:] for part in ("stable", "12,345", "2 min 25 s", "h")), lines
    assert [line.split()[0][-3:] for line in shown] == [".in", "out"] * 2, "and their ends tell them apart"
    assert max(map(len, lines)) <= 80 and len(lines) <= 24


def test_a_low_terminal_shows_the_groups_that_the_keys_stop_and_says_how_many_more_there_are() -> None:
    many = tuple(GroupView(f"group-{number}", "stable", 1.0, 0, 0) for number in range(9))
    for height in (16, 24):
        lines = on_screen(Snapshot(65.0, SNAPSHOT.topics, many, None), 80, height)
        assert len(lines) <= height
        assert any(line.startswith("group-1") for line in lines)
        assert lines[-1].startswith("keys")
    assert sum(line.startswith("group-") for line in on_screen(Snapshot(65.0, (), many, None), 80, 24)) == 9
    assert "and 4 more for which this screen is too low" in on_screen(
        Snapshot(65.0, SNAPSHOT.topics, many, None), 80, 16
    )


def test_trouble_is_shown() -> None:
    assert "no answer" in shown([], "no answer from 127.0.0.1:9092")


def test_a_sparkline_grows_with_the_lag_and_is_calm_when_there_is_little() -> None:
    assert demo_view.sparkline([0, 500, 1000], bars="abcd") == "abd"
    assert demo_view.sparkline([3, 9, 1], bars="abcd") == "aaa"
    assert demo_view.sparkline([], bars="abcd") == ""
    assert len(demo_view.sparkline(list(range(1000)), width=40)) == 40


def test_a_plain_line_says_the_same() -> None:
    assert demo_view.line(SNAPSHOT) == (
        "orders 12,345 offsets 100/s · analytics lag 4 (0.1 s) · billing lag 2,500 (25.0 s)"
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
