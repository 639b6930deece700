"""A loop whose handlers run in an event loop, while its clients live in a thread of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import cast, get_args

from tapelog.toolkit import loop as sync
from tapelog.toolkit.aio.runner import Handler, Lanes, Order
from tapelog.toolkit.engine import Stats
from tapelog.toolkit.signals import Stop

CONCURRENCY = 100


class Options(sync.Options, total=False):
    """What every async loop can be told, by keyword."""

    order: Order
    """What stays in order: "partition" unless told otherwise; "key" lets the keys of a partition run side by side."""
    concurrency: int
    """How many handlers run at once at most."""


def without_own(options: Options) -> sync.Options:
    """The options that sync loops have too; the others are checked here."""
    if options.get("order", "partition") not in get_args(Order):
        raise ValueError(f"order={options['order']!r}: one of {', '.join(get_args(Order))}")
    if options.get("concurrency", 1) < 1:
        raise ValueError("concurrency: one handler at least must be able to run")
    shared = {name: value for name, value in options.items() if name not in ("order", "concurrency")}
    return cast(sync.Options, shared)


class Loop:
    """A loop that awaits a handler for each record.

    `await run()` ends after `stop()`, or when its task is cancelled: then handlers under way are finished and committed
    before the cancellation goes on; cancelled a second time, they are cancelled too, and their records come again. As
    an async context manager it runs beside the block:

    >>> from tapelog.toolkit.aio import at_least_once
    >>> async def main():
    ...     async with at_least_once("localhost:9092", group="mail", topics="orders", handle=send_mail):
    ...         await serve_http()
    """

    def __init__(self, plan: sync.Plan, handle: Handler, order: Order, concurrency: int) -> None:
        self.plan = plan
        self._handle, self._order, self._concurrency = handle, order, concurrency
        self.event_loop: asyncio.AbstractEventLoop | None = None
        self._stop = Stop()
        self._running: sync.Running | None = None
        self._task: asyncio.Task[Stats] | None = None

    @property
    def stats(self) -> Stats:
        """What the current run, or the last one, has done."""
        return self._running.engine.stats if self._running is not None else Stats()

    async def run(self, *, to_end: bool = False) -> Stats:
        """Work until stopped, or until everything has been read (`to_end`)."""
        self._stop.clear()
        event_loop = self.event_loop = asyncio.get_running_loop()
        lanes = Lanes(self._handle, event_loop, order=self._order, concurrency=self._concurrency)
        self._running = sync.Running(self.plan, lanes, self._stop, to_end=to_end)
        ended = _in_thread(self._running.run, event_loop, f"loop-{self.plan.group}")
        cancelled: asyncio.CancelledError | None = None
        while not ended.done():
            try:
                await asyncio.wait([ended])
            except asyncio.CancelledError as error:
                if cancelled is not None:
                    lanes.cancel()
                cancelled = error
                self.stop()
        if cancelled is not None and ended.exception() is None:
            raise cancelled
        return ended.result()

    def stop(self) -> None:
        """Ask it to end; returns at once. Any thread may call it."""
        self._stop.set()

    async def __aenter__(self) -> Loop:
        assert self._task is None, "this loop runs already"
        self._task = asyncio.create_task(self.run())
        return self

    @property
    def alive(self) -> bool:
        """Whether it runs beside the block; it does not any more after an error, which leaving the block raises."""
        return self._task is not None and not self._task.done()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        assert task is not None
        self.stop()
        try:
            await task
        except Exception:
            if error is None:
                raise


def _in_thread(work: Callable[[], Stats], event_loop: asyncio.AbstractEventLoop, name: str) -> asyncio.Future[Stats]:
    """Run it in a thread of its own; the future tells how it ended."""
    ended: asyncio.Future[Stats] = event_loop.create_future()

    def tell(stats: Stats | None, error: BaseException | None) -> None:
        if not ended.done():
            if error is not None:
                ended.set_exception(error)
            elif stats is not None:
                ended.set_result(stats)

    def main() -> None:
        stats, trouble = None, None
        try:
            stats = work()
        except BaseException as error:
            trouble = error
        event_loop.call_soon_threadsafe(tell, stats, trouble)

    threading.Thread(target=main, name=name, daemon=True).start()
    return ended
