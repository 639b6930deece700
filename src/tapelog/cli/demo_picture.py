"""The demo's picture: revenue per minute as stacked bars, and freshness below it, as one SVG file. Pure."""

from __future__ import annotations

import math
import time
from xml.sax.saxutils import escape

from tapelog.cli.demo_ledger import MINUTE_MS, Ledger

WIDTH, LEFT, RIGHT, TOP = 900, 80, 30, 70
BARS_HEIGHT, LINES_HEIGHT, GAP = 240, 120, 100
LABELS_MAX = 9
COLOURS = ("#2a78b8", "#e0913a", "#4a9b6e", "#9b5fb0", "#b8505a", "#6b7785")
TEXT, MUTED, GRID = "#1c2733", "#5b6673", "#d8dde3"
SHORT_RUN_MINUTES = 3
SHORT_SPAN_MS = 10_000


def picture(ledger: Ledger) -> str:
    """Bars per minute; per ten seconds where a run was shorter than three minutes."""
    span, word = MINUTE_MS, "minute"
    if len(ledger.per()) < SHORT_RUN_MINUTES:
        span, word = SHORT_SPAN_MS, "10 seconds"
    bars = ledger.per(span)
    height = TOP + BARS_HEIGHT + GAP + LINES_HEIGHT + 50
    begin = bars[0][0] if bars else 0
    end = max([bars[-1][0] + span if bars else 1, *(when for when, _ in (*ledger.topic_late_s(), *ledger.table))])
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        'style="font-family:system-ui,sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(20, 30, f"Revenue per {word}, by region (UTC)", size=18, weight="600"),
        *_stacks(bars, span, begin, end),
        *_lines(ledger, begin, end, TOP + BARS_HEIGHT + GAP),
        "</svg>",
    ]
    return "\n".join(out) + "\n"


def _x(when: float, begin: int, end: int) -> float:
    return LEFT + (when - begin) / max(1, end - begin) * (WIDTH - LEFT - RIGHT)


def _stacks(bars: list[tuple[int, dict[str, float]]], span: int, begin: int, end: int) -> list[str]:
    regions = sorted({region for _, parts in bars for region in parts})
    colours = {region: COLOURS[number % len(COLOURS)] for number, region in enumerate(regions)}
    top = round_up(max([sum(parts.values()) for _, parts in bars] or [0.0]))
    bottom = TOP + BARS_HEIGHT
    out = _grid(top, TOP, BARS_HEIGHT, "")
    for number, region in enumerate(regions):
        at = LEFT + number * 120
        out.append(f'<rect x="{at}" y="42" width="12" height="12" fill="{colours[region]}"/>')
        out.append(_text(at + 18, 52, region, size=12))
    for when, parts in bars:
        y = float(bottom)
        x, width = _x(when, begin, end), max(1.0, (_x(when + span, begin, end) - _x(when, begin, end)) * 0.85)
        for region in regions:
            tall = parts.get(region, 0.0) / top * BARS_HEIGHT
            y -= tall
            box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{tall:.1f}"'
            told = f"<title>{escape(region)}: {parts.get(region, 0):,.2f}</title>"
            out.append(f'<rect {box} fill="{colours[region]}">{told}</rect>')
    clock = "%H:%M" if span >= MINUTE_MS else "%H:%M:%S"
    for when, _ in bars[:: -(-len(bars) // LABELS_MAX) or 1]:
        middle = (_x(when, begin, end) + _x(when + span * 0.85, begin, end)) / 2
        said = time.strftime(clock, time.gmtime(when / 1000))
        out.append(_text(middle, bottom + 18, said, size=11, fill=MUTED, anchor="middle"))
    if not bars:
        out.append(
            _text(WIDTH / 2, TOP + BARS_HEIGHT / 2, "no window was closed", size=14, fill=MUTED, anchor="middle")
        )
    return out


def _lines(ledger: Ledger, begin: int, end: int, top: int) -> list[str]:
    """A dot for each window that came to the topic, a line for the table, whose age grows until the next commit."""
    dots, line = ledger.topic_late_s(), ledger.table
    most = round_up(max([value for _, value in (*dots, *line)] or [0.0]))

    def place(when: int, value: float) -> tuple[str, str]:
        return f"{_x(when, begin, end):.1f}", f"{top + LINES_HEIGHT - value / most * LINES_HEIGHT:.1f}"

    out = [_text(20, top - 40, "Freshness", size=18, weight="600"), *_grid(most, top, LINES_HEIGHT, " s")]
    if line:
        points = " ".join(",".join(place(when, value)) for when, value in line)
        out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[1]}" stroke-width="1.5"/>')
    for x, y in sorted({place(when, value) for when, value in dots}):
        out.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{COLOURS[0]}"/>')
    names = ("topic: from the end of a window until it can be read", "lake table: age of its youngest window")
    for number, name in enumerate(names):
        at = LEFT + number * 360
        mark = (
            f'cx="{at + 6}" cy="{top - 20}" r="4"' if number == 0 else f'x="{at}" y="{top - 21}" width="12" height="2"'
        )
        out.append(f'<{"rect" if number else "circle"} {mark} fill="{COLOURS[number]}"/>')
        out.append(_text(at + 18, top - 16, name, size=12))
    return out


def round_up(most: float) -> float:
    """The end of an axis: the next of 1, 2, 3, 4, 5, 6, 8, 10 times a power of ten.

    >>> [round_up(most) for most in (0, 0.7, 3, 47, 4547, 8001)]
    [1.0, 0.8, 3.0, 50.0, 5000.0, 10000.0]
    """
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in (1, 2, 3, 4, 5, 6, 8, 10) if step * power >= most * (1 - 1e-9))


def _grid(most: float, top: int, height: int, unit: str) -> list[str]:
    out = []
    for part in (0.0, 0.5, 1.0):
        y = top + height - part * height
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{GRID}"/>')
        out.append(
            _text(
                LEFT - 8,
                y + 4,
                f"{most * part:,.3g}{unit}" if most < 10 else f"{most * part:,.0f}{unit}",
                size=11,
                fill=MUTED,
                anchor="end",
            )
        )
    return out


def _text(
    x: float, y: float, text: str, *, size: int, fill: str = TEXT, anchor: str = "start", weight: str = "400"
) -> str:
    given = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}"'
    return f"<text {given}>{escape(text)}</text>"
