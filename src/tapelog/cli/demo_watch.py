"""What the demo keeps an eye on: the cluster, its own broker, the pipeline, and what the pipeline waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException
from rich.console import RenderableType
from rich.text import Text

from tapelog.cli import demo_report
from tapelog.cli.connect import Connection
from tapelog.cli.demo_pipeline import Pipeline
from tapelog.cli.demo_setup import Setup
from tapelog.cli.demo_stats import Observer, Snapshot
from tapelog.cli.output import CliError
from tapelog.testing.broker import Broker

SNAPSHOT_S = 1.0
LAST_WORDS = 2000


class Watch(threading.Thread):
    """Takes a snapshot about once a second; `latest` is the newest, `trouble` why there is no newer one."""

    def __init__(
        self, connection: Connection, broker: Broker | None, stop: threading.Event, seconds: float | None = None
    ) -> None:
        super().__init__(name="watch", daemon=True)
        self.pipeline: Pipeline | None = None
        self._begin: Callable[[], Pipeline] | None = None
        self._setup: Setup | None = None
        self._without = ""
        """Why there is no pipeline after all."""
        self._seconds = seconds
        self._counted_from: float | None = None
        self.latest = Snapshot()
        self.trouble = ""
        self.fatal = ""
        self.own = broker is not None
        self._broker = broker
        self._stop_event = stop
        self._observer = Observer(connection, broker.pid if broker is not None else None)

    def run(self) -> None:
        """Until the demo ends, or the broker does."""
        while not self._stop_event.is_set():
            begun = time.monotonic()
            try:
                self.latest = self._observer.snapshot()
                self.trouble = ""
            except CliError as error:
                self.trouble = error.message
            except KafkaException as error:
                self.trouble = error.args[0].str()
            self._stop_event.wait(max(0.1, SNAPSHOT_S - (time.monotonic() - begun)))
        self._observer.close()

    def begin_pipeline(self, begin: Callable[[], Pipeline], setup: Setup | None) -> None:
        """Start the pipeline: now, or as soon as `check` sees that what it waits for has succeeded."""
        self._begin, self._setup = begin, setup
        if setup is None:
            self.pipeline = begin()

    def check(self) -> bool:
        """Whether the demo is to end: its time is over, or its broker or pipeline has ended."""
        if self._setup is not None and self._begin is not None and self._setup.succeeded():
            begin, self._begin = self._begin, None
            try:
                self.pipeline = begin()
            except CliError as error:
                self._without = f"no pipeline: {error.message}"
        if self._broker is not None and not self._broker.running and not self._stop_event.is_set():
            self.fatal = f"the broker has ended\n{self._broker.log()[-LAST_WORDS:].strip()}".strip()
        elif self.pipeline is not None and (failure := self.pipeline.failure()):
            self.fatal = failure
        return bool(self.fatal) or self._is_over()

    def _is_over(self) -> bool:
        """Whether the time asked for has passed; where there is a pipeline, it counts from its first batch."""
        if self._counted_from is None and not self._waits():
            self._counted_from = time.monotonic()
        counted = self._counted_from
        return self._seconds is not None and counted is not None and time.monotonic() - counted >= self._seconds

    def _waits(self) -> bool:
        """Whether the pipeline is still to do its first batch."""
        if self.pipeline is not None:
            return not self.pipeline.ready()
        return self._setup is not None and self._setup.running()

    def pipeline_line(self) -> str:
        """The pipeline in one line, or what it waits for; nothing where none was asked for."""
        if self.pipeline is None:
            return self._without or (self._setup.line() if self._setup is not None else "")
        state, _ = _state(self.pipeline)
        return demo_report.line(state, self.pipeline.ledger, self.pipeline.starting_s())

    def pipeline_parts(self) -> list[RenderableType]:
        """The pipeline's part of the live view."""
        if self.pipeline is None:
            line = self.pipeline_line()
            return [Text(line, style="bold", no_wrap=True, overflow="ellipsis"), Text()] if line else []
        return demo_report.live(*_state(self.pipeline), self.pipeline.ledger, self.pipeline.starting_s())


def _state(pipeline: Pipeline) -> tuple[str, dict[str, dict[str, Any]]]:
    run = pipeline.run()
    return (run.state, run.queries) if run is not None else ("starting", {})
