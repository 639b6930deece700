"""Spark's Python workers of a local master: which Python they run, how fast they start, how many there are.

Spark takes `python3` of PATH, and a job is often started without its environment's `bin` there (`.venv/bin/python
job.py`): the workers then lack Tapelog, and the job ends with frames about a module. Spark also lets every new worker
compile PySpark out of a zip (`spark/startup`), and tells a source in Python nothing about the slots that its tasks get.
On any master, a task's input comes late unless somebody asks for it (`acknowledge`), and rows go to the JVM paced
(`settle`).
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import re
import socket
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final

from tapelog.client.pacing import unpace
from tapelog.spark.startup import __file__ as _STARTUP

LOG = logging.getLogger("tapelog.spark")

VARIABLE: Final = "PYSPARK_PYTHON"
SETTING: Final = "spark.pyspark.python"
PLACE: Final = "TAPELOG_PYSPARK"
"""Where the driver's PySpark lies: read by startup/sitecustomize."""
SLOTS: Final = "TAPELOG_SLOTS"
"""How many tasks run at once."""
INTERNET: Final = (socket.AF_INET, socket.AF_INET6)
_PATH: Final = "PYTHONPATH"
_MAINS: Final = ("main", "_main")
_DAEMON: Final = "pyspark.daemon"
_LOCAL: Final = re.compile(r"local(\[.*\])?")


def prepare(spark: Any) -> None:
    """In local mode: the driver's Python (unless somebody has chosen one) and PySpark, and the number of slots."""
    context = getattr(spark, "sparkContext", None)  # a session of Spark Connect has none
    if context is None:
        return
    if not _LOCAL.fullmatch(context.master):
        for name in (SLOTS, PLACE):
            if name in os.environ:  # of a local master whose worker has started this driver
                context.environment[name] = ""
        return
    if VARIABLE not in os.environ and not context.getConf().get(SETTING):
        context.pythonExec = sys.executable
    environment = context.environment
    environment[SLOTS] = _slots_of(context)
    place = _place_of_pyspark()
    if place is not None:
        paths = [str(Path(_STARTUP).parent), *environment.get(_PATH, "").split(os.pathsep)]
        environment[_PATH] = os.pathsep.join(dict.fromkeys(filter(None, paths)))
        environment[PLACE] = place


def _slots_of(context: Any) -> str:
    """How many tasks the scheduler runs at once; nothing where it does not say. (Default parallelism is a setting.)"""
    try:
        scala = context._jsc.sc()
        return str(int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile())))
    except Exception as error:
        LOG.debug("Spark does not tell its slots: %s", error)
        return ""


def _place_of_pyspark() -> str | None:
    """The directory that the driver imports PySpark from, if it is that of the Spark that runs, in files."""
    import pyspark

    package = Path(pyspark.__file__).parent
    home = Path(os.environ.get("SPARK_HOME") or package)
    own = (package, package.parent.parent)  # installed by pip, or below a distribution's python/
    return str(package.parent) if package.is_dir() and any(_same(home, one) for one in own) else None


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def slots() -> int | None:
    """How many tasks of this session run at once; None where nobody knows, as on a cluster."""
    told = os.environ.get(SLOTS, "")
    return int(told) if told.isdecimal() and int(told) else None


def acknowledge() -> None:
    """Tell the JVM at once that what it has sent has come.

    Spark sends a task's function, and then its input in small pieces. TCP holds those back until what came before is
    acknowledged, and Linux does that 40 ms late where it hopes for an answer to go with it: 40 ms in which each task
    did nothing. A task's reader or writer calls this when it is unpickled, which is before the input is waited for.
    """
    option = getattr(socket, "TCP_QUICKACK", None)
    if option is not None:
        with _to_the_jvm() as sock:
            if sock is not None and sock.family in INTERNET:
                sock.setsockopt(socket.IPPROTO_TCP, option, 1)


class Prompt:
    """A reader or writer that travels to tasks: there, it lets the rest of the task come at once."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        acknowledge()


_SETTLED: Final[set[int]] = set()


def settle() -> None:
    """Once in a worker process: rows to the JVM are not paced, what is loaded stays, and an early end is no error.

    PySpark's workers collect garbage after each task, 30 ms for modules that never go, while the next task waits: the
    collector need not look at them again. Only where `prepare` has told the workers something: those of a cluster run
    others' functions as well, for as long as they like, and what these have made by then would stay with the modules.
    """
    if os.getpid() in _SETTLED:
        return
    _SETTLED.add(os.getpid())
    if os.environ.get(SLOTS) or os.environ.get(PLACE):
        gc.collect()
        gc.freeze()
    with _to_the_jvm() as sock:
        if sock is not None:
            unpace(sock)
    _end_quietly()


@contextlib.contextmanager
def _to_the_jvm() -> Iterator[socket.socket | None]:
    """The socket between this worker and the JVM, and no other: user code may have sockets of its own in here.

    Each entry point of PySpark's workers is a `main(infile, outfile)` that is on the stack for as long as a task runs;
    no interface tells its files. None elsewhere (on the driver, say), and where a default timeout is set: Python would
    make the socket non-blocking for whoever uses it.
    """
    sock = None
    infile = _file_from_the_jvm()
    if infile is not None and socket.getdefaulttimeout() is None:
        with contextlib.suppress(OSError, ValueError):
            sock = _copied(infile.fileno())
    try:
        with contextlib.suppress(OSError):
            yield sock
    finally:
        if sock is not None:
            sock.close()


def _file_from_the_jvm() -> Any:
    """What the `main` of PySpark that we are called by reads from; None where there is none on the stack."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        package = frame.f_globals.get("__package__") or ""
        if frame.f_code.co_name in _MAINS and package.partition(".")[0] == "pyspark":
            infile = frame.f_locals.get("infile")
            if infile is not None:
                return infile
        frame = frame.f_back
    return None


def _copied(number: int) -> socket.socket:
    copy = os.dup(number)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise


def _end_quietly() -> None:
    """Let the daemon that forked this worker print no frames when the JVM has closed the connection.

    `show()`, `first()` and `limit()` end a task once they have enough rows: the JVM closes the connection, and from
    PySpark 4.1 on pyspark/daemon.py prints the BrokenPipeError that the worker ends with. Nothing is wrong.
    """
    main = sys.modules.get("__main__")
    is_daemon = getattr(getattr(main, "__spec__", None), "name", "") == _DAEMON
    daemon = main if is_daemon else sys.modules.get(_DAEMON)
    if daemon is not None:
        quiet = ModuleType(traceback.__name__)
        vars(quiet).update(vars(traceback), print_exc=_print_unless_closed)
        vars(daemon)["traceback"] = quiet


def _print_unless_closed(*arguments: Any, **named: Any) -> None:
    if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
        traceback.print_exc(*arguments, **named)
