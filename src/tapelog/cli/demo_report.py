"""What the demo says of its pipeline: lines for the live view, and the report at the end. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from tapelog.cli.demo_ledger import Books, Ledger, middle_and_worst
from tapelog.cli.output import table
from tapelog.cli.units import format_count

MINUTES_SHOWN = 12


def live(
    state: str, queries: Mapping[str, Mapping[str, Any]], ledger: Ledger, since_s: float = 0.0
) -> list[RenderableType]:
    """The pipeline's part of the live view."""
    rows = [
        [
            name,
            query.get("batch", -1) + 1,
            format_count(int(query.get("rows") or 0)),
            f"{query.get('processed_per_s') or 0:.0f}",
            query.get("behind"),
            f"{(query.get('batch_ms') or 0) / 1000:.1f} s",
        ]
        for name, query in queries.items()
    ]
    parts: list[RenderableType] = [Text(line(state, ledger, since_s), style="bold")]
    if rows:
        parts.append(table(["query", "batches>", "read>", "read/s>", "behind>", "last batch>"], rows))
    return [*parts, Text()]


def line(state: str, ledger: Ledger, since_s: float = 0.0) -> str:
    """The same in one line; `since_s` is how long ago it was started."""
    if state == "starting":
        return f"pipeline: Spark is starting, {since_s:.0f} s"
    if not ledger.windows:
        return f"pipeline {state}: the first window is not closed yet"
    late = middle_and_worst(ledger.topic_late_s())
    fresh = f", a window is {late[0]:.1f} s old when it can be read" if late is not None else ""
    return (
        f"pipeline {state}: revenue {ledger.revenue:,.2f} in {ledger.orders:,} orders, "
        f"{sum(ledger.letters.values()):,} dead letters{fresh}"
    )


def document(ledger: Ledger, books: Books, sent: int, seconds: float) -> dict[str, Any]:
    """The report for programs."""
    sums = ledger.sums(books)
    topic, lake = middle_and_worst(ledger.topic_late_s()), middle_and_worst(ledger.table)
    return {
        "seconds": round(seconds, 1),
        "orders_sent": sent,
        "orders_counted": ledger.orders,
        "revenue": round(ledger.revenue, 2),
        "windows": {
            "compared": sums.windows,
            "sent": sums.sent / 100,
            "topic": sums.topic / 100,
            "table": sums.table / 100,
            "agree": sums.agree,
        },
        "bad_orders_sent": books.bad,
        "dead_letters": dict(ledger.letters.most_common()),
        "revenue_per_minute": [
            {"minute_ms": when, **{region: round(value, 2) for region, value in parts.items()}}
            for when, parts in ledger.per()
        ],
        "topic_freshness_s": None if topic is None else {"median": round(topic[0], 1), "worst": round(topic[1], 1)},
        "table_freshness_s": None if lake is None else {"median": round(lake[0], 1), "worst": round(lake[1], 1)},
        "table_rows": len(ledger.table_windows),
    }


def report(told: Mapping[str, Any]) -> list[str]:
    """The report for people, a line each."""
    lines = [
        f"{told['orders_sent']:,} orders in {told['seconds']:.0f} s, {told['bad_orders_sent']:,} of them bad; "
        f"{told['orders_counted']:,} in closed windows: revenue {told['revenue']:,.2f}",
        _sums_line(told["windows"]),
    ]
    letters = told["dead_letters"]
    lines += [f"{count:,} dead letter{'s' if count > 1 else ''}: {reason}" for reason, count in letters.items()] or [
        "no dead letters"
    ]
    for minute in told["revenue_per_minute"][-MINUTES_SHOWN:]:
        parts = {name: value for name, value in minute.items() if name != "minute_ms"}
        clock = minute["minute_ms"] // 60_000
        shown = ", ".join(f"{region} {value:,.0f}" for region, value in parts.items())
        lines.append(f"  {clock // 60 % 24:02d}:{clock % 60:02d}  {sum(parts.values()):10,.2f}   {shown}")
    for name, key in (("topic", "topic_freshness_s"), ("lake table", "table_freshness_s")):
        if told[key]:
            lines.append(f"freshness of the {name}: median {told[key]['median']} s, worst {told[key]['worst']} s")
    lines.append(f"picture: {told['picture']}")
    return lines


def _sums_line(windows: Mapping[str, Any]) -> str:
    """Whether it adds up."""
    if not windows["compared"]:
        return "it ended before the first window was closed"
    if windows["agree"]:
        return f"in {windows['compared']:,} windows: the same in the topic, in the lake table and in the orders sent"
    return (
        f"in {windows['compared']:,} windows: sent {windows['sent']:,.2f}, in the topic {windows['topic']:,.2f}, "
        f"in the lake table {windows['table']:,.2f}: it ended in the middle of a batch, which a next run would write"
    )
