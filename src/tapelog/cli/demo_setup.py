"""What the demo's pipeline waits for: a command that brings Spark, run in the background beside the live view."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from tapelog.cli.units import format_duration, format_size

LOOK_S = 1.0
STOP_S_MAX = 5.0
LAST_BYTES = 4000


class Setup:
    """The command, in a process group of its own. Ending it early leaves no process and no temporary file behind."""

    def __init__(self, command: str) -> None:
        self._scratch = Path(tempfile.mkdtemp(prefix="tapelog-setup-"))
        self._said = self._scratch / "said"
        temporary = self._scratch / "tmp"
        temporary.mkdir()
        self._begun = time.monotonic()
        self._looked, self._size = float("-inf"), 0
        env = os.environ | {"TMPDIR": str(temporary)}
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                ("sh", "-c", command),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=env,
                start_new_session=True,
            )

    def running(self) -> bool:
        """Whether it is still at it."""
        return self._process.poll() is None

    def succeeded(self) -> bool:
        """Whether it has ended well."""
        return self._process.poll() == 0

    def line(self) -> str:
        """How far it is, or why it failed."""
        if self.running():
            now = time.monotonic()
            if now - self._looked >= LOOK_S:
                self._looked, self._size = now, max(self._size, _fetched(self._scratch / "tmp"))
            fetched = f", {format_size(self._size)} fetched" if self._size else ""
            return f"pipeline: Spark is being installed, {format_duration((now - self._begun) * 1000)}{fetched}"
        if self.succeeded():
            return "pipeline: Spark is installed"
        return f"no pipeline: Spark could not be installed: {self.last_words()}"

    def last_words(self) -> str:
        """The last line that it said."""
        text = self._said.read_bytes()[-LAST_BYTES:].decode(errors="replace") if self._said.exists() else ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else f"exit code {self._process.poll()}"

    def end(self) -> None:
        """Stop it if it runs, and take its temporary files away."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if self.running():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, sign)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(STOP_S_MAX)
        shutil.rmtree(self._scratch, ignore_errors=True)


def _fetched(directory: Path) -> int:
    """Bytes of the archives that pip has fetched; what goes away meanwhile counts nothing."""
    total = 0
    for archive in directory.glob("pip-unpack-*/*"):
        with contextlib.suppress(OSError):
            total += archive.lstat().st_size
    return total
