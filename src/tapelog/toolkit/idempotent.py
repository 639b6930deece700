"""IdempotentConsumer: the effect of each message once, in a database, whatever comes twice.

    from tapelog.toolkit import IdempotentConsumer, Record, SQLiteStore

    def charge(record: Record, db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO payments VALUES (?)", (record.text(),))

    IdempotentConsumer(
        "localhost:9092", group="billing", topics="orders", store=SQLiteStore("billing.db"), handle=charge
    ).run()

It is an `at_least_once` loop whose handler runs inside `store.once`. To send something as a consequence, write it to an
Outbox in the same transaction: a message sent after the commit could be lost by a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, TypeVar, Unpack

from tapelog.toolkit.aio import loop as aio
from tapelog.toolkit.causal import CausalOrder
from tapelog.toolkit.checks import check_async_handler, check_handler
from tapelog.toolkit.clients import Cluster
from tapelog.toolkit.letters import identity
from tapelog.toolkit.loop import Loop, Options
from tapelog.toolkit.loops import at_least_once_plan
from tapelog.toolkit.records import Record, Send
from tapelog.toolkit.runner import InOrder
from tapelog.toolkit.stores.ports import AsyncStore, Store

T = TypeVar("T")


def sent_nowhere(result: object) -> None:
    """Refuse a message that would be dropped without a word."""
    if isinstance(result, Send):
        raise TypeError("a handler of an IdempotentConsumer returns no Send: put it into an Outbox in its transaction")


class IdempotentConsumer(Loop, Generic[T]):
    """A loop that handles each message once, by its identity.

    handle: gets the record and the store's open transaction.
    identify: what a message is called; its `message-id` header, or else the coordinates of its first reading.
    scope: whose marks these are; the group's, unless several groups share the work.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        group: str,
        topics: str | Sequence[str],
        store: Store[T],
        handle: Callable[[Record, T], None],
        identify: Callable[[Record], str] = identity,
        scope: str | None = None,
        causal: CausalOrder | None = None,
        **options: Unpack[Options],
    ) -> None:
        self.duplicates = 0
        check_handler(handle)
        self._store, self._handle, self._identify, self._scope = store, handle, identify, scope or group
        plan = at_least_once_plan(cluster, group, topics, options, causal, partial(store.has, self._scope))
        super().__init__(plan, InOrder(self._once))

    def _once(self, record: Record) -> None:
        with self._store.once(self._scope, self._identify(record)) as transaction:
            if transaction is None:
                self.duplicates += 1
            else:
                sent_nowhere(self._handle(record, transaction))


class AsyncIdempotentConsumer(aio.Loop, Generic[T]):
    """The same for async handlers and async stores."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        group: str,
        topics: str | Sequence[str],
        store: AsyncStore[T],
        handle: Callable[[Record, T], Awaitable[None]],
        identify: Callable[[Record], str] = identity,
        scope: str | None = None,
        causal: CausalOrder | None = None,
        **options: Unpack[aio.Options],
    ) -> None:
        self.duplicates = 0
        check_async_handler(handle)
        self._store, self._work, self._identify, self._scope = store, handle, identify, scope or group
        plan = at_least_once_plan(cluster, group, topics, aio.without_own(options), causal, self._known)
        super().__init__(
            plan, self._once, options.get("order", "partition"), options.get("concurrency", aio.CONCURRENCY)
        )

    async def _once(self, record: Record) -> None:
        async with self._store.once(self._scope, self._identify(record)) as transaction:
            if transaction is None:
                self.duplicates += 1
            else:
                sent_nowhere(await self._work(record, transaction))  # type: ignore[func-returns-value]

    def _known(self, name: str) -> bool:
        """Asked by the engine, in its own thread."""
        assert self.event_loop is not None
        return asyncio.run_coroutine_threadsafe(self._store.has(self._scope, name), self.event_loop).result()
