"""A batch that Spark works on ends when its run is told to stop. Streams are looked at by the engine; a batch is one
call, which returns when all is written, so somebody beside it has to cancel its jobs."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

LOOK_S: Final = 0.25
GROUP: Final = "spark.jobGroup.id"


class CutOff(Exception):
    """A batch was cancelled before its end, because its run was told to stop."""


@contextmanager
def cut_off(session: Any, stopping: Callable[[], bool]) -> Iterator[None]:
    """The jobs that this thread starts inside are cancelled once `stopping` says so: CutOff.

    Over Spark Connect jobs have no group to be cancelled by: there they run to their end.
    """
    try:
        context = session.sparkContext
    except Exception:
        yield
        return
    before, group = context.getLocalProperty(GROUP), f"tapelog-{uuid.uuid4()}"
    over, cancelled = threading.Event(), threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_S):
            if stopping():
                cancelled.set()
                context.cancelJobGroup(group)  # again and again: the next job may have begun in between

    watcher = threading.Thread(target=watch, name="tapelog-cut-off", daemon=True)
    context.setLocalProperty(GROUP, group)
    watcher.start()
    try:
        yield
    except Exception as error:
        if cancelled.is_set():
            raise CutOff from error
        raise
    finally:
        over.set()
        watcher.join()
        context.setLocalProperty(GROUP, before)
