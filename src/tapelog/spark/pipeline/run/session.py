"""The Spark session of a run: what it needs is looked for first, and its words go to a log."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tapelog.spark.plan.errors import PlanError

JAVA_MIN: Final = 17
_ANSWER_S: Final = 20
_DEFAULTS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.python.filterPushdown.enabled": "true",
}
_LOCAL: Final = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
_LOCAL_SHUFFLE: Final = "spark.sql.shuffle.partitions"


class MissingError(PlanError):
    """Something that must be installed is not."""


def check_spark(find: Callable[[str], object] = importlib.util.find_spec) -> None:
    """MissingError, one line, unless PySpark can be imported."""
    if find("pyspark") is None:
        raise MissingError("PySpark is not installed here: `pip install 'tapelog[spark-local]'` (half a gigabyte).")


def check_java(env: Mapping[str, str], run: Callable[[str], str | None] | None = None) -> str:
    """The java to be used; MissingError, one line, unless it is 17 or newer."""
    home = env.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java", path=env.get("PATH"))
    advice = f"Spark needs Java {JAVA_MIN} or newer: `apt install openjdk-{JAVA_MIN}-jre-headless`, or set JAVA_HOME."
    if java is None:
        raise MissingError(f"Java is not installed here. {advice}")
    said = (run or _version_text)(java)
    match = re.search(r'version "(?:1\.)?(\d+)', said or "")
    if match is None:
        where = f"JAVA_HOME={home}" if home else java
        raise MissingError(f"{where} has no java that runs. {advice}")
    if int(match[1]) < JAVA_MIN:
        raise MissingError(f"{java} is Java {match[1]}. {advice}")
    return java


def _version_text(java: str) -> str | None:
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stderr + done.stdout


def make_session(name: str, master: str, conf: Mapping[str, str], log: Path | None) -> Any:
    """A session with our defaults, then what the file and the command line say; Spark's own words go to the log."""
    check_spark()
    check_java(os.environ)
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = dict(_DEFAULTS)
    if master.startswith("local"):
        settings |= _LOCAL
        settings[_LOCAL_SHUFFLE] = str(max(1, os.cpu_count() or 1))
        source = str(Path(__file__).parents[4])  # workers import what this process imports
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([source, *filter(None, paths)]))
    builder = SparkSession.builder.appName(f"tapelog {name}").master(master)
    for title, value in {**settings, **conf}.items():
        builder = builder.config(title, value)
    try:
        with _words_into(log), _own_interrupts():
            session = builder.getOrCreate()
    except Exception as error:
        from tapelog.spark.pipeline.trouble import told

        place = f"Its words are in {log}." if log else "See above."
        raise PlanError(f"Spark did not start with --master {master}: {told(str(error))[0]}", place) from None
    session.sparkContext.setLogLevel(os.environ.get("TAPELOG_SPARK_LOG", "ERROR"))
    from pyspark_tapelog import register

    register(session, brief=False)  # what fails is told by the runner
    return session


def about_to_end(session: Any) -> None:
    """Queries and then the session are going to be stopped. That may cut off Spark's receiver of accumulators (a thread
    of Java's that is interrupted while it sends closes the connection), which is no error to be told any more."""
    server = getattr(session.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = _unless_cut_off(server.handle_error)


def _unless_cut_off(tell: Callable[..., None]) -> Callable[..., None]:
    """socketserver's `handle_error`, which prints a traceback, but for the end of the connection."""

    def handle_error(*request: Any) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            tell(*request)

    return handle_error


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """A new SparkContext puts a handler of its own in front of Ctrl-C, which cancels jobs and raises, wherever the
    program is: whoever ends a run in order keeps his. Where nobody does, Spark's is better than none.
    """
    before, install = signal.getsignal(signal.SIGINT), signal.signal
    if not callable(before) or before is signal.default_int_handler:
        yield
        return

    def keep(number: int, handler: Any) -> Any:
        mine = number == signal.SIGINT and callable(handler)  # SIG_IGN, for Java's process, is none
        return before if mine else install(number, handler)

    signal.signal = keep  # type: ignore[assignment] # Spark installs it somewhere in the middle: put back afterwards, it would have had its chance
    try:
        yield
    finally:
        signal.signal = install


@contextmanager
def _words_into(log: Path | None) -> Iterator[None]:
    """Processes started meanwhile have their standard error in the log: the terminal is for people."""
    if log is None:
        yield
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    opened = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.dup2(opened, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(opened)
