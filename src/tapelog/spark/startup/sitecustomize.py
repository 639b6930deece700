"""Let a Python worker of Spark import PySpark from where the driver imports it, and not from a zip.

Spark puts its pyspark.zip first on the path. Python keeps no bytecode of what it finds in a zip, so each new worker
compiles PySpark again: half a second of processor time, and every streaming query starts one. The zips leave the path
where the driver's own PySpark, which `TAPELOG_PYSPARK` names, is on it as well. Otherwise nothing changes.

Python runs one `sitecustomize`, the first that it finds: whoever else brought one gets his turn afterwards. Programs
that a worker starts inherit the path, so this must be no error in older Pythons either.
"""

import importlib
import os
import sys

NAME = "sitecustomize"
PLACE = "TAPELOG_PYSPARK"


def without_zips(path: "list[str]", place: str) -> "list[str]":
    """The path without Spark's zips, where what they hold is found in `place` then, and nowhere before it."""

    def found(name: str) -> bool:
        files = [entry for entry in path if os.path.isfile(os.path.join(entry, name, "__init__.py"))]
        return files[:1] == [place]

    zips = {"pyspark.zip": found("pyspark"), "py4j": found("pyspark") and found("py4j")}
    return [entry for entry in path if not zips.get(_kind(entry), False)]


def _kind(entry: str) -> str:
    name = os.path.basename(entry)
    return "py4j" if name.startswith("py4j-") and name.endswith("-src.zip") else name


def run_next() -> None:
    """The next `sitecustomize` on the path, if there is one."""
    here, own = os.path.dirname(os.path.abspath(__file__)), sys.modules.get(NAME)
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != here]
    sys.modules.pop(NAME, None)
    try:
        importlib.import_module(NAME)
    except ImportError as error:
        if error.name != NAME:
            raise
    if own is not None:
        sys.modules.setdefault(NAME, own)


if __name__ == NAME:
    if PLACE in os.environ:
        sys.path[:] = without_zips(sys.path, os.environ[PLACE])
    run_next()
