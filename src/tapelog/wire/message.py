"""The base of every generated message, struct and record: equality, printing, and what all classes offer.

Generated modules (wire/messages, wire/records) import this; handlers use it where any message will do.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, NoReturn, TypeVar

from mypy_extensions import mypyc_attr

from tapelog.wire.reader import Reader
from tapelog.wire.values import UnsupportedVersionError, WireError
from tapelog.wire.writer import Writer

T = TypeVar("T")

EMPTY: Final[list[Any]] = []
"""Default of list arguments: replaced by a fresh list. Never changed, never stored."""

NOT_FLEXIBLE: Final = 32767
"""FLEXIBLE_FROM of a message that has no flexible version."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Message:
    """A value with named fields that can be written in any of its versions.

    Two messages are equal when they are of the same class and all fields are equal. Messages are plain mutable
    values without identity, so they cannot be hashed.
    """

    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 32767
    STABLE_MAX: ClassVar[int] = 32767
    FLEXIBLE_FROM: ClassVar[int] = NOT_FLEXIBLE
    FIELDS: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def decode(r: Reader, version: int) -> Message:
        """Read one from r, leaving r behind it. WireError if the bytes are not one."""
        raise NotImplementedError

    def encode(self, w: Writer, version: int) -> None:
        """Append to w. UnsupportedVersionError if a field that matters does not exist in that version."""
        raise NotImplementedError

    def tobytes(self, version: int) -> bytes:
        """The encoded message alone."""
        w = Writer()
        self.encode(w, version)
        return w.tobytes()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self).__name__}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)!r}' for name in self.FIELDS])})"


def bad_version(name: str, version: int) -> NoReturn:
    """Refuse a version that the message does not have."""
    raise UnsupportedVersionError(f"{name} has no version {version}")


def lost_field(name: str, version: int) -> NoReturn:
    """Refuse to leave out a field that is set and that the version lacks."""
    raise UnsupportedVersionError(f"{name} is set, and version {version} cannot say so")


def not_null(value: T | None, name: str) -> T:
    """The value, in a version where it may not be null."""
    if value is None:
        raise WireError(f"{name} is null")
    return value
