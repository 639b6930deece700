"""`${env:NAME}`, `${env:NAME:-else}` and `${file:PATH}` in values: resolved when a run begins, never written down."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from tapelog.spark.pipeline.problems import DocumentError, Problem
from tapelog.spark.plan.given import may_hide

_REFERENCE: Final = re.compile(r"\$\{(env|file):([^}]*)\}")
DOTS: Final = "••••"


class References:
    """Resolves references; DocumentError names what is missing and the option that wants it."""

    def __init__(self, file: str, env: Mapping[str, str], read: Callable[[str], str]) -> None:
        self._file, self._env, self._read = file, env, read

    def text(self, value: str, what: str) -> str:
        """The value with everything it refers to."""
        return _REFERENCE.sub(lambda match: self._one(match, what), value)

    def options(self, options: Mapping[str, str]) -> dict[str, str]:
        """The same for every value."""
        return {name: self.text(value, name) for name, value in options.items()}

    def _one(self, match: re.Match[str], what: str) -> str:
        kind, name = match.groups()
        if kind == "env":
            name, has_default, default = name.partition(":-")
            if name in self._env:
                return self._env[name]
            if has_default:
                return default
            problem = (
                f"{what} wants the environment variable {name}, which is not set: set it, or write ${{env:{name}:-…}}"
            )
            raise DocumentError(self._file, [Problem(0, problem)])
        try:
            return self._read(name).strip()
        except OSError as error:
            problem = f"{what} wants the file {name}: {error.strerror}"
            raise DocumentError(self._file, [Problem(0, problem)]) from None


def is_open(value: str) -> bool:
    """Whether it refers to something."""
    return _REFERENCE.search(value) is not None


def shown(options: Mapping[str, str]) -> dict[str, str]:
    """Options for people to read: secrets as dots, references as they are written."""
    return {name: DOTS if hides(name, value) else value for name, value in options.items()}


def hides(name: str, value: str) -> bool:
    """Whether this value must not be shown."""
    bare = _REFERENCE.sub("", value)
    lower = name.lower()
    secret = may_hide(name, bare) or (any(word in lower for word in ("auth", "key", "dsn")) and lower not in _PLAIN)
    return bool(bare.strip()) and secret


_PLAIN: Final = ("key", "keyformat", "keyschema", "keysubject", "keymessage", "keys")
