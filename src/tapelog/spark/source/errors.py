"""What users see when a read fails: three lines instead of a stack trace.

Spark sends the text of a worker's exception to the driver, with the frames of Python unless told otherwise. For errors
that explain themselves the frames say nothing, so the worker, which ends with its exception, is told to leave them out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tapelog.client.errors import ClientError
from tapelog.spark.decode.decoder import DecodeError
from tapelog.spark.plan.errors import PlanError

_HIDE: Final = "SPARK_HIDE_TRACEBACK"
_WORKER: Final = "pyspark.worker_util"


class TapelogError(Exception):
    """A read cannot go on. At most three lines: what, which option or topic, what to do."""


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors that explain themselves into a TapelogError without frames; let all others pass as they are."""
    try:
        yield
    except (PlanError, ClientError, DecodeError) as error:
        if _WORKER in sys.modules:
            os.environ[_HIDE] = "1"
        raise TapelogError(str(error)) from None
