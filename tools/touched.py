"""A pytest plugin for tools/mutants.py: which tests run which functions, and then only those tests, in that order.

With TAPELOG_TOUCHES naming a file, each test's CPU time and the functions under TAPELOG_TOUCHED_ROOT that it enters
are written there. With TAPELOG_CHOSEN naming one, only the tests listed there run, in that order, and the first that
fails is written to TAPELOG_FAILED. A test fails too when it takes far more CPU time than it took without a mistake:
other work on the machine does not count. Generated counterexamples are not made smaller: that they exist is enough.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from hypothesis import Phase, settings

TOUCHES = os.environ.get("TAPELOG_TOUCHES", "")
ROOT = os.environ.get("TAPELOG_TOUCHED_ROOT", "")
CHOSEN = os.environ.get("TAPELOG_CHOSEN", "")
FAILED = os.environ.get("TAPELOG_FAILED", "")
TIMES_LONGER = 8
LONGER_S = 6.0
"""A test may take eight times and six seconds longer than it took."""

settings.register_profile("mutants", phases=(Phase.explicit, Phase.reuse, Phase.generate))
settings.load_profile("mutants")

_codes: set[CodeType] = set()
_touches: dict[str, dict[str, Any]] = {}
_allowed: dict[str, float] = {}
_unreliable: list[str] = []


def _entered(frame: FrameType, event: str, argument: object) -> None:
    _codes.add(frame.f_code)


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Only the chosen ones, in their order."""
    if CHOSEN:
        _allowed.update(json.loads(Path(CHOSEN).read_text()))
        order = {name: number for number, name in enumerate(_allowed)}
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note what the test enters, or see that it ends."""
    if not TOUCHES:
        limit = _allowed.get(item.nodeid, 60.0) * TIMES_LONGER + LONGER_S
        signal.signal(signal.SIGVTALRM, lambda *_: _no_end(item.nodeid))
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    _codes.clear()
    began = time.process_time()
    threading.settrace(_entered)
    sys.settrace(_entered)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        entered = sorted(
            {
                f"{code.co_filename.removeprefix(ROOT)}:{code.co_firstlineno}"
                for code in list(_codes)
                if code.co_filename.startswith(ROOT) and not code.co_name.startswith("<")
            }
        )
        _touches[item.nodeid] = {"cpu": round(time.process_time() - began, 3), "entered": entered}


def _no_end(name: str) -> None:
    Path(FAILED).write_text(f"no end: {name}")
    os._exit(9)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """The first that fails."""
    if report.failed and FAILED and not Path(FAILED).exists():
        Path(FAILED).write_text(report.nodeid)
    if report.failed and TOUCHES:
        _unreliable.append(report.nodeid)


def pytest_sessionfinish() -> None:
    """The table of touches; a test that fails without any mistake is left out of it."""
    if TOUCHES:
        for name in _unreliable:
            _touches.pop(name, None)
        Path(TOUCHES).write_text(json.dumps(_touches, indent=0))
