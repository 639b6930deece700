"""Calls an async handler for many records at once, as far as order allows."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Literal, TypeAlias

from tapelog.toolkit.records import Record, Sends, as_sends
from tapelog.toolkit.runner import Outcome

Handler: TypeAlias = Callable[[Record], Awaitable[Sends]]
"""Gets a record, returns what is to be sent, when awaited."""

Order: TypeAlias = Literal["partition", "key"]
"""What is kept in order: the records of a partition, or only those of a partition that have the same key."""


def awaitable(result: Awaitable[Sends]) -> Awaitable[Sends]:
    """What a handler returned, if it can be awaited."""
    if not inspect.isawaitable(result):
        raise TypeError(
            f"the handler is not async, it returned {type(result).__name__}: write `async def`, or use the loop of the "
            "same name in tapelog.toolkit"
        )
    return result


class Lanes:
    """Runs lanes side by side and the records of a lane one after the other.

    The engine calls `run` in its own thread and waits; the handlers run in the event loop.
    """

    def __init__(
        self,
        handle: Handler,
        event_loop: asyncio.AbstractEventLoop,
        *,
        order: Order,
        concurrency: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._handle = handle
        self._event_loop = event_loop
        self._order = order
        self._slots = asyncio.Semaphore(concurrency)
        self._clock = clock
        self._tasks: set[asyncio.Task[list[Outcome]]] = set()

    def run(self, records: Sequence[Record], deadline: float, *, go_on: bool) -> list[Outcome]:
        work = self._run(records, deadline, go_on=go_on)
        return asyncio.run_coroutine_threadsafe(work, self._event_loop).result()

    def cancel(self) -> None:
        """Cancel the handlers under way; their records count as not attempted. Call it in the event loop."""
        for task in self._tasks:
            task.cancel()

    async def _run(self, records: Sequence[Record], deadline: float, *, go_on: bool) -> list[Outcome]:
        lanes: dict[Hashable, list[Record]] = {}
        for record in records:
            lanes.setdefault(self._lane_of(record), []).append(record)
        self._tasks = {asyncio.ensure_future(self._run_lane(lane, deadline, go_on=go_on)) for lane in lanes.values()}
        done = await asyncio.gather(*self._tasks)
        self._tasks = set()
        return [outcome for outcomes in done for outcome in outcomes]

    def _lane_of(self, record: Record) -> Hashable:
        if self._order == "partition":
            return record.place
        return (record.place, record.key) if record.key is not None else record.coordinates

    async def _run_lane(self, records: list[Record], deadline: float, *, go_on: bool) -> list[Outcome]:
        outcomes: list[Outcome] = []
        async with self._slots:
            for record in records:
                if outcomes and self._clock() >= deadline:
                    break
                try:
                    outcomes.append(Outcome(record, as_sends(await awaitable(self._handle(record)))))
                except asyncio.CancelledError:
                    break
                except Exception as error:
                    outcomes.append(Outcome(record, error=error))
                    if not go_on:
                        break
        return outcomes
