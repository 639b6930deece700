"""The last events of a session: Spark sends them from a thread of its own, and a job may end before they are here."""

from __future__ import annotations

import atexit
import contextlib
from typing import Any, Final

WAIT_MS: Final = 5_000


def hear_everything(spark: Any) -> None:
    """Before Python ends, wait for what Spark has to tell its listeners: nobody would be there to hear it."""

    def wait() -> None:
        with contextlib.suppress(Exception):  # the session has been stopped, or there is no end to what it tells
            spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(WAIT_MS)

    atexit.register(wait)
