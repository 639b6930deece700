"""subscribePattern: a Java regular expression, held against topic names.

Spark looks for the expression anywhere in a name (`find`), and so do we: `order` matches `my-orders`; write `^order$`
for one topic. Topic names are ASCII without line ends, so Python's expressions mean the same once Java's own spellings
are translated; what cannot be is refused by name.
"""

from __future__ import annotations

import re
from typing import Final

from tapelog.spark.plan.errors import OptionError

PATTERN_CHARS_MAX: Final = 16_384

_POSIX: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "XDigit": "0-9a-fA-F",
    "L": "a-zA-Z",
    "Lu": "A-Z",
    "Ll": "a-z",
    "N": "0-9",
    "Nd": "0-9",
    "IsAlphabetic": "a-zA-Z",
    "IsDigit": "0-9",
}
_BACK: Final = re.compile(r"\\k<(\w+)>")
_CLASS: Final = re.compile(r"\\[pP](?:\{(?:Is(?=L|N))?(\w+)\}|(\w))")


def compile_pattern(text: str) -> re.Pattern[str]:
    """The expression, to be searched for in names; OptionError says what is wrong with it."""
    if len(text) > PATTERN_CHARS_MAX:
        raise OptionError(f"subscribePattern has {len(text)} characters; {PATTERN_CHARS_MAX} is the most.")
    try:
        return re.compile(_translate(text), re.ASCII)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise OptionError(
            f"subscribePattern is no regular expression that can be used: {error}.",
            "Expected a Java regular expression such as orders-.* (it may match anywhere in a name).",
        ) from None


def _translate(text: str) -> str:
    """Java's spelling into Python's. ValueError for what Python has no words for."""
    out: list[str] = []
    place, in_class = 0, False
    while place < len(text):
        piece, size = _next(text, place, in_class)
        if not in_class and piece == "[":
            in_class = True
            if text[place + 1 : place + 2] == "^":
                piece, size = "[^", 2
            if text[place + size : place + size + 1] == "]":
                raise ValueError("an empty class []")
        elif in_class and piece == "]":
            in_class = False
        elif in_class and (piece == "[" or text.startswith("&&", place)):
            raise ValueError("classes within classes ([a[b]], [a&&b]) cannot be used; write one class")
        out.append(piece)
        place += size
    return "".join(out)


def _next(text: str, place: int, in_class: bool) -> tuple[str, int]:
    """What stands at this place, in Python's spelling, and how many characters it took."""
    if text.startswith("\\Q", place):
        end = text.find("\\E", place + 2)
        quoted = text[place + 2 :] if end < 0 else text[place + 2 : end]
        return re.escape(quoted), 2 + len(quoted) + (0 if end < 0 else 2)
    if text.startswith(("\\p", "\\P"), place):
        return _property(text, place, in_class)
    if (back := _BACK.match(text, place)) is not None:
        return f"(?P={back[1]})", len(back[0])
    if text.startswith("\\", place):
        two = text[place : place + 2]
        return (r"\Z" if two == "\\z" else two), 2
    if not in_class and text.startswith("(?<", place) and text[place + 3 : place + 4] not in ("=", "!"):
        return "(?P<", 3
    return text[place], 1


def _property(text: str, place: int, in_class: bool) -> tuple[str, int]:
    found = _CLASS.match(text, place)
    characters = _POSIX.get(found[1] or found[2]) if found else None
    if found is None or characters is None:
        raise ValueError(f"the class at character {place + 1} is not known")
    negated = text[place + 1] == "P"
    if in_class and negated:
        raise ValueError(r"\P within a class cannot be used")
    if in_class:
        return characters, found.end() - place
    return f"[{'^' if negated else ''}{characters}]", found.end() - place
