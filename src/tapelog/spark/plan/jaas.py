"""sasl.jaas.config: `Module flag name=value …;`, read as Kafka reads it.

Blanks and comments (`//`, `/* */`) separate words. A word is letters, digits and `_ $ . -`; anything else stands in
quotes, double or single, with C's escapes. Exactly one module is wanted. Nothing of the text appears in an error but
the place: a quote in the wrong place would turn a password into a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from tapelog.spark.plan.errors import DOCS, OptionError

FLAGS: Final = ("required", "requisite", "sufficient", "optional")
EXAMPLE: Final = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="…" password="…";'

_SKIP: Final = re.compile(r"(?:[\x00-\x20]|//[^\r\n]*|/\*.*?\*/)+", re.DOTALL)
_WORD: Final = re.compile(r"[\w$.\-\u00a0-\U0010ffff]+", re.ASCII)
_QUOTED: Final = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\\r\n])*)\1""", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True, repr=False)
class JaasEntry:
    """A login module and its options. It does not print: there are passwords in it."""

    module: str
    """The class, without its package: a connector that carries Kafka under another name has the same ones."""
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"JaasEntry({self.module})"


class _Token(NamedTuple):
    place: int
    sign: str
    """`=`, `;`, or `w` for a word."""
    text: str


def parse_jaas(text: str) -> JaasEntry:
    """The one entry of the text; OptionError says at which character it goes wrong."""
    tokens = _tokens(text)
    if len(tokens) < 2 or tokens[0].sign != "w" or tokens[1].text.lower() not in FLAGS:
        raise _wrong(1, "it does not begin with a login module and a flag such as required")
    options: dict[str, str] = {}
    at = 2
    while at < len(tokens) and tokens[at].sign != ";":
        name, equals, value = (tokens[at : at + 3] + [_Token(len(text), "", "")] * 3)[:3]
        if name.sign != "w" or equals.sign != "=" or value.sign != "w":
            raise _wrong(name.place + 1, "name=value is expected there; put values in double quotes")
        options[name.text] = value.text
        at += 3
    if at >= len(tokens):
        raise _wrong(len(text), "it does not end with a semicolon")
    if at + 1 < len(tokens):
        raise _wrong(tokens[at + 1].place + 1, "there is a second login module; exactly one is taken")
    return JaasEntry(tokens[0].text.rpartition(".")[2], options)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    place = 0
    while place < len(text):
        if skipped := _SKIP.match(text, place):
            place = skipped.end()
        elif text[place] in "=;":
            found.append(_Token(place, text[place], text[place]))
            place += 1
        elif quoted := _QUOTED.match(text, place):
            found.append(_Token(place, "w", _ESCAPE.sub(_unescaped, quoted[2])))
            place = quoted.end()
        elif word := _WORD.match(text, place):
            found.append(_Token(place, "w", word[0]))
            place = word.end()
        else:
            why = "a quote is not closed" if text[place] in "\"'" else "a character stands outside quotes"
            raise _wrong(place + 1, why)
    return found


def _unescaped(found: re.Match[str]) -> str:
    what = found[1]
    if what[0] in "01234567":
        return chr(int(what, 8))
    return _ESCAPED.get(what, what)


def _wrong(place: int, why: str) -> OptionError:
    return OptionError(
        f"Option kafka.sasl.jaas.config cannot be read at character {place}: {why}.",
        f"Expected e.g. {EXAMPLE}",
        f"See {DOCS}.",
    )
