"""What runs: one file per pipeline in a directory of its own, written by the run, read by list, status and stop.

A run is alive while the process of its id is the one that wrote it: ids are used again, so the start time counts.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from tapelog.spark.plan.errors import PlanError

FILES_MAX: Final = 1000
STOP_S: Final = 60.0
_LOOK_S: Final = 0.1
_START_FIELD: Final = 19  # of /proc/PID/stat, counted behind the name


@dataclass(frozen=True, slots=True)
class Run:
    """A pipeline that was started; `queries` holds their last progress by name."""

    name: str
    file: str
    pid: int
    process_start: str
    begun_ms: int
    updated_ms: int
    state: str
    """starting, running, stopping, ended, failed."""
    master: str
    checkpoint: str
    log: str
    error: str = ""
    queries: dict[str, dict[str, Any]] = field(default_factory=dict)


class Runs:
    """The directory of runs on this machine."""

    def __init__(self, directory: Path, alive: Callable[[int, str], bool] | None = None) -> None:
        self.directory = directory
        self._alive = alive or is_alive

    def path(self, name: str) -> Path:
        """The file of a run."""
        return self.directory / f"{name}.json"

    def log_path(self, name: str) -> Path:
        """Where the words of Spark go."""
        return self.directory / f"{name}.log"

    def write(self, run: Run) -> None:
        """Keep it, whole or not at all."""
        self.directory.mkdir(parents=True, exist_ok=True)
        place = self.path(run.name)
        draft = place.with_suffix(f".{run.pid}.tmp")
        draft.write_text(json.dumps(asdict(run)), encoding="utf-8")
        draft.replace(place)

    def read(self, name: str) -> Run | None:
        """A run by its name, with the state that it is really in; None: never heard of."""
        return self._read(self.path(name))

    def all(self) -> list[Run]:
        """Every run, by name."""
        found = [self._read(path) for path in sorted(self.directory.glob("*.json"))[:FILES_MAX]]
        return [run for run in found if run is not None]

    def claim(self, run: Run) -> None:
        """Write the first state of a run; PlanError if another of its name is alive: they would share checkpoints."""
        other = self.read(run.name)
        if other is not None and other.pid != run.pid and self.alive(other):
            raise PlanError(
                f"The pipeline {run.name} runs already: process {other.pid}, from {other.file}.",
                f"Stop it first (`tape pipeline stop {run.name}`), or give this one another name and checkpoint.",
            )
        self.write(run)

    def alive(self, run: Run) -> bool:
        """Whether its process is there."""
        return self._alive(run.pid, run.process_start)

    def _read(self, path: Path) -> Run | None:
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            run = Run(**{one.name: told[one.name] for one in fields(Run) if one.name in told})
        except (OSError, ValueError, TypeError):
            return None
        if run.state in ("starting", "running", "stopping") and not self.alive(run):
            return replace(run, state="died", error=run.error or f"its process {run.pid} ended without a word")
        return run

    def stop(self, run: Run, *, seconds: float = STOP_S, kill: Callable[[int, int], None] = os.kill) -> bool:
        """Ask it to end, and wait; whether it did. A process that is not its own is never asked."""
        if not self.alive(run):
            return True
        try:
            kill(run.pid, signal.SIGTERM)
        except ProcessLookupError:
            return True
        deadline = time.monotonic() + seconds
        while self.alive(run):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_S)
        return True


def runs_directory(env: Mapping[str, str]) -> Path:
    """$TAPELOG_PIPELINES, or else where a user's state belongs."""
    if env.get("TAPELOG_PIPELINES"):
        return Path(env["TAPELOG_PIPELINES"])
    base = Path(env["XDG_STATE_HOME"]) if env.get("XDG_STATE_HOME") else Path.home() / ".local" / "state"
    return base / "tapelog" / "pipelines"


def process_start(pid: int) -> str:
    """When the process began, as the system counts; empty where it does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    words = stat.rpartition(")")[2].split()
    return "" if words[0] == "Z" else words[_START_FIELD]


def is_alive(pid: int, start: str) -> bool:
    """Whether the process of this id lives and began then."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return process_start(pid) == start
