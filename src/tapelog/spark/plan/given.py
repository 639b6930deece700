"""The options as they were given: case does not matter, values are text, and mistakes name their option.

A value is shown in a message only when its name cannot hide a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tapelog.spark.plan.errors import DOCS, OptionError
from tapelog.spark.plan.names import canonical
from tapelog.spark.plan.values import OFFSET_MAX

SHOWN_CHARS_MAX: Final = 80
INT_MAX: Final = 2**31 - 1

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_QUANTITY: Final = re.compile(r"([0-9]{1,19})([a-z]*)", re.ASCII)
_MS: Final = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_KIB: Final = 1024
_BYTES: Final[dict[str, int]] = {"": 1, "b": 1} | {
    letter + rest: int(_KIB ** (power + 1)) for power, letter in enumerate("kmgtp") for rest in ("", "i", "b", "ib")
}


class Given:
    """Options of one query; every reader raises OptionError for a value that it cannot take."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values = {str(name).lower(): str(value) for name, value in options.items() if value is not None}

    def names(self) -> Iterable[str]:
        """The names that were given, in lower case, in order."""
        return sorted(self._values)

    def has(self, name: str) -> bool:
        """Whether it was given, be it empty."""
        return name.lower() in self._values

    def text(self, name: str) -> str | None:
        """The text without blanks around it; None: not given."""
        value = self._values.get(name.lower())
        return None if value is None else value.strip()

    def raw(self, name: str) -> str | None:
        """The text to the last blank, as a password wants it."""
        return self._values.get(name.lower())

    def flag(self, name: str, default: bool) -> bool:
        """true or false."""
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            raise self.wrong(name, "true or false")
        return value.lower() == "true"

    def number(self, name: str, default: int, *, least: int = 0, most: int = OFFSET_MAX) -> int:
        """A whole number within bounds."""
        found = self.maybe_number(name, least=least, most=most)
        return default if found is None else found

    def maybe_number(self, name: str, *, least: int = 0, most: int = OFFSET_MAX) -> int | None:
        """A whole number within bounds; None: not given."""
        value = self.text(name)
        if value is None:
            return None
        if not _NUMBER.fullmatch(value) or not least <= int(value) <= most:
            bound = f"{least} or more" if most >= INT_MAX else f"from {least} to {most}"
            raise self.wrong(name, f"a whole number, {bound}")
        return int(value)

    def duration_ms(self, name: str, default: int) -> int:
        """A time as Spark writes it: 500ms, 30s, 15m, 1h, 2d; a plain number is milliseconds."""
        value = self.text(name)
        if value is None:
            return default
        parts = _QUANTITY.fullmatch(value.lower())
        if parts and parts[2] == "us":
            return int(parts[1]) // 1000
        if not parts or parts[2] not in _MS:
            raise self.wrong(name, "a time such as 500ms, 30s, 15m, 1h or 2d")
        return int(parts[1]) * _MS[parts[2]]

    def maybe_bytes(self, name: str) -> int | None:
        """A size as Spark writes it: 512m, 2g; a plain number is bytes. Never zero."""
        value = self.text(name)
        if value is None:
            return None
        parts = _QUANTITY.fullmatch(value.lower())
        if not parts or parts[2] not in _BYTES or not 0 < int(parts[1]) * _BYTES[parts[2]] <= OFFSET_MAX:
            raise self.wrong(name, "a size such as 64m, 2g, or a number of bytes")
        return int(parts[1]) * _BYTES[parts[2]]

    def choice(self, name: str, default: str, among: Iterable[str]) -> str:
        """One of some words, in any case, spelt as in `among`."""
        value = self.text(name)
        if value is None:
            return default
        words = {word.lower(): word for word in among}
        if value.lower() not in words:
            raise self.wrong(
                name, " or ".join(filter(None, (", ".join(list(words.values())[:-1]), list(words.values())[-1])))
            )
        return words[value.lower()]

    def words(self, name: str) -> tuple[str, ...]:
        """What a comma-separated list names, in order and each once."""
        value = self.text(name) or ""
        return tuple(dict.fromkeys(word.strip() for word in value.split(",") if word.strip()))

    def wrong(self, name: str, expected: str) -> OptionError:
        """An error about the value of an option."""
        return OptionError(f"Option {canonical(name)} is {self.shown(name)}: expected {expected}.", f"See {DOCS}.")

    def shown(self, name: str) -> str:
        """A value for a message: in quotes and not too long, or no more than that it is there."""
        value = self._values.get(name.lower(), "")
        if may_hide(name, value):
            return "set (not shown)"
        short = value if len(value) <= SHOWN_CHARS_MAX else value[:SHOWN_CHARS_MAX] + "…"
        return repr(short)


def may_hide(name: str, value: str) -> bool:
    """Whether this value could be, or contain, a secret."""
    lower = name.lower()
    if lower.startswith(("kafka.sasl.", "kafka.ssl.", "schemaregistry.")):
        return lower not in _HARMLESS
    return "@" in value or any(word in lower for word in _WORDS)


_WORDS: Final = ("password", "secret", "token", "credential", "jaas", "accesskey", "accountkey")
_HARMLESS: Final = frozenset(
    (
        "kafka.sasl.mechanism",
        "kafka.ssl.truststore.type",
        "kafka.ssl.keystore.type",
        "kafka.ssl.endpoint.identification.algorithm",
        "kafka.ssl.enabled.protocols",
        "kafka.ssl.cipher.suites",
        "kafka.sasl.login.callback.handler.class",
        "kafka.sasl.login.connect.timeout.ms",
        "kafka.sasl.login.read.timeout.ms",
        "kafka.sasl.login.retry.backoff.ms",
        "kafka.sasl.login.retry.backoff.max.ms",
        "kafka.sasl.oauthbearer.header.urlencode",
        "schemaregistry.auto.register.schemas",
        "schemaregistry.request.timeout.ms",
        "schemaregistry.retries",
        "schemaregistry.use.latest.version",
    )
)
