"""What went wrong in Spark, in three lines: walls of frames go to the log. Pure text."""

from __future__ import annotations

import re
from typing import Final

from tapelog.spark.plan.errors import LINES_MAX

LINE_CHARS_MAX: Final = 300
NOT_CONNECTED: Final = "Python worker failed to connect back"
"""Spark gives a new Python process ten seconds: on a busy machine that is too little, and nothing has happened yet."""
_OURS: Final = re.compile(
    r"(?:Tapelog|Plan|Lake|Option|Document|MissingTopic|DataLoss|Checkpoint)Error: (?P<text>(?:.+\n?){1,3})"
)
_USER: Final = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)
_RAISED: Final = re.compile(r"\[USER_RAISED_EXCEPTION\] (.+)")
_CONDITION: Final = re.compile(r"^.*?\[([A-Z_.]+)\] (.+)$", re.MULTILINE | re.DOTALL)
_FRAME: Final = re.compile(r"at [\w.$]+\(")
_NOISE: Final = (
    "SQLSTATE",
    "===",
    "JVM stacktrace",
    "at org.",
    "at java.",
    "at scala.",
    "Traceback",
    "Driver stacktrace",
)


def told(text: str) -> list[str]:
    """At most three lines that say what happened."""
    if match := _OURS.search(text):
        return _clean(match["text"].splitlines())
    if NOT_CONNECTED in text:
        return [
            "Python did not come up within the ten seconds that Spark gives it, several times.",
            "This machine is too busy: let other work end first, or write to fewer sinks at a time.",
        ]
    if match := _RAISED.search(text):
        return _clean([match[1]])
    frames = text.rfind("Traceback (most recent call last)")
    if frames >= 0 and (match := _last(_USER, text[frames:])):
        return _clean([f"{match[1]}: {match[2]}"])
    if match := _CONDITION.search(text):
        lines = match[2].splitlines()
        return _clean([lines[0], *lines[1:]])
    return _clean(text.splitlines())


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return found[-1] if found else None


def _clean(lines: list[str]) -> list[str]:
    made: list[str] = []
    for line in lines:
        bare = re.sub(r"\s*SQLSTATE: \w+.*$", "", line).strip()
        if any(word in line for word in _NOISE) and not re.sub(r"SQLSTATE: \w+", "", line).strip():
            break
        if any(bare.startswith(word) for word in _NOISE) or _FRAME.match(bare):
            break
        if bare:
            made.append(bare[:LINE_CHARS_MAX])
    return made[:LINES_MAX] or ["Spark gave no reason."]
