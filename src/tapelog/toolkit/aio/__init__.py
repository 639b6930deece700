"""The toolkit for async code: the same names, the same promises, handlers that are `async def`.

    from tapelog.toolkit import Record, Send
    from tapelog.toolkit.aio import exactly_once

    async def shout(record: Record) -> Send:
        return Send("shouts", (await translate(record.text())).upper(), key=record.key)

    await exactly_once("localhost:9092", group="shouter", topics="words", handle=shout).run()

The clients live in one thread of their own; handlers run in the event loop that called `run`, several at once as far as
order allows. (confluent-kafka's own asyncio classes send a thread for every call, cannot set headers on what they
produce, and call rebalance callbacks from other threads than the one that polls; one thread for the whole loop has
none of that.)
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from tapelog.toolkit.aio.loop import Loop, Options
from tapelog.toolkit.aio.loops import at_least_once, at_most_once, exactly_once
from tapelog.toolkit.aio.runner import Handler
from tapelog.toolkit.clients import Cluster
from tapelog.toolkit.redrive import Redriven
from tapelog.toolkit.redrive import redrive as _redrive

__all__ = ["Handler", "Loop", "Options", "at_least_once", "at_most_once", "exactly_once", "redrive"]


async def redrive(cluster: Cluster, topic: str, **options: Any) -> Redriven:
    """Dead letters, sent back, in a thread; see `tapelog.toolkit.redrive`."""
    return await asyncio.to_thread(partial(_redrive, cluster, topic, **options))
