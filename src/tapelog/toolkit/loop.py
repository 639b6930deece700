"""A loop that can be run, stopped, and left to run in the background.

The functions in `loops` make these. A loop owns one thread while it runs, and its clients live in that thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, TypedDict, cast

from confluent_kafka import Consumer
from confluent_kafka.admin import ClusterMetadata

from tapelog.toolkit.beginnings import Beginnings
from tapelog.toolkit.clients import Cluster, address_of, consumer_config, is_incremental
from tapelog.toolkit.delivery import Delivery
from tapelog.toolkit.engine import Bounds, Engine, Stats
from tapelog.toolkit.failures import OnError
from tapelog.toolkit.gate import Gate, OpenGate
from tapelog.toolkit.inbox import Inbox
from tapelog.toolkit.records import Place, Record
from tapelog.toolkit.runner import Runner
from tapelog.toolkit.signals import Stop, StopOnSignal
from tapelog.toolkit.sink import Interrupted, Waits
from tapelog.toolkit.source import POLL_S_MAX, Source
from tapelog.toolkit.topics import ensure_topics
from tapelog.toolkit.watch import PATIENCE_S, Watch

log = logging.getLogger(__name__)

GRACE_S = 10.0
"""How long a loop that is to stop waits for what it has sent to be stored and committed."""


Start: TypeAlias = Literal["earliest", "latest", "error"]


class Options(TypedDict, total=False):
    """What every loop can be told, by keyword."""

    batch_records: int
    """A batch ends with this many records …"""
    batch_seconds: float
    """… or when its first record is this old. Also how long results wait at most before they are committed."""
    start: Start
    """Where a group begins that has no offsets yet; "earliest" unless told otherwise."""
    on_error: OnError
    """What becomes of a record whose handler raises; `StopOnError()` unless told otherwise."""
    consumer: Mapping[str, Any]
    """More settings for the consumer, by librdkafka's names: `{"group.protocol": "consumer"}`."""
    producer: Mapping[str, Any]
    """More settings for the producer: `{"compression.type": "lz4"}`."""
    create_topics: bool
    """Whether retry and dead-letter topics that are missing are created; they are unless told otherwise."""
    grace_seconds: float
    """How long a loop that is to stop waits for what it has sent to be stored and committed. When no broker answers at
    all, it does not wait."""
    patience_seconds: float
    """How long `run(to_end=True)` waits for a broker that does not answer, before it raises NoBroker, or for a topic
    that does not exist, before it raises NoTopic. `run()` waits for ever; it logs what is missing after this time, or
    after 8 s if that is less."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a loop needs to know, as a value: `loops` makes it, Loop and aio.Loop carry it out."""

    cluster: Cluster
    group: str
    topics: tuple[str, ...]
    on_error: OnError
    bounds: Bounds
    deliver: Callable[[Waits], Delivery]
    start: str = "earliest"
    consumer: Mapping[str, Any] = field(default_factory=dict)
    create_topics: bool = True
    gate: Callable[[], Gate] = OpenGate
    more_policies: tuple[OnError, ...] = ()
    grace_s: float = GRACE_S
    patience_s: float = PATIENCE_S

    def reads(self) -> list[str]:
        """The topics to read, those of the policies included."""
        more = [topic for policy in (self.on_error, *self.more_policies) for topic in policy.reads(self.topics)]
        return list(dict.fromkeys([*self.topics, *more]))

    def wait_s(self, record: Record) -> float:
        """How long a record has to wait, if a policy says so."""
        return max(policy.wait_s(record) for policy in (self.on_error, *self.more_policies))

    def ensure_topics(self) -> None:
        """Create the topics that the policies send to, unless that is not wanted."""
        if self.create_topics:
            for policy in (self.on_error, *self.more_policies):
                ensure_topics(self.cluster, policy.writes(self.topics))


