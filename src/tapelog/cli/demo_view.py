"""How the demo looks: tables for a terminal, lines for anything else. Pure: snapshots in, text out."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tapelog.cli.demo_load import TOPIC
from tapelog.cli.demo_stats import GroupView, Snapshot
from tapelog.cli.output import table
from tapelog.cli.units import format_count, format_duration, format_size

BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.:-=+*#"
SPARK_WIDTH, SPARK_WIDTH_MIN = 40, 11
SPARK_FLOOR = 200  # records; what is always under way is no lag worth a mountain
GROUPS_MIN = 2  # shown on any screen: the two that the keys stop
COLUMN_GAP = 3
NAME_WIDTH_MIN = 12
GUIDE = "docs/guide/getting-started.md"
CALM_MS = 2000
WORRY_MS = 10_000


def sparkline(values: Sequence[int], width: int = SPARK_WIDTH, bars: str = BARS, floor: int = SPARK_FLOOR) -> str:
    """The last values as a row of bars, scaled to the largest of them; small ones (below the floor) stay small."""
    shown = list(values)[-width:]
    top = max(floor, *shown) if shown else floor
    return "".join(bars[min(len(bars) - 1, value * len(bars) // (top + 1))] for value in shown)


def paste_lines(bootstrap: str) -> list[tuple[str, str]]:
    """(what it does, a line to paste into a shell) with the real address."""
    python, tape = _python_and_tape()
    code = (
        "from confluent_kafka import Consumer; "
        f"c = Consumer({{'bootstrap.servers': '{bootstrap}', "
        "'group.id': 'my-group', 'auto.offset.reset': 'earliest'}); "
        f"c.subscribe(['{TOPIC}']); "
        "[print(m.key(), m.value()) for m in c.consume(5, 10)]; c.close()"
    )
    return [
        ("read five orders with kcat", f"kcat -b {bootstrap} -C -t {TOPIC} -o -5 -c 5"),
        ("write one with kcat", f'echo \'{{"order": 0, "item": "mine"}}\' | kcat -b {bootstrap} -P -t {TOPIC}'),
        ("read with Python, as a group", f'{python} -c "{code}"'),
        ("follow with tape", f"{tape} consume {TOPIC} --follow --bootstrap {bootstrap}"),
        ("lag of a group", f"{tape} group describe billing --bootstrap {bootstrap}"),
    ]


def _python_and_tape() -> tuple[str, str]:
    """How a shell in this directory calls both."""
    python = os.path.relpath(sys.executable)
    python = sys.executable if python.startswith("..") else python
    tape = os.path.join(os.path.dirname(python), "tape")
    return python, tape if os.path.exists(tape) else f"{python} -m tapelog"


def next_step() -> str:
    """What to do when the demo has ended; the guide is there in a checkout."""
    _, tape = _python_and_tape()
    more = f"{GUIDE} goes on from there" if os.path.exists(GUIDE) else f"{tape} --help lists the commands"
    return f"next: {tape} up --data ./tapelog-data   # a broker of your own\n      {more}"


def paste_text(bootstrap: str) -> Text:
    """The paste-ready lines, each under a comment, never broken: the terminal wraps them and copies them whole."""
    text = Text()
    for what, line in paste_lines(bootstrap):
        text.append(f"# {what}\n", style="dim").append(line + "\n")
    return text


def _lag_style(group: GroupView) -> str:
    if group.lag_ms is None or group.lag_ms < CALM_MS:
        return "green"
    return "yellow" if group.lag_ms < WORRY_MS else "bold red"


def keys_text(stopped: Collection[str], rate: float, width: int) -> str:
    """What the keys do, right now, and what comes of it where a line has room for that."""
    billing, then = (
        ("start billing again", ": its lag shrinks") if "billing" in stopped else ("stop billing", ": its lag grows")
    )
    analytics = "start analytics" if "analytics" in stopped else "stop analytics"
    rest = f"   a {analytics}   + - orders ({rate:g}/s)   q quit"
    long = f"keys:  s {billing}{then}{rest}"
    return long if len(long) <= width else f"keys:  s {billing}{rest}"


def live(
    title: str,
    snapshot: Snapshot,
    stopped: Collection[str],
    rate: float,
    trouble: str = "",
    *,
    bars: str = BARS,
    width: int = 120,
    height: int = 100,
) -> RenderableType:
    """The view for a terminal with so much room. A narrow one gets shorter bars, a low one fewer groups."""
    facts = [f"up {format_duration(snapshot.uptime_s * 1000)}"]
    if snapshot.memory_bytes is not None:
        facts.append(f"broker memory {format_size(snapshot.memory_bytes)}")
    heads = ["topic", "partitions>", "offsets>", "offsets/s>"]
    rows = [[t.name, str(t.partitions), format_count(t.offsets), format_count(t.rate)] for t in snapshot.topics]
    topics = table(heads, _with_short_names(heads, rows, width))
    others = 2 + (2 + len(snapshot.topics)) + 1 + 2 + 1 + len(trouble.splitlines()) + 1
    shown = snapshot.groups
    if others + len(shown) > height:
        shown = shown[: max(GROUPS_MIN, height - others - 1)]
    parts: list[RenderableType] = [
        Text.assemble((title, "bold"), ("   " + ", ".join(facts), "dim")),
        Text(),
        topics,
        Text(),
        _groups(shown, stopped, bars, width),
    ]
    if left := len(snapshot.groups) - len(shown):
        parts.append(Text(f"and {left} more for which this screen is too low", style="dim"))
    parts.append(Text())
    if trouble:
        parts.append(Text(trouble, style="bold red"))
    parts.append(Text(keys_text(stopped, rate, width), style="dim"))
    return Group(*parts)


def _taken(heads: Sequence[str], rows: Sequence[Sequence[Any]], columns: Iterable[int]) -> int:
    """The width that these columns take, each with the gap before it."""
    return sum(
        COLUMN_GAP + max(len(heads[column].rstrip(">")), *(len(row[column]) for row in rows)) for column in columns
    )


def _with_short_names(heads: Sequence[str], rows: list[list[Any]], width: int) -> list[list[Any]]:
    """The same rows with names, which come first, so short that every other column has its room."""
    if not rows:
        return rows
    room = max(NAME_WIDTH_MIN, width - _taken(heads, rows, range(1, len(heads))))
    return [[shortened(row[0], room), *row[1:]] for row in rows]


def shortened(name: str, room: int) -> str:
    """A name in so many characters: its middle goes first, because names differ at their ends.

    >>> shortened("orders", 6), shortened("warehouse-orders-eu", 11)
    ('orders', 'wareh…rs-eu')
    """
    if len(name) <= room:
        return name
    end = (room - 1) // 2
    return f"{name[: room - 1 - end]}…{name[-end:]}"


def _groups(groups: Sequence[GroupView], stopped: Collection[str], bars: str, width: int) -> RenderableType:
    """The table of groups; the bars take what the other columns leave, and end with the newest."""
    heads = ["group", "", "reads/s>", "lag>", "lag in time>"]
    rows = [_group_row(group, group.name in stopped) for group in groups]
    rows = _with_short_names(heads, rows, width - COLUMN_GAP - SPARK_WIDTH_MIN)
    taken = _taken(heads, rows, range(len(heads))) if rows else 0
    room = min(SPARK_WIDTH, max(SPARK_WIDTH_MIN, width - taken))
    drawn = [Text(sparkline(group.history, room, bars), style=_lag_style(group)) for group in groups]
    title = "lag, the last minute"
    heads.append(title if len(title) <= room else "last minute")
    return table(heads, [[*row, spark] for row, spark in zip(rows, drawn, strict=True)])


def _group_row(group: GroupView, stopped: bool) -> list[Any]:
    style = _lag_style(group)
    state = (
        Text("stopped", style="bold red")
        if stopped
        else Text(group.state, style="green" if group.state == "stable" else "yellow")
    )
    time_lag = "-" if group.lag_ms is None else format_duration(group.lag_ms)
    return [
        group.name,
        state,
        format_count(group.rate),
        Text(format_count(group.lag_records), style=style),
        Text(time_lag, style=style),
    ]


def line(snapshot: Snapshot) -> str:
    """The view where there is no terminal: one line."""
    parts = [f"{t.name} {format_count(t.offsets)} offsets {t.rate:.0f}/s" for t in snapshot.topics]
    for group in snapshot.groups:
        time_lag = "?" if group.lag_ms is None else format_duration(group.lag_ms)
        parts.append(f"{group.name} lag {format_count(group.lag_records)} ({time_lag})")
    return " · ".join(parts)


def document(snapshot: Snapshot) -> dict[str, Any]:
    """The same for programs."""
    return {
        "uptime_seconds": round(snapshot.uptime_s, 1),
        "memory_bytes": snapshot.memory_bytes,
        "topics": [
            {
                "topic": t.name,
                "partitions": t.partitions,
                "offsets": t.offsets,
                "records": t.offsets,  # the older name for it
                "records_per_second": round(t.rate, 1),
            }
            for t in snapshot.topics
        ],
        "groups": [
            {
                "group": group.name,
                "state": group.state,
                "records_per_second": round(group.rate, 1),
                "lag_records": group.lag_records,
                "lag_seconds": None if group.lag_ms is None else group.lag_ms / 1000,
            }
            for group in snapshot.groups
        ],
    }
