"""Builds the C drivers with the system's compiler, once per source version, into a cache folder."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).parent / "drivers"


class BuildError(Exception):
    """A driver could not be built; the message says what is missing."""


def cache_dir() -> Path:
    """Where built drivers are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tapelog-bench"


def rawload() -> Path:
    """The raw frame generator."""
    return _build("rawload", [])


def endtoend() -> Path:
    """The librdkafka latency driver."""
    return _build("endtoend", _librdkafka())


def txn() -> Path:
    """The librdkafka transaction driver."""
    return _build("txn", _librdkafka())


def storm() -> Path:
    """The rebalance storm of librdkafka consumers."""
    return _build("storm", _librdkafka())


def replicated() -> Path:
    """The librdkafka driver for replicated topics."""
    return _build("replicated", _librdkafka())


def keyedlog() -> Path:
    """Writes logs with keys, to be compacted."""
    return _build("keyedlog", [])


def coldread() -> Path:
    """The librdkafka driver that reads partitions from their beginning."""
    return _build("coldread", _librdkafka())


def _librdkafka() -> list[str]:
    """How to link against the library inside the confluent-kafka wheel."""
    spec = importlib.util.find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        raise BuildError("drivers on librdkafka need confluent-kafka: make setup")
    folder = Path(spec.origin).parent.parent / "confluent_kafka.libs"
    found = sorted(folder.glob("librdkafka*.so*"))
    if not found:
        raise BuildError(f"no librdkafka in {folder}: a confluent-kafka wheel carries one, a source build does not")
    return [str(found[0]), f"-Wl,-rpath,{folder}", "-Wl,--allow-shlib-undefined", "-lpthread"]


def _build(name: str, link: list[str]) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise BuildError("the load generator is C: apt install gcc libc6-dev")
    source = SOURCES / f"{name}.c"
    digest = hashlib.sha256(source.read_bytes() + "\0".join(link).encode()).hexdigest()[:16]
    target = cache_dir() / f"{name}-{digest}"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_suffix(f".{os.getpid()}")
        command = [compiler, "-O2", "-Wall", "-Wextra", str(source), "-o", str(fresh), *link]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(f"{name}.c does not compile:\n{done.stderr}")
        fresh.rename(target)
    return target
