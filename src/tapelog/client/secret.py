"""A value that nobody sees by accident: it prints as dots, compares and hashes like its content, and can be pickled.

Passwords, private keys and tokens are held in this from the moment they are read; the machines that need the content
say so with `text()` or `data()`.
"""

from __future__ import annotations

DOTS = "••••••"


class Secret:
    """Text or bytes that print as dots. Pickled, it carries its content: executors need it."""

    __slots__ = ("_data",)

    def __init__(self, value: str | bytes) -> None:
        self._data = value.encode() if isinstance(value, str) else value

    def text(self) -> str:
        """The content as text."""
        return self._data.decode()

    def data(self) -> bytes:
        """The content as bytes."""
        return self._data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._data == other._data

    def __hash__(self) -> int:
        return hash(self._data)

    def __bool__(self) -> bool:
        return bool(self._data)

    def __repr__(self) -> str:
        return DOTS

    def __format__(self, spec: str) -> str:
        return format(DOTS, spec)

    def __reduce__(self) -> tuple[type[Secret], tuple[bytes]]:
        return Secret, (self._data,)
