"""A store in Redis (`pip install tapelog[redis]`): quick, and as durable as that Redis is configured to be."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from tapelog.toolkit.durations import seconds
from tapelog.toolkit.stores.ports import IDS_MAX, KEEP, PURGE_EVERY, PURGE_ROWS_MAX, short

log = logging.getLogger(__name__)


class _Names:
    """Keys of one scope; the braces keep them on one node of a Redis cluster."""

    def __init__(self, prefix: str, keep: str | float, max_ids: int) -> None:
        self.prefix, self.keep_ms, self.max_ids = prefix, int(seconds(keep) * 1000), max_ids
        self.marks = 0

    def key(self, scope: str, name: str) -> str:
        """Where a message is marked."""
        return f"{self.prefix}{{{scope}}}:{short(name)}"

    def index(self, scope: str) -> str:
        """Where the marks are listed by age."""
        return f"{self.prefix}{{{scope}}}#index"

    def mark(self, pipe: Any, scope: str, name: str) -> None:
        """Put the mark behind what the handler has queued."""
        now_ms = int(time.time() * 1000)
        pipe.set(self.key(scope, name), now_ms, px=self.keep_ms)
        pipe.zadd(self.index(scope), {self.key(scope, name): now_ms})
        pipe.zremrangebyscore(self.index(scope), 0, now_ms - self.keep_ms)

    def is_time_to_trim(self) -> bool:
        """Now and then."""
        self.marks += 1
        return self.marks % min(PURGE_EVERY, max(1, self.max_ids // 10)) == 0


class RedisStore:
    """Handled messages in Redis. `client` is a `redis.Redis`.

    The handler gets a pipeline in MULTI: the commands it queues are executed with the mark, in one transaction,
    when it has returned. It cannot read in there; it can before, through a client of its own. When two processes handle
    one message at the same time, only one of the two pipelines is executed.
    """

    def __init__(self, client: Any, *, keep: str | float = KEEP, max_ids: int = IDS_MAX, prefix: str = "handled:"):
        self._client = client
        self._names = _Names(prefix, keep, max_ids)

    @contextmanager
    def once(self, scope: str, name: str) -> Iterator[Any]:
        from redis.exceptions import WatchError

        key = self._names.key(scope, name)
        with self._client.pipeline() as pipe:
            pipe.watch(key)
            if pipe.exists(key):
                yield None
                return
            pipe.multi()
            yield pipe
            self._names.mark(pipe, scope, name)
            try:
                pipe.execute()
            except WatchError:
                log.info("%s was handled by another process at the same time", name)
        if self._names.is_time_to_trim():
            self._trim(scope)

    def _trim(self, scope: str) -> None:
        index = self._names.index(scope)
        excess = int(self._client.zcard(index)) - self._names.max_ids
        for key, _ in self._client.zpopmin(index, min(excess, PURGE_ROWS_MAX)) if excess > 0 else ():
            self._client.delete(key)

    def has(self, scope: str, name: str) -> bool:
        return bool(self._client.exists(self._names.key(scope, name)))

    def close(self) -> None:
        self._client.close()


class AsyncRedisStore:
    """The same for async handlers. `client` is a `redis.asyncio.Redis`."""

    def __init__(self, client: Any, *, keep: str | float = KEEP, max_ids: int = IDS_MAX, prefix: str = "handled:"):
        self._client = client
        self._names = _Names(prefix, keep, max_ids)

    @asynccontextmanager
    async def once(self, scope: str, name: str) -> AsyncIterator[Any]:
        from redis.exceptions import WatchError

        key = self._names.key(scope, name)
        async with self._client.pipeline() as pipe:
            await pipe.watch(key)
            if await pipe.exists(key):
                yield None
                return
            pipe.multi()
            yield pipe
            self._names.mark(pipe, scope, name)
            try:
                await pipe.execute()
            except WatchError:
                log.info("%s was handled by another process at the same time", name)
        if self._names.is_time_to_trim():
            await self._trim(scope)

    async def _trim(self, scope: str) -> None:
        index = self._names.index(scope)
        excess = int(await self._client.zcard(index)) - self._names.max_ids
        for key, _ in await self._client.zpopmin(index, min(excess, PURGE_ROWS_MAX)) if excess > 0 else ():
            await self._client.delete(key)

    async def has(self, scope: str, name: str) -> bool:
        return bool(await self._client.exists(self._names.key(scope, name)))

    async def close(self) -> None:
        await self._client.aclose()
