"""Suites beside each other: those that mostly wait in one lane, those that compute in another, and the build.

Each lane runs its jobs in turn. What a job says is printed in one piece when it ends; until then a line now and then
tells how far everybody is. The build puts compiled modules into the tree while interpreted suites run in it: those
are told TAPELOG_HOT=interpreted, which never looks at them (tests/tidy/test_compiled_modules.py).
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence

from jobs import Job, Result, Running
from plan import COMPILED

LOOK_S = 0.1
TELL_S = 30.0
ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Lanes:
    """Runs the lanes side by side; compiled jobs wait for the build, and are not run when it fails."""

    def __init__(self, lanes: Sequence[Sequence[Job]], build: Job | None, tell_s: float = TELL_S) -> None:
        self._left = [list(lane) for lane in lanes if lane]
        self._tell_s = tell_s
        self._running: list[Running | None] = [None for _ in self._left]
        self._build = build
        self._building: Running | None = None
        self._built = build is None
        """There are compiled modules, or never will be."""
        self._failed_build = False
        self.results: list[Result] = []

    def run(self) -> list[Result]:
        """Until every job has ended; results in the order of their ends."""
        began = told = time.monotonic()
        try:
            if self._build is not None:
                self._building = Running(self._build)
            while self._step():
                time.sleep(LOOK_S)
                now = time.monotonic()
                if now - told >= self._tell_s:
                    told = now
                    self._tell(now - began)
        finally:
            for running in [self._building, *self._running]:
                if running is not None:
                    running.abandon()
        return self.results

    def _step(self) -> bool:
        """See who has ended and who can begin; is anybody left?"""
        if self._building is not None and self._building.ended():
            self._failed_build = not self._end(self._building).ok
            self._building, self._built = None, True
        for number, running in enumerate(self._running):
            if running is not None and running.ended():
                self._end(running)
                self._running[number] = None
            while self._running[number] is None and self._may_begin(number):
                job = self._left[number].pop(0)
                if job.hot == COMPILED and self._failed_build:
                    self.results.append(Result(job.name, False, 0.0, "not run: the build failed"))
                else:
                    self._running[number] = Running(job)
        return self._building is not None or any(self._running) or any(self._left)

    def _may_begin(self, number: int) -> bool:
        return bool(self._left[number]) and (self._built or self._left[number][0].hot != COMPILED)

    def _end(self, running: Running) -> Result:
        said = running.said()
        if not sys.stdout.isatty():  # Maven resets colours that it never set
            said = ESCAPE.sub(b"", said)
        result = running.finish()
        print(f"== {result.name}: {'ok' if result.ok else 'FAILED'}, {result.seconds:.0f} s", flush=True)
        sys.stdout.buffer.write(said)
        sys.stdout.flush()
        self.results.append(result)
        return result

    def _tell(self, seconds: float) -> None:
        under_way = [running.progress() for running in [*self._running, self._building] if running is not None]
        print(f"   {int(seconds) // 60}:{int(seconds) % 60:02d}  {'; '.join(under_way)}", flush=True)


def minutes(waiting: float, computing: float, building: float) -> float:
    """What two cores need for lanes of these lengths: waiting takes its time, and a fifth of it is work."""
    return max(waiting, computing + building / 2 + waiting / 5)
