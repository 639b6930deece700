"""Dead letters, sent back for a fresh start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tapelog.toolkit.clients import Cluster
from tapelog.toolkit.letters import ORIGINAL_TOPIC, afresh
from tapelog.toolkit.loops import at_least_once, exactly_once
from tapelog.toolkit.records import Record, Send
from tapelog.toolkit.watch import PATIENCE_S


@dataclass(frozen=True, slots=True)
class Redriven:
    """What became of the letters that were looked at."""

    sent: int
    passed_over: int


class _Enough(Exception):
    """As many as were asked for."""


def redrive(
    cluster: Cluster,
    topic: str,
    *,
    to: str | None = None,
    where: Callable[[Record], bool] | None = None,
    limit: int | None = None,
    group: str | None = None,
    delivery: Literal["exactly_once", "at_least_once"] = "exactly_once",
    patience_seconds: float = PATIENCE_S,
) -> Redriven:
    """Send the dead letters of a topic back to where they came from, and return when the topic has been read.

    Each goes to its `original-topic`, or to `to`, with its key, value and headers, without the headers that tell of the
    failure. Letters for which `where` is false, and letters that do not know where they came from, stay. Its progress
    is that of a consumer group (`group`): a second call goes on where the first ended; another group sees all again.
    NoBroker or NoTopic after `patience_seconds`.

    >>> from tapelog.toolkit import redrive
    >>> redrive("localhost:9092", "orders.dead", limit=10)  # doctest: +SKIP
    Redriven(sent=10, passed_over=0)
    """
    taken: set[str] = set()

    def back(record: Record) -> Send | None:
        target = to or record.header_text(ORIGINAL_TOPIC)
        if target is None or (where is not None and not where(record)):
            return None
        if limit is not None and record.coordinates not in taken:
            if len(taken) >= limit:
                raise _Enough
            taken.add(record.coordinates)
        return Send(target, record.value, record.key, afresh(record))

    if delivery not in ("exactly_once", "at_least_once"):
        raise ValueError(f'delivery={delivery!r}: "exactly_once" or "at_least_once"')
    make = exactly_once if delivery == "exactly_once" else at_least_once
    name = group or f"{topic}.redrive"
    loop = make(cluster, group=name, topics=topic, handle=back, patience_seconds=patience_seconds)
    try:
        loop.run(to_end=True)
    except _Enough:
        pass
    return Redriven(loop.stats.sent, loop.stats.handled - loop.stats.sent)
