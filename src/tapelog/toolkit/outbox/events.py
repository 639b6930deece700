"""Events in a table, and what a relay needs from the database they are in."""

from __future__ import annotations

import json
import logging
import re
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from tapelog.toolkit.records import ID_HEADER, Record, Send, as_bytes, as_headers, with_headers

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """A row of the outbox."""

    seq: int
    name: str
    topic: str
    key: bytes | None
    value: bytes | None
    headers: str

    def send(self) -> Send:
        """The message, with its name in a header."""
        pairs = tuple(
            (name, None if text is None else text.encode("latin-1")) for name, text in json.loads(self.headers)
        )
        return Send(self.topic, self.value, self.key, with_headers(pairs, {ID_HEADER: self.name}))

    def record(self) -> Record:
        """What stands for it where a record is asked for."""
        return Record("outbox", 0, self.seq, self.key, self.value)


class Executes(Protocol):
    """A connection or cursor: sqlite3's, psycopg's, Django's."""

    def execute(self, query: Any, params: Any = ..., /) -> Any:
        """Run a statement with parameters."""


class AsyncExecutes(Protocol):
    """An async connection or cursor: psycopg's, aiosqlite's."""

    async def execute(self, query: Any, params: Any = ..., /) -> Any:
        """Run a statement with parameters."""


class Outbox(ABC):
    """A table of events. Order is that of `put`; an event whose transaction could see another's is behind it, provided
    that `put` comes after the rows it is about were changed."""

    insert: str

    def __init__(self, table: str = "outbox") -> None:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,50}", table):
            raise ValueError(f"{table!r} is not a name for a table")
        self.table = table

    def put(self, db: Executes, send: Send, *, name: str | None = None) -> str:
        """Write an event in the transaction that is open on this connection; its name, made up unless given."""
        row = _row(send, name)
        db.execute(self.insert, row)
        return str(row[0])

    async def aput(self, db: AsyncExecutes, send: Send, *, name: str | None = None) -> str:
        """The same on an async connection."""
        row = _row(send, name)
        await db.execute(self.insert, row)
        return str(row[0])

    @abstractmethod
    def create(self, db: Executes) -> None:
        """Create the table unless it exists; belongs into the application's migrations."""

    @abstractmethod
    def open(self) -> bool:
        """The relay's side: connect if necessary, and become the one relay. False when another is."""

    def ensure(self, db: Executes, *, exists: bool, where: str) -> None:
        """The relay's side: create the table when it is missing, and say so. The application usually creates it first,
        so this may be the wrong database."""
        if not exists:
            self.create(db)
            log.warning(
                "no table %s in %s: made it; is this the database that the application writes to?", self.table, where
            )

    @abstractmethod
    def pending(self, limit: int) -> list[Event]:
        """The first events, in order."""

    @abstractmethod
    def remove(self, events: list[Event]) -> None:
        """These are published."""

    @abstractmethod
    def park(self, event: Event, reason: str) -> None:
        """This one cannot be published: leave it out from now on."""

    @abstractmethod
    def close(self) -> None:
        """The relay ends: let another take over."""


def _row(send: Send, name: str | None) -> tuple[str, str, bytes | None, bytes | None, str]:
    pairs = [(key, None if value is None else value.decode("latin-1")) for key, value in as_headers(send.headers)]
    return name or str(uuid.uuid4()), send.topic, as_bytes(send.key), as_bytes(send.value), json.dumps(pairs)
