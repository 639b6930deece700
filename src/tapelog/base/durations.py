"""Durations as people read them. Pure; used by the command line and the toolkit."""

from __future__ import annotations

from typing import Final

SECOND_MS: Final = 1000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS


def format_duration(duration_ms: float) -> str:
    """A duration for people, two units at most: `0.4 s`, `12.5 s`, `3 min 20 s`, `2 d 4 h`."""
    if duration_ms < MINUTE_MS:
        return f"{duration_ms / 1000:.1f} s"
    for big, small, big_name, small_name in (
        (MINUTE_MS, SECOND_MS, "min", "s"),
        (HOUR_MS, MINUTE_MS, "h", "min"),
        (DAY_MS, HOUR_MS, "d", "h"),
    ):
        if duration_ms < big * (60 if big < HOUR_MS else 24) or big == DAY_MS:
            whole, rest = divmod(round(duration_ms), big)
            return f"{whole} {big_name} {rest // small} {small_name}" if rest // small else f"{whole} {big_name}"
    raise AssertionError("days are unbounded")
