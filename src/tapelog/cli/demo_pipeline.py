"""The Spark side of the demo: `tape pipeline run` as a child, a reader of what it makes, and the report at the end."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic

from tapelog.cli import demo_shop
from tapelog.cli.connect import Connection
from tapelog.cli.demo_ledger import Books, Ledger
from tapelog.cli.demo_picture import picture
from tapelog.cli.output import EXIT_FAILED, CliError

if TYPE_CHECKING:
    from tapelog.spark.pipeline.runs import Run

TOPICS = {demo_shop.REVENUE: 3, demo_shop.DEAD: 1}
GROUP = "demo-report"
READ_WAIT_S, READ_MAX = 0.25, 500
TABLE_EVERY_S = 3.0
STOP_S_MAX, STARTING_STOP_S_MAX = 10.0, 2.0  # a Spark that has only begun has nothing to finish
SETTLE_S_MAX, SETTLE_LOOK_S = 60.0, 0.5
LAST_LINES = 3


def check(env: Mapping[str, str]) -> None:
    """Is PySpark here, and Java? CliError, in a line and a hint, if not."""
    if importlib.util.find_spec("pyspark") is None:
        raise CliError("PySpark is not installed here", "make demo brings it; or pip install 'tapelog[spark-local]'")
    from tapelog.spark.pipeline.run.session import check_java
    from tapelog.spark.plan.errors import PlanError

    try:
        check_java(env)
    except PlanError as error:
        raise CliError(str(error), "run the demo without --pipeline", EXIT_FAILED) from None


class Pipeline:
    """The pipeline of the demo while it runs; `ledger` holds what came out of it."""

    def __init__(self, connection: Connection, address: str, home: Path | None, stop: threading.Event) -> None:
        self._temporary = home is None
        self.home = Path(tempfile.mkdtemp(prefix="tapelog-demo-")) if home is None else home
        self.ledger = Ledger(begun_ms=time.time_ns() // 1_000_000)
        self._connection, self._stop_event = connection, stop
        self._log = self.home / "pipeline.log"
        self._file = demo_shop.write(self.home)
        state = self.home / "state"
        self._env = os.environ | {"TAPELOG_BOOTSTRAP": address, "TAPELOG_PIPELINES": str(state)}
        self._state = state
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = time.monotonic()
        self._ready = False
        self._watch = threading.Thread(target=self._read, name="ledger", daemon=True)

    def start(self) -> None:
        """Make its topics, start it, and begin to read what it makes."""
        wanted = [NewTopic(name, partitions, -1) for name, partitions in TOPICS.items()]
        for name, future in self._connection.admin.create_topics(wanted).items():
            try:
                future.result(10)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise self._connection.explained(error, topic=name) from None
        words = [sys.executable, "-m", "tapelog", "pipeline", "run", str(self._file)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._env, start_new_session=True
            )
        self._watch.start()

    def run(self) -> Run | None:
        """What it says of itself."""
        from tapelog.spark.pipeline.runs import Runs

        found = Runs(self._state).read(demo_shop.NAME)
        mine = self._process is not None and found is not None and found.pid == self._process.pid
        return found if mine else None

    def ready(self) -> bool:
        """Whether a query has done its first batch: Spark takes its time before that, on a busy machine a minute."""
        if not self._ready:
            run = self.run()
            self._ready = run is not None and any(query.get("batch", -1) >= 0 for query in run.queries.values())
        return self._ready

    def starting_s(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self._begun

    def failure(self) -> str:
        """Why it has ended by itself, in its own last words; nothing while it runs."""
        if self._process is None or self._process.poll() is None or self._stop_event.is_set():
            return ""
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return "the pipeline has ended\n" + "\n".join(lines[-LAST_LINES:])

    def settle(self, books: Books, asked: list[int]) -> None:
        """Wait until everything that was sent and can be written is there; not for ever, nor when asked to end."""
        starts = books.closed(demo_shop.LATE_S * 1000)
        deadline = time.monotonic() + SETTLE_S_MAX
        while time.monotonic() < deadline and not asked and not self.failure():
            if self.ledger.has(starts, books.bad):
                return
            time.sleep(SETTLE_LOOK_S)
            self.read_table()

    def end(self) -> None:
        """Stop it in order, then insist; what it still says is read."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(STOP_S_MAX if self.ready() else STARTING_STOP_S_MAX)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self.read_table()

    def close(self) -> None:
        """After the demo's stop: temporary files go, the ledger stays."""
        if self._watch.is_alive():
            self._watch.join(STOP_S_MAX)
        if self._temporary:
            shutil.rmtree(self.home, ignore_errors=True)

    def _read(self) -> None:
        consumer = self._connection.consumer(GROUP, auto_offset_reset="earliest", isolation_level="read_committed")
        looked = time.monotonic()
        try:
            consumer.subscribe(list(TOPICS))
            while not self._stop_event.is_set():
                for message in consumer.consume(READ_MAX, READ_WAIT_S):
                    if message.error() is None:
                        self._take(message)
                if time.monotonic() - looked > TABLE_EVERY_S:
                    looked = time.monotonic()
                    self._look_at_table()
        except KafkaException:
            pass  # the broker has gone: the demo says so
        finally:
            consumer.close()

    def _take(self, message: Any) -> None:
        if not self.ledger.is_new(message.topic(), message.partition(), message.offset()):
            return
        if message.topic() == demo_shop.DEAD:
            self.ledger.add_letter(message.headers() or ())
        elif message.value() is not None:
            self.ledger.add_window(message.value(), time.time_ns() // 1_000_000)

    def _table(self) -> Any:
        from tapelog.spark import lake

        return lake.table(demo_shop.table_url(self.home), partition="hour(window_end)")

    def _look_at_table(self) -> None:
        from tapelog.spark import lake
        from tapelog.spark.plan.errors import PlanError

        try:
            fresh = lake.freshness(self._table())
        except (PlanError, OSError):
            return  # no batch has been committed yet
        if fresh.event_lag_s is not None:
            self.ledger.table.append((time.time_ns() // 1_000_000, fresh.event_lag_s))

    def read_table(self) -> None:
        """Every window in the lake table into the ledger."""
        from tapelog.spark.lake.reading import rows_now
        from tapelog.spark.plan.errors import PlanError

        try:
            rows = [row for batch in rows_now(self._table()) for row in batch.to_pylist()]
        except (PlanError, OSError):
            return  # no batch has been committed yet
        self.ledger.set_table(rows)


def write_report(ledger: Ledger, books: Books, sent: int, seconds: float, target: Path) -> tuple[Path, dict[str, Any]]:
    """The picture into a directory, and the figures as a document."""
    from tapelog.cli.demo_report import document

    target.mkdir(parents=True, exist_ok=True)
    file = target / "revenue.svg"
    file.write_text(picture(ledger))
    return file, {**document(ledger, books, sent, seconds), "picture": str(file)}
