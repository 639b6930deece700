"""Which Python Spark's workers run. Spark takes `python3` of PATH, and a job is often started without its environment's
`bin` there (`.venv/bin/python job.py`): the workers then lack Tapelog, and the job ends with frames about a module.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

VARIABLE: Final = "PYSPARK_PYTHON"
SETTING: Final = "spark.pyspark.python"


def run_this_python(spark: Any) -> None:
    """In local mode, where workers are on this machine: the driver's Python, unless somebody has chosen one."""
    context = getattr(spark, "sparkContext", None)  # a session of Spark Connect has none
    if context is None or not context.master.startswith("local"):
        return
    if VARIABLE not in os.environ and not context.getConf().get(SETTING):
        context.pythonExec = sys.executable
