"""A plan becomes queries that run: started one after another, looked at twice a second, ended together."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from tapelog.client.errors import ClientError
from tapelog.spark.pipeline.model import TopicSink, TopicSource
from tapelog.spark.pipeline.options import check_options
from tapelog.spark.pipeline.plan import Plan, Query
from tapelog.spark.pipeline.progress import Tally
from tapelog.spark.pipeline.references import References
from tapelog.spark.pipeline.run.cutoff import CutOff, cut_off
from tapelog.spark.pipeline.run.frames import Frames
from tapelog.spark.pipeline.run.letters import letters_frame
from tapelog.spark.pipeline.run.places import resolved
from tapelog.spark.pipeline.run.running import Running
from tapelog.spark.pipeline.run.session import about_to_end, make_session
from tapelog.spark.pipeline.run.sinks import Writing
from tapelog.spark.pipeline.run.topics import check_there, make_missing, waiting
from tapelog.spark.pipeline.runs import Run, Runs, process_start
from tapelog.spark.pipeline.trouble import told
from tapelog.spark.plan.errors import LINES_MAX, PlanError

LOOK_S: Final = 0.5
SAVE_S: Final = 1.0


class QueryError(PlanError):
    """A query of a run has failed."""


@dataclass(slots=True)
class Report:
    """How a run goes, for whoever shows it."""

    name: str
    state: str = "starting"
    doing: str = ""
    queries: dict[str, Tally] = field(default_factory=dict)
    targets: dict[str, int] = field(default_factory=dict)
    """Offsets at which a run that ends by itself will end, by query."""


@dataclass(frozen=True, slots=True)
class Orders:
    """How a run is to be done: where Spark is, who is told, and when to stop."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    runs: Runs | None = None
    show: Callable[[str, Any, int], None] = lambda name, frame, rows: None
    report: Callable[[Report], None] = lambda report: None
    stopping: Callable[[], bool] = lambda: False
    spark: Any = None
    """A session to use instead of making one; it is not stopped."""


def run_plan(plan: Plan, orders: Orders, env: Mapping[str, str] = os.environ) -> Report:
    """Run until everything is written (`once`, or no stream), until told to stop, or until a query fails: PlanError."""
    engine = _Engine(plan, orders, env)
    try:
        return engine.run()
    except ClientError as error:
        raise PlanError(*str(error).splitlines()[:LINES_MAX]) from error