class Running:
    """One run of a plan, in the thread that calls it."""

    def __init__(self, plan: Plan, runner: Runner, stop: Stop, *, to_end: bool) -> None:
        self._plan, self._stop, self._to_end = plan, stop, to_end
        self._config = config = consumer_config(plan.cluster, plan.group, plan.consumer, eof=to_end)
        self._consumer = Consumer(config)
        self._spare: Consumer | None = None
        """Asks while the consumer is busy."""
        self._watch = Watch(
            self._ask, address_of(config), plan.topics, patience_s=plan.patience_s, raises=to_end, clock=time.monotonic
        )
        waits = Waits(self._is_to_stop, self._watch.answers, self._pause, plan.grace_s)
        delivery = plan.deliver(waits)
        self.engine = Engine(delivery, runner, plan.on_error, plan.bounds, plan.gate(), pause=self._pause)
        beginnings = Beginnings(self._consumer, plan.start, time.monotonic, incremental=is_incremental(config))
        self._source = Source(
            self._consumer, plan.reads(), Inbox(plan.wait_s), self, time.monotonic, beginnings, self._watch, waits
        )

    def run(self) -> Stats:
        """Until it is to stop, or an error."""
        try:
            if self._is_reached():
                self._plan.ensure_topics()
            self.engine.run(self._source, self._is_to_stop, to_end=self._to_end)
        except Interrupted as error:
            then = "may be lost" if self.engine.delivery.commits_first else "comes again"
            log.warning("stopped before the broker answered; what was not committed %s: %s", then, error)
        finally:
            self._source.close()
            if self._spare is not None:
                self._spare.close()
        return self.engine.stats

    def _is_reached(self) -> bool:
        """Wait until the cluster has answered once; false when it is to stop before that."""
        while not self._is_to_stop():
            if self._watch.answered:
                return True
            self._consumer.poll(POLL_S_MAX)  # nothing is subscribed to: this only serves callbacks, such as oauth_cb
        return False

    def _is_to_stop(self) -> bool:
        """Asked at every turn and during every wait: this is where the cluster is watched."""
        if self._stop.is_set():
            return True
        self._watch.look()
        return False

    def _pause(self, seconds: float) -> None:
        """Wait that long, or until it is to stop; when it is already, a moment at most."""
        if self._stop.is_set():
            time.sleep(min(seconds, POLL_S_MAX))
        else:
            self._stop.wait(seconds)

    def _ask(self, topic: str | None, seconds: float) -> ClusterMetadata:
        consumer = self._consumer
        if self._source.busy:
            consumer = self._spare = self._spare or Consumer(self._config)  # it joins nothing
            consumer.poll(0)
        named = {} if topic is None else {"topic": topic}
        return cast(ClusterMetadata, consumer.list_topics(**named, timeout=seconds))

    def revoking(self, places: set[Place]) -> None:
        self.engine.leaving(self._source, places, lost=False)

    def lost(self, places: set[Place]) -> None:
        self.engine.leaving(self._source, places, lost=True)


class Loop:
    """A loop that calls a handler for each record.

    `run()` blocks until `stop()` is called, from another thread or by SIGTERM or Ctrl-C; `run(to_end=True)` also ends
    when everything has been read. As a context manager it runs in a thread of its own:

    >>> from tapelog.toolkit import at_least_once
    >>> with at_least_once("localhost:9092", group="mail", topics=["orders"], handle=print):  # doctest: +SKIP
    ...     serve_http()
    """

    def __init__(self, plan: Plan, runner: Runner) -> None:
        self.plan = plan
        self._runner = runner
        self._stop = Stop()
        self._running: Running | None = None
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def stats(self) -> Stats:
        """What the current run, or the last one, has done."""
        return self._running.engine.stats if self._running is not None else Stats()

    def run(self, *, to_end: bool = False, signals: bool = True) -> Stats:
        """Work until stopped. The batch under way is finished and committed, then the group is left.

        signals: SIGTERM and SIGINT stop it (the second one at once), when this is the main thread.
        """
        self._stop.clear()
        with StopOnSignal(self.stop) if signals else nullcontext():
            return self._run(to_end)

    def _run(self, to_end: bool) -> Stats:
        self._running = Running(self.plan, self._runner, self._stop, to_end=to_end)
        return self._running.run()

    def stop(self) -> None:
        """Ask it to end; returns at once."""
        self._stop.set()

    def __enter__(self) -> Self:
        assert self._thread is None, "this loop runs already"
        self._stop.clear()
        self._error = None
        self._thread = threading.Thread(target=self._in_thread, name=f"loop-{self.plan.group}", daemon=True)
        self._thread.start()
        return self

    def _in_thread(self) -> None:
        try:
            self._run(False)
        except BaseException as error:
            log.error("the loop of group %s ended", self.plan.group, exc_info=error)
            self._error = error

    @property
    def alive(self) -> bool:
        """Whether it runs in the background; it does not any more after an error, which leaving the block raises."""
        return self._thread is not None and self._thread.is_alive()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        assert self._thread is not None
        self._thread.join()
        self._thread = None
        if self._error is not None and error is None:
            raise self._error
