"""One command of the test run: started in its own process group, watched, ended with whatever it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
KAFKA_LIB = ROOT / ".tools" / "kafka" / "lib"
LIMIT_S = 1800.0
PROGRESS = re.compile(rb"^([.FEsxX]+) *(?:\[ *\d+%\])?\r?$", re.MULTILINE)
"""A line of outcomes as pytest -q prints them."""


@dataclass
class Result:
    """What became of one line of the plan."""

    name: str
    ok: bool
    seconds: float
    note: str = ""
    left_out: list[tuple[int, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Job:
    """A command to run. `tests`: how many it will count; `nice`: how much it steps back for others."""

    name: str
    command: tuple[str, ...]
    hot: str = ""
    tests: int = 0
    nice: int = 0
    limit_s: float = LIMIT_S


def environment(hot: str = "") -> dict[str, str]:
    """The environment of everything that is run."""
    env = {"TAPELOG_KAFKA_LIB": str(KAFKA_LIB)} | os.environ | {"PYTHONPATH": str(ROOT / "src")}
    env["PATH"] = f"{BIN}{os.pathsep}{env.get('PATH', '')}"
    if hot:
        env["TAPELOG_HOT"] = hot
    return env


class Running:
    """A job under way. What it says is kept until somebody asks (`said`), or `shown` as it comes."""

    def __init__(self, job: Job, *, shown: bool = False) -> None:
        self.job = job
        self._began = time.monotonic()
        self._scratch = tempfile.TemporaryDirectory(prefix="tapelog-test-")
        self._report = Path(self._scratch.name, "report.json")
        self._output = Path(self._scratch.name, "output")
        env: Mapping[str, str] = environment(job.hot) | {"TAPELOG_REPORT": str(self._report)}
        with self._output.open("wb") as output:
            more: dict[str, Any] = {} if shown else {"stdout": output, "stderr": subprocess.STDOUT}
            self._process = subprocess.Popen(
                job.command, cwd=ROOT, env=env, start_new_session=True, preexec_fn=self._step_back, **more
            )

    def _step_back(self) -> None:
        """In the new process. A session can be a group of its own to the scheduler, where plain nice ends."""
        if self.job.nice:
            os.nice(self.job.nice)
            with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
                group.write(str(self.job.nice))

    def ended(self) -> bool:
        """Nothing more will come; a job beyond its limit has ended, too."""
        return self._process.poll() is not None or time.monotonic() - self._began > self.job.limit_s

    def said(self) -> bytes:
        """What it has printed so far, unless that was shown."""
        return self._output.read_bytes()

    def progress(self) -> str:
        """How far it is, in a few words."""
        if not self.job.tests:
            return self.job.name
        done = sum(len(found.group(1)) for found in PROGRESS.finditer(self.said()))
        return f"{self.job.name} {done} of {self.job.tests}"

    def finish(self) -> Result:
        """Wait for its end, within the limit, and end its group; call `said` before."""
        left = max(0.0, self._began + self.job.limit_s - time.monotonic())
        try:
            code = self._process.wait(left)
            note = f"exit code {code}" if code else ""
        except subprocess.TimeoutExpired:
            code, note = 1, f"no end after {self.job.limit_s:g} s"
        result = Result(self.job.name, code == 0, time.monotonic() - self._began, note)
        self.abandon()
        if self._report.exists():
            told = json.loads(self._report.read_text())
            counts = ", ".join(f"{count} {what}" for what, count in told["counts"].items() if count)
            result.note = ", ".join(part for part in (counts, result.note) if part)
            result.left_out = [(count, path, reason) for count, path, reason in told["left_out"]]
        return result

    def abandon(self) -> None:
        """Ask whatever is left of it to end, then insist."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, sign)
            except ProcessLookupError:
                break
            time.sleep(0.3)
        self._process.wait()


def run(job: Job) -> Result:
    """One job by itself, its output shown as it comes."""
    print(f"== {job.name}", flush=True)
    running = Running(job, shown=True)
    try:
        return running.finish()
    finally:
        running.abandon()
