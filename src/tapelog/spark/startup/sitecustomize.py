"""Let a Python worker of Spark import PySpark from where the driver imports it, and not from a zip.

Spark puts its pyspark.zip first on the path. Python keeps no bytecode of what it finds in a zip, so each new worker
compiles PySpark again: half a second of processor time, and every streaming query starts one. The zips leave the path
where the driver's own PySpark, which `TAPELOG_PYSPARK` names, is on it as well, and they are that one's. Otherwise
nothing changes: a zip of another Spark (a cluster's, in a program that a worker starts) is what its path is meant for.

Python runs one `sitecustomize`, the first that it finds: whoever else brought one gets his turn afterwards. Programs
that a worker starts inherit the path, so this must be no error in older Pythons either.
"""

import importlib
import os
import sys

NAME = "sitecustomize"
PLACE = "TAPELOG_PYSPARK"


def without_zips(path: "list[str]", place: str) -> "list[str]":
    """The path without the zips of the PySpark in `place`, where what they hold is found there then, and not before."""
    # as pip installs it, and below a distribution's python/
    libraries = [os.path.realpath(os.path.join(place, *lib)) for lib in (("pyspark", "python", "lib"), ("lib",))]
    own = {entry: os.path.realpath(os.path.dirname(entry)) in libraries for entry in path}

    def found(name: str) -> bool:
        return [entry for entry in path if _holds(entry, name) and not own[entry]][:1] == [place]

    left = {"pyspark": found("pyspark"), "py4j": found("pyspark") and found("py4j")}
    return [entry for entry in path if not (own[entry] and left.get(_zipped(entry), False))]


def _holds(entry: str, name: str) -> bool:
    return _zipped(entry) == name or os.path.isfile(os.path.join(entry, name, "__init__.py"))


def _zipped(entry: str) -> str:
    """What a zip of Spark holds, by its name; nothing for other entries of a path."""
    name = os.path.basename(entry)
    if name.startswith("py4j-") and name.endswith("-src.zip"):
        return "py4j"
    return "pyspark" if name == "pyspark.zip" else ""


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
    if os.environ.get(PLACE):
        sys.path[:] = without_zips(sys.path, os.environ[PLACE])
    run_next()
