"""A bar chart of the ratios as one SVG file, written by hand: no plotting library needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from bench.report import LOWER_IS_BETTER, Spread, ratio
from bench.runner import Results
from bench.scenarios import Scenario

WIDTH, LEFT, RIGHT, ROW, TOP, BAR = 980, 400, 110, 34, 74, 16
LOWEST, HIGHEST = 0.1, 100.0
GOOD, BAD, LINE, TEXT, MUTED = "#2a78b8", "#c4552d", "#c9ced6", "#1c2733", "#5b6673"


@dataclass(frozen=True, slots=True)
class Bar:
    """One scenario: how many times better than Kafka (above 1 is better, whatever the unit), and the promise."""

    label: str
    value: Spread
    promise: float | None
    met: bool | None


def bars(scenarios: Sequence[Scenario], results: Results) -> list[Bar]:
    """Headline of every scenario that both sides ran, and its cost, turned so that more is better."""
    out = []
    for scenario in scenarios:
        sides = results.get(scenario.name, {})
        for figure in (scenario.headline, scenario.cost):
            value = ratio(sides.get("tapelog", []), sides.get("kafka", []), figure) if figure else None
            if value is None or scenario.kind == "publish" or figure == "idle_cpu_pct" or value.low <= 0:
                continue
            target = next((t for t in scenario.targets if t.figure == figure and not t.absolute), None)
            met = target.met(value.median) if target else None
            promise = target.bound if target else None
            if figure in LOWER_IS_BETTER:
                value = Spread(1 / value.median, 1 / value.high, 1 / value.low)
                promise = 1 / promise if promise else None
            label = f"{scenario.title} – {'CPU' if figure == scenario.cost else _word(figure)}"
            out.append(Bar(label, value, promise, met))
    return out


def _word(figure: str) -> str:
    return {"req_s": "requests/s", "mb_s": "MB/s", "memory_mb": "memory"}.get(figure, "time")


def _x(value: float) -> float:
    clipped = min(max(value, LOWEST), HIGHEST)
    share = math.log(clipped / LOWEST) / math.log(HIGHEST / LOWEST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def svg(title: str, subtitle: str, rows: Sequence[Bar]) -> str:
    """The chart. Bars to the right of 1× are better than Apache Kafka; thin lines show the range of repetitions."""
    height = TOP + ROW * len(rows) + 40
    style = "font-family:system-ui,sans-serif"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" style="{style}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(20, 28, title, size=18, weight="600"),
        _text(20, 48, subtitle, size=12, fill=MUTED),
    ]
    for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100):
        x, strong = _x(tick), tick == 1
        stroke = f'stroke="{TEXT if strong else LINE}" stroke-width="{1.5 if strong else 1}"'
        out.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 34}" {stroke}/>')
        out.append(_text(x, height - 18, f"{tick:g}×", size=11, fill=MUTED, anchor="middle"))
    for i, bar in enumerate(rows):
        out += _row(bar, TOP + i * ROW)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _row(bar: Bar, y: int) -> list[str]:
    middle, one, end = y + ROW / 2, _x(1), _x(bar.value.median)
    colour = GOOD if bar.met or (bar.met is None and bar.value.median >= 1) else BAD
    box = f'x="{min(one, end):.1f}" y="{middle - BAR / 2:.1f}"'
    ends = f'x1="{_x(bar.value.low):.1f}" x2="{_x(bar.value.high):.1f}"'
    out = [
        _text(LEFT - 12, middle + 4, bar.label, size=12, anchor="end"),
        f'<rect {box} width="{max(abs(end - one), 1):.1f}" height="{BAR}" fill="{colour}" rx="2"/>',
        f'<line {ends} y1="{middle}" y2="{middle}" stroke="{TEXT}" stroke-width="1.5"/>',
        _text(max(end, _x(bar.value.high), one) + 8, middle + 4, f"{bar.value.median:.2f}×", size=12, weight="600"),
    ]
    if bar.promise is not None:
        x = _x(bar.promise)
        path = f"M {x - 5:.1f} {middle - 15:.1f} L {x + 5:.1f} {middle - 15:.1f} L {x:.1f} {middle - 8:.1f} Z"
        out.append(f'<path d="{path}" fill="{TEXT}"><title>promised: {bar.promise:.2f}×</title></path>')
    return out


def _text(
    x: float, y: float, text: str, *, size: int, fill: str = TEXT, anchor: str = "start", weight: str = "400"
) -> str:
    attributes = (
        f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}"'
    )
    return f"<text {attributes}>{escape(text)}</text>"
