"""A wall clock per node that can be set wrong while the node runs, by a shim that is preloaded (clocks.c)."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

NANOSECONDS = 1_000_000_000


def built(scratch: Path) -> Path | None:
    """The shim, compiled; None where there is no compiler."""
    if shutil.which("cc") is None:
        return None
    library = scratch / "clocks.so"
    source = Path(__file__).with_suffix(".c")
    words = ["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(words, check=True)
    return library


class NodeClock:
    """What one node takes for the time of day."""

    def __init__(self, scratch: Path, number: int, shim: Path | None) -> None:
        self.can_skew = shim is not None
        self._shim = shim
        self._file = scratch / f"clock-{number}"
        self.skew_s = 0.0
        self.set(0.0)

    def set(self, seconds: float) -> None:
        """So far ahead of the truth (or, less than 0, behind) from now on."""
        self.skew_s = seconds
        value = struct.pack("=q", int(seconds * NANOSECONDS))
        if self._file.exists():
            with self._file.open("r+b") as file:
                file.write(value)
        else:
            self._file.write_bytes(value)

    def environment(self) -> dict[str, str]:
        """For the node's process."""
        return {} if self._shim is None else {"LD_PRELOAD": str(self._shim), "TAPELOG_CLOCK": str(self._file)}
