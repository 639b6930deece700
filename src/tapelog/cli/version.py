"""`tape version`: what runs here, and whether its hot path is compiled."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from typing import Any

import typer

import tapelog
from tapelog.cli.options import Json
from tapelog.cli.output import emit, table

MEANING = {
    "yes": "the hot path runs compiled",
    "no": "the hot path runs interpreted",
    "stale": "compiled modules are older than their sources, so the sources run",
    "off": "compiled modules are here, but TAPELOG_HOT=interpreted leaves them aside",
}


def meaning(compiled: str, package_directory: str) -> str:
    """What that word means, and how the hot path gets compiled: in a checkout otherwise than where pip installed it."""
    told = MEANING.get(compiled, "")
    if compiled not in ("no", "stale"):
        return told
    if os.path.isfile(os.path.join(package_directory, "..", "..", "Makefile")):
        return f"{told}; `make build` compiles it"
    wheel = (
        f"tapelog-{tapelog.__version__}-cp{sys.version_info[0]}{sys.version_info[1]}-…-{sysconfig.get_platform()}.whl"
    )
    return f"{told}; install a platform wheel to have it compiled ({wheel}; `make dist` in a checkout makes one)"


def compiled_modules(package_directory: str) -> list[str]:
    """Modules of the package that have a compiled file beside their source, by dotted name."""
    from importlib.machinery import EXTENSION_SUFFIXES

    suffix = EXTENSION_SUFFIXES[0]
    found = []
    for directory, folders, files in os.walk(package_directory):
        folders.sort()
        relative = os.path.relpath(directory, os.path.dirname(package_directory)).replace(os.sep, ".")
        found += [f"{relative}.{name.removesuffix(suffix)}" for name in sorted(files) if name.endswith(suffix)]
    return found


def facts() -> dict[str, Any]:
    """Versions of everything that matters in a bug report."""
    import confluent_kafka

    directory = os.path.dirname(tapelog.__file__)
    return {
        "tapelog": tapelog.__version__,
        "compiled": tapelog.COMPILED,
        "compiled_modules": compiled_modules(directory),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": platform.platform(),
        "confluent_kafka": confluent_kafka.version(),
        "librdkafka": confluent_kafka.libversion()[0],
        "location": directory,
        "executable": sys.executable,
    }


def show(wanted: bool) -> None:
    """`tape --version`: one line."""
    if wanted:
        print(f"tapelog {tapelog.__version__}")
        raise typer.Exit()


def version(json: Json = False) -> None:
    """Show versions, and whether the hot path is compiled.

    Example: tape version --json
    """
    found = facts()
    rows = [
        ["tapelog", found["tapelog"]],
        ["compiled", f"{found['compiled']}: {meaning(found['compiled'], found['location'])}"],
        ["Python", f"{found['implementation']} {found['python']} on {found['platform']}"],
        ["librdkafka", f"{found['librdkafka']} (confluent-kafka {found['confluent_kafka']})"],
        ["location", found["location"]],
    ]
    if found["compiled_modules"]:
        rows.insert(2, ["", f"{len(found['compiled_modules'])} modules"])
    emit(json, found, lambda: [table(["", ""], rows)])
