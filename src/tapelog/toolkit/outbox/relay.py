"""The relay: takes events from an outbox, in order, publishes them, and removes what the broker has stored."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from itertools import takewhile
from types import TracebackType
from typing import Any, Literal, Self

from tapelog.toolkit.clients import Cluster, address_of, producer_config
from tapelog.toolkit.loop import GRACE_S
from tapelog.toolkit.outbox.events import Outbox
from tapelog.toolkit.signals import Stop, StopOnSignal
from tapelog.toolkit.sink import Interrupted, SendFailed, Sink, Waits
from tapelog.toolkit.watch import PATIENCE_S, Watch

log = logging.getLogger(__name__)

BATCH_RECORDS = 500
POLL_SECONDS = 0.2


class Relay:
    """Publishes the events of an outbox, at least once, in order, until stopped.

    on_refused: what to do with an event that the broker refuses (too large, no such topic, not allowed): "stop" ends
    the relay with SendFailed, "park" leaves it in the table, marked with the reason, and goes on.

    patience_seconds: how long `run(until_empty=True)` waits for a broker that does not answer, before it raises
    NoBroker. `run()` waits for ever; it logs that no broker answers after this time, or after 8 s if that is less.

    As a context manager it runs in a thread of its own.
    """

    def __init__(
        self,
        outbox: Outbox,
        cluster: Cluster,
        *,
        batch_records: int = BATCH_RECORDS,
        poll_seconds: float = POLL_SECONDS,
        on_refused: Literal["stop", "park"] = "stop",
        producer: Mapping[str, Any] | None = None,
        patience_seconds: float = PATIENCE_S,
    ) -> None:
        if on_refused not in ("stop", "park"):
            raise ValueError(f'on_refused={on_refused!r}: "stop" or "park"')
        self.published = 0
        self._outbox = outbox
        self._config = {**producer_config(cluster, producer), "message.timeout.ms": 0}  # a late event is still an event
        self._batch_records, self._poll_seconds, self._on_refused = batch_records, poll_seconds, on_refused
        self._patience_s = patience_seconds
        self._stop = Stop()
        self._one_by_one = 0
        self._topic = ""
        self._stored: set[int] = set()
        """Events of the current batch that the broker has stored."""
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def run(self, *, until_empty: bool = False) -> int:
        """Publish until stopped, or until nothing is left (`until_empty`); how many were published.

        SIGTERM and SIGINT stop it (the second one at once), when this is the main thread.
        """
        with StopOnSignal(self.stop):
            return self._run(until_empty)

    def _run(self, until_empty: bool) -> int:
        sink: Sink
        watch = Watch(
            lambda _, seconds: sink.ask(self._topic, seconds),
            address_of(self._config),
            (),
            patience_s=self._patience_s,
            raises=until_empty,
        )

        def stopping() -> bool:
            if not self._stop.is_set():
                watch.look()  # it is asked only while the broker's answers are waited for
            return self._stop.is_set()

        waits = Waits(stopping, watch.answers, self._stop.wait, GRACE_S)
        sink = Sink(self._config, waits, on_stored=lambda record: self._stored.add(record.offset))
        before = self.published
        try:
            while not self._stop.is_set():
                if not self._outbox.open():
                    log.debug("another relay works on this outbox")
                elif self._publish(sink, watch):
                    continue
                elif until_empty:
                    break
                self._stop.wait(self._poll_seconds)
        except Interrupted as error:
            log.warning("stopped before the broker answered; events that were not published stay: %s", error)
        finally:
            self._outbox.close()
            sink.discard()
        return self.published - before

    def _publish(self, sink: Sink, watch: Watch) -> int:
        """One batch: how many events were taken."""
        limit = 1 if self._one_by_one else self._batch_records
        events = {event.seq: event for event in self._outbox.pending(limit)}
        if not events:
            return 0
        refused: dict[int, Exception] = {}
        self._stored.clear()
        for event in events.values():
            self._topic = event.topic
            try:
                sink.send(event.record(), [event.send()])
            except (SendFailed, ValueError, TypeError) as failure:  # the latter: a row that is no message
                refused[event.seq] = failure
        sink.flush()
        watch.heard()
        refused |= {record.offset: reason for record, reason in sink.failures.take()}
        # An event that is neither stored nor refused is sent again, and all behind it, too: that keeps their order.
        rest = (event for seq, event in events.items() if seq not in refused)
        done = list(takewhile(lambda event: event.seq in self._stored, rest))
        if done:
            self._outbox.remove(done)
            self.published += len(done)
        elif not refused:
            return 1
        self._one_by_one = max(0, self._one_by_one - 1)
        if refused and len(events) > 1:
            self._one_by_one = len(refused)  # they were refused together; who is it?
        else:
            for seq, reason in refused.items():
                if self._on_refused == "stop":
                    raise reason
                log.error("event %s is parked: %s", events[seq].name, reason)
                self._outbox.park(events[seq], str(reason))
        return len(events)

    def stop(self) -> None:
        """Ask it to end; returns at once."""
        self._stop.set()

    async def arun(self, *, until_empty: bool = False) -> int:
        """`run` for async code: in a thread; a cancelled task stops it in order."""
        work = asyncio.create_task(asyncio.to_thread(self.run, until_empty=until_empty))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self.stop()
            await work
            raise

    def __enter__(self) -> Self:
        assert self._thread is None, "this relay runs already"
        self._stop.clear()
        self._thread = threading.Thread(target=self._in_thread, name="outbox-relay", daemon=True)
        self._thread.start()
        return self

    def _in_thread(self) -> None:
        try:
            self.run()
        except BaseException as error:
            log.error("the relay ended", exc_info=error)
            self._error = error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        assert self._thread is not None
        self._thread.join()
        self._thread = None
        if self._error is not None and error is None:
            raise self._error