class _Engine:
    def __init__(self, plan: Plan, orders: Orders, env: Mapping[str, str]) -> None:
        self._plan, self._orders = plan, orders
        self._file = Path(plan.pipeline.file)
        self._base = self._file.parent if self._file.suffix else Path.cwd()
        self._references = References(plan.pipeline.file, env, lambda path: (self._base / path).read_text("utf-8"))
        self._report = Report(plan.pipeline.name)
        self._queries: dict[str, Running] = {}
        self._saved_at = 0.0
        log = orders.runs.log_path(plan.pipeline.name) if orders.runs is not None else None
        self._log = log
        now = int(time.time() * 1000)
        self._run = Run(
            name=plan.pipeline.name,
            file=str(self._file.resolve()) if self._file.suffix else plan.pipeline.file,
            pid=os.getpid(),
            process_start=process_start(os.getpid()),
            begun_ms=now,
            updated_ms=now,
            state="starting",
            master=orders.master,
            checkpoint=plan.pipeline.checkpoint,
            log=str(log or ""),
        )

    def run(self) -> Report:
        check_options(self._plan, self._references)
        if self._orders.runs is not None:
            self._orders.runs.claim(self._run)
        spark = None
        try:
            self._say("starting", "looking for topics")
            self._topics()
            self._say("starting", "starting Spark")
            spark = self._orders.spark or self._session()
            self._start_all(spark)
            self._say("running", "")
            self._watch()
            self._say("ended", "")
        except BaseException as error:
            self._run = replace(self._run, error="" if isinstance(error, KeyboardInterrupt) else str(error)[:2000])
            self._say("ended" if isinstance(error, KeyboardInterrupt) else "failed", "")
            raise
        finally:
            own = spark if self._orders.spark is None else None
            try:
                if own is not None:
                    about_to_end(own)
                self._stop_all()
            finally:
                if own is not None:
                    own.stop()
        return self._report

    def _session(self) -> Any:
        conf = {**self._references.options(self._plan.pipeline.spark), **self._orders.conf}
        return make_session(self._plan.pipeline.name, self._orders.master, conf, self._log)

    # -- starting

    def _topics(self) -> None:
        """Before Spark takes its time: are the clusters there, and their topics? Those that may be made are."""
        letters = self._plan.pipeline.dead_letters
        writes = [
            query.sink.writes if query.sink else letters.writes if letters else None for query in self._plan.queries
        ]
        sources = [part.does for part in self._plan.parts.values()]
        check_there([one for one in sources if isinstance(one, TopicSource)], self._references)
        make_missing([one for one in writes if isinstance(one, TopicSink)], self._references)
        self._aim()

    def _start_all(self, spark: Any) -> None:
        writing = Writing(spark, self._references, self._base, self._orders.show)
        good = Frames(spark, self._plan, self._references, self._base, observe=True)
        bad = Frames(spark, self._plan, self._references, self._base, observe=False)
        for query in self._plan.queries:
            if self._orders.stopping():
                return
            self._say("starting", f"starting {query.name}")
            self._report.queries[query.name] = Tally()
            try:
                self._start(query, writing, good if query.sink is not None else bad)
            except PlanError:
                raise
            except CutOff:
                raise self._unfinished(query) from None
            except Exception as error:
                raise self._failed(query, str(error)) from error

    def _start(self, query: Query, writing: Writing, frames: Frames) -> None:
        made = frames.make(query.parts)
        pipeline = self._plan.pipeline
        if query.sink is not None:
            frame, writes, mode = made[query.sink.origin].good, query.sink.writes, query.sink.mode
        else:
            assert pipeline.dead_letters is not None
            writes, mode = pipeline.dead_letters.writes, "append"
            frame = letters_frame(pipeline.name, [(name, made[name].bad) for name in query.letters], writes)
        if not query.stream:
            with cut_off(frame.sparkSession, self._orders.stopping):
                writing.write(frame, writes, name=query.name)
            return
        base = resolved(self._references.text(pipeline.checkpoint, "checkpoint"), self._base).rstrip("/")
        start = partial(
            writing.start,
            frame,
            writes,
            name=f"{pipeline.name}.{query.name}",
            mode=mode,
            trigger=(query.sink.trigger if query.sink else None) or pipeline.trigger,
            checkpoint=f"{base}/{query.name}",
        )
        running = Running(start, _plain)
        running.begin()
        self._queries[query.name] = running

    def _aim(self) -> None:
        """Where a run that ends by itself will end."""
        if self._plan.pipeline.trigger != "once":
            return
        sources = {name: part.does for name, part in self._plan.parts.items() if isinstance(part.does, TopicSource)}
        ends = waiting({name: source for name, source in sources.items() if source.stream}, self._references)
        for query in self._plan.queries:
            self._report.targets[query.name] = sum(ends.get(name, 0) for name in query.parts)

    # -- running

    def _watch(self) -> None:
        while self._queries:
            running = any(query.active for query in self._queries.values())
            again = self._look()
            if self._orders.stopping() or not (running or again):
                return
            time.sleep(LOOK_S)

    def _look(self) -> bool:
        """Take in what the queries say; True: one of them was started again."""
        again = False
        for name, query in self._queries.items():
            for report in query.reports():
                self._report.queries[name].add(report)
            failure = query.failure()
            if failure is None:
                continue
            if not query.may_begin_again(failure):
                raise self._failed(next(one for one in self._plan.queries if one.name == name), failure)
            if not self._orders.stopping():
                query.begin()
                again = True
        self._orders.report(self._report)
        if time.monotonic() - self._saved_at >= SAVE_S:
            self._save()
        return again

    def _where(self, query: Query) -> str:
        """Where the file says that this is to be done."""
        letters = self._plan.pipeline.dead_letters
        line = query.sink.line if query.sink is not None else letters.line if letters is not None else 0
        title = f"[sinks.{query.name}]" if query.sink is not None else "[dead-letters]"
        return f"{self._plan.pipeline.file}{f':{line}' if self._file.suffix else ''}: {title}"

    def _unfinished(self, query: Query) -> QueryError:
        return QueryError(
            f"{self._where(query)} was stopped before all was written",
            "Run it again: a batch begins at its beginning, and what a sink wrote in a transaction was taken back.",
        )

    def _failed(self, query: Query, text: str) -> QueryError:
        first, *more = told(text)
        lines = [f"{self._where(query)} stopped: {first}", *more][:LINES_MAX]
        if len(lines) < LINES_MAX and self._log is not None:
            lines.append(f"All that Spark said is in {self._log}.")
        return QueryError(*lines)

    # -- ending

    def _stop_all(self) -> None:
        for query in self._queries.values():
            query.stop()

    def _say(self, state: str, doing: str) -> None:
        self._report.state, self._report.doing = state, doing
        self._orders.report(self._report)
        self._save()

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        if self._orders.runs is not None:
            queries = {name: tally.document() for name, tally in self._report.queries.items()}
            now = int(time.time() * 1000)
            self._run = replace(self._run, state=self._report.state, updated_ms=now, queries=queries)
            self._orders.runs.write(self._run)


def _plain(progress: Any) -> dict[str, Any]:
    """A report as plain values, whichever version of PySpark made it."""
    text = getattr(progress, "json", None)
    if isinstance(text, str):
        made: dict[str, Any] = json.loads(text)
        return made
    return dict(progress)
