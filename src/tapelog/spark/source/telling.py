"""What a driver's standard error shows when a query fails: our three lines, once. `register(spark)` asks for it.

Spark's log tells a failure several times, with some forty frames of Java each, and Python adds those of py4j. None of
them says more than the lines that were written to explain the error. So the console of the log leaves its copies out,
by their wording; the interpreter's hook prints the lines instead of frames; and a query that fails while nobody waits
for it is told by a listener. Failures that are not ours stay as long as they are, and so do log files.
TAPELOG_TRACEBACK=1 leaves everything as Spark has it.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from weakref import WeakSet

from tapelog.spark.plan.errors import LINES_MAX, PlanError

LOG = logging.getLogger("tapelog.spark")

WHOLE: Final = "TAPELOG_TRACEBACK"
GRACE_SECONDS: Final = 2.0
"""How long whoever waits for a query has to tell its failure, before the listener does."""
RUNS_MAX: Final = 1000
"""Of which it is remembered that they were told; the oldest are forgotten."""

_PACKAGE: Final = os.path.join(Path(__file__).parents[2], "")
_OWN: Final = "TapelogError"
_OURS: Final = re.compile(r"TapelogError: ((?:.+\n?)+)")
_RUN: Final = re.compile(r"runId = ([0-9a-f-]{36})")
_END: Final = re.compile(r"\s*(SQLSTATE: \w+|===|JVM stacktrace|Driver stacktrace|Traceback|at [\w.$/]+\()")
_IS_TORN: Final = re.compile(
    r"(assertion failed|\[STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY\])"
    r"(?s:.*)(\.initializeExecution\(|Relation\[.*\] tapelog)"
)
_TORN: Final = (
    "The checkpoint is not whole: its offsets are older than its commits.",
    "Some of the files below checkpointLocation were deleted, or it was put back in part.",
    "Put back all of it, or begin with a new checkpointLocation (startingOffsets tells where).",
)
_IS_TAKEN: Final = re.compile(r"\[CONCURRENT_STREAM_LOG_UPDATE\](?s:.*)Relation\[.*\] tapelog")
_TAKEN: Final = (
    "The checkpoint has this batch already.",
    "Another query runs on the same checkpointLocation, or some of the files below it were deleted.",
    "Stop the other query; or put back all of the checkpoint, or begin with a new checkpointLocation.",
)
_IS_WITHOUT_MODE: Final = re.compile(r"\[UNSUPPORTED_DATA_SOURCE_SAVE_MODE\] The data source \"tapelog\"")
_WITHOUT_MODE: Final = (
    'A batch is written to a topic with mode("append") only.',
    "Spark refuses other modes, and a write without a mode, before it asks a data source in Python.",
    'Write df.write.format("tapelog").options(…).mode("append").save().',
)
_KNOWN: Final = ((_IS_TORN, _TORN), (_IS_TAKEN, _TAKEN), (_IS_WITHOUT_MODE, _WITHOUT_MODE))
"""What Spark says itself, and what that means."""

SILENCED: Final = "|".join(
    (
        r"Query .* terminated with error.*",
        r"Exception in task .*",
        r"Aborting task.*",
        r".*TapelogError.*",
        r".*Task \d+ in stage .* failed \d+ times; aborting job.*",
        r"Abort(ing|ed) commit for partition .*",
        r"Data source write support .* (is aborting|aborted).*",
        r"The data source tapelog replaced a statically registered data source.*",
    )
)
"""What the console of the driver's log no longer says: the error that the driver gets tells it anyway."""


def ours(text: str) -> list[str] | None:
    """The lines that explain a failure, out of all that Spark says about it; None where it is not one of ours."""
    found = _OURS.search(text)
    if found is None:
        return next((list(lines) for wording, lines in _KNOWN if wording.search(text)), None)
    lines = []
    for line in found[1].splitlines():
        end = _END.search(line)
        kept = line[: end.start()] if end else line
        if kept.strip():
            lines.append(kept.strip())
        if end:
            break
    return lines[:LINES_MAX] or None


class Telling:
    """Tells failures of queries, each run once; `write` gets the lines."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._waiting: dict[str, str] = {}
        self._told: dict[str, None] = {}

    def raised(self, kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> bool:
        """An error that ends the program: tell it if it explains itself."""
        lines = str(error).splitlines() if isinstance(error, PlanError) else ours(str(error))
        if lines is None:
            return False
        if (run := _RUN.search(str(error))) is not None:
            self._first(run[1])
        where = _own_frame(frames)
        self._write("\n".join([f"{where}{lines[0]}", *lines[1:]]))
        return True

    def failed(self, run: str, name: str, text: str) -> None:
        """A query ended with an error; whoever waits for it gets it, too, and may tell it first."""
        lines = ours(text)
        told = f"Query {name} failed: " + ("\n".join(lines) if lines else text)
        with self._lock:
            self._waiting[run] = told
        timer = threading.Timer(GRACE_SECONDS, self.late, [run])
        timer.daemon = True
        timer.start()

    def late(self, run: str) -> None:
        """Nobody told it: do it now."""
        with self._lock:
            told = self._waiting.pop(run, None)
        if told is not None and self._first(run):
            LOG.error(told)

    def flush(self) -> None:
        """Tell what waits: the program ends."""
        for run in list(self._waiting):
            self.late(run)

    def _first(self, run: str) -> bool:
        with self._lock:
            self._waiting.pop(run, None)
            if run in self._told:
                return False
            self._told[run] = None
            if len(self._told) > RUNS_MAX:
                del self._told[next(iter(self._told))]
            return True


def _own_frame(frames: TracebackType | None) -> str:
    """`job.py, line 12: `, the last place in code that was not installed; nothing where there is none."""
    installed = ("site-packages", _PACKAGE, "<")
    own = [frame for frame in traceback.extract_tb(frames) if not any(word in frame.filename for word in installed)]
    return f"{os.path.basename(own[-1].filename)}, line {own[-1].lineno}: " if own else ""


_INSTALLED: Final[list[Telling]] = []
_SESSIONS: Final[WeakSet[Any]] = WeakSet()


def tell_briefly(spark: Any) -> None:
    """From now on failures are told as above; asked again for another session, only what belongs to it is added."""
    if os.environ.get(WHOLE):
        return
    if not _INSTALLED:
        telling = Telling(lambda text: print(text, file=sys.stderr, flush=True))
        before = sys.excepthook

        def hook(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
            if not telling.raised(kind, error, frames):
                before(kind, error, frames)

        sys.excepthook = hook
        atexit.register(telling.flush)
        _INSTALLED.append(telling)
    if spark in _SESSIONS:
        return
    _SESSIONS.add(spark)
    try:
        _silence(spark.sparkContext._jvm)
        from tapelog.spark.listener.failures import FailureListener

        spark.streams.addListener(FailureListener(_INSTALLED[0].failed))
    except Exception as error:
        LOG.debug("Spark's log stays as it is: %s", error)


def _silence(jvm: Any) -> None:
    """Add a filter to the consoles of this JVM's log, once; files get everything."""
    log4j = jvm.org.apache.logging.log4j
    result = log4j.core.Filter.Result
    appenders = log4j.LogManager.getContext(False).getConfiguration().getAppenders()
    for name in list(appenders):
        appender = appenders[name]
        if "Console" not in appender.getClass().getSimpleName() or _OWN in str(appender.getFilter()):
            continue
        wording = f"(?s)({SILENCED})"
        regex = log4j.core.filter.RegexFilter
        appender.addFilter(regex.createFilter(wording, None, False, result.DENY, result.NEUTRAL))
