"""Which hot path runs: the modules mypyc compiled, or the Python sources they were compiled from.

Called once by the package's `__init__`, before any other module of the package is loaded. A compiled module lies
beside its source, and Python would prefer it even when the source has changed since. So `setup.py` writes down the
size and checksum of every source it compiled, and a single difference sends all imports to the sources: a stale
compiled module is never run, and compiled and interpreted modules are never mixed.

TAPELOG_HOT=interpreted ignores compiled modules, TAPELOG_HOT=compiled refuses to run without them (the tests use both).
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from types import ModuleType
from typing import Final

MANIFEST: Final = "_compiled.txt"
"""Name of the file, in the package's directory, that lists what was compiled: `path size checksum` per line."""

LIBRARY: Final = "tapelog__mypyc"
"""The extension module that holds the code of all compiled modules."""


class SourcesOnly:
    """A finder that serves the package's modules from `.py` files, whatever lies beside them."""

    def __init__(self, package: str) -> None:
        self.prefix = package + "."

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The source file of a module of the package; None (ask the next finder) for packages and everything else."""
        if path is None or not name.startswith(self.prefix):
            return None
        from importlib.util import spec_from_file_location

        tail = name.rpartition(".")[2] + ".py"
        for directory in path:
            file = os.path.join(directory, tail)
            if os.path.isfile(file):
                return spec_from_file_location(name, file)
        return None


def checksum(file: str) -> tuple[int, int]:
    """Size and CRC-32 of a file: enough to notice an edit."""
    with open(file, "rb") as opened:
        data = opened.read()
    return len(data), zlib.crc32(data)


def write_manifest(directory: str, sources: Sequence[str], manifest: str) -> None:
    """Record what was compiled; sources are paths relative to the package's directory, with slashes."""
    with open(manifest, "w", encoding="ascii") as opened:
        for source in sorted(sources):
            size, crc = checksum(_at(directory, source))
            opened.write(f"{source} {size} {crc}\n")


def look(directory: str) -> str:
    """What lies in the package's directory: compiled modules for this Python? `yes`, `no`, or only `stale` ones."""
    if not os.path.exists(os.path.join(os.path.dirname(directory), LIBRARY + EXTENSION_SUFFIXES[0])):
        return "no"
    try:
        with open(_at(directory, MANIFEST), encoding="ascii") as opened:
            lines = opened.readlines()
        for line in lines:
            source, size, crc = line.split()
            if checksum(_at(directory, source)) != (int(size), int(crc)):
                return "stale"
    except (OSError, ValueError):
        return "stale"
    return "yes" if lines else "stale"


def choose(package: str, init_file: str) -> str:
    """Decide and arrange which modules are loaded from here on; returns `yes`, `no`, `stale` or `off`."""
    found, hot = look(os.path.dirname(init_file)), os.environ.get("TAPELOG_HOT", "")
    if hot == "compiled" and found != "yes":
        raise ImportError(f"TAPELOG_HOT=compiled, but compiled modules: {found}; run `make build`")
    if found == "yes" and hot == "interpreted":
        found = "off"
    if found in ("stale", "off") or hot == "interpreted":  # also those that a build puts here from now on
        sys.meta_path.insert(0, SourcesOnly(package))
    return found


def _at(directory: str, relative: str) -> str:
    return os.path.join(directory, *relative.split("/"))
