"""What a store of handled messages promises."""

from __future__ import annotations

import hashlib
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)

KEEP = "7d"
"""How long a mark is kept: longer than a message can come again."""
IDS_MAX = 1_000_000
"""How many marks are kept; the oldest go first."""
PURGE_EVERY = 1000
"""After so many marks the old ones are removed …"""
PURGE_ROWS_MAX = 2000
"""… so many at a time."""
NAME_CHARS_MAX = 400


class StoreMisused(RuntimeError):
    """The handler ended the transaction that it was given."""


class Store(Protocol[T_co]):
    """Remembers, durably, which messages of a scope (a consumer group, say) have been handled."""

    def once(self, scope: str, name: str) -> AbstractContextManager[T_co | None]:
        """A block that gets a transaction, or None when the message was handled already. Leaving it normally commits
        what was written together with the mark; an error rolls back both."""

    def has(self, scope: str, name: str) -> bool:
        """Whether it was handled."""

    def close(self) -> None:
        """The end."""


class AsyncStore(Protocol[T_co]):
    """The same for async handlers."""

    def once(self, scope: str, name: str) -> AbstractAsyncContextManager[T_co | None]:
        """As Store.once."""

    async def has(self, scope: str, name: str) -> bool:
        """Whether it was handled."""

    async def close(self) -> None:
        """The end."""


def short(name: str) -> str:
    """A name of bounded length."""
    return name if len(name) <= NAME_CHARS_MAX else "sha256:" + hashlib.sha256(name.encode()).hexdigest()
