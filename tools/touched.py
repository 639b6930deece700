"""A pytest plugin for tools/mutants.py: which tests run which functions, and chosen tests against a mistake.

With TAPELOG_TOUCHES naming a file, each test's CPU time and the functions under src/ that it enters are written
there. Otherwise the tests are collected once and wait: each line from the pipe TAPELOG_ASKS names a mistake (file and
number, or none) and the tests, or files of tests, to run in their order. A child of this process then replaces the one
function that is mistaken, runs the tests until the first fails, and its name is the answer: nothing is imported twice.
A test fails too when it takes far more CPU time than it took without a mistake, or sleeps too long: other work on the
machine does not count. Generated counterexamples are not made smaller: that they exist is enough.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from hypothesis import Phase, settings

from mistakes import mistake

TOUCHES = os.environ.get("TAPELOG_TOUCHES", "")
ASKS = int(os.environ.get("TAPELOG_ASKS", "-1"))
ANSWERS = int(os.environ.get("TAPELOG_ANSWERS", "-1"))
ROOT = f"{Path.cwd()}/"
SOURCES = f"{ROOT}src/"
TIMES_LONGER = 8
LONGER_S = 6.0
"""A test may take eight times and six seconds longer than it took."""
ASLEEP_S = 180
"""The tests of one mistake may sleep so long altogether; waiting for a processor is no sleep."""
UNMADE = "cannot be made"

settings.register_profile("mutants", phases=(Phase.explicit, Phase.reuse, Phase.generate))
settings.load_profile("mutants")

_codes: set[CodeType] = set()
_touches: dict[str, dict[str, Any]] = {}
_unreliable: list[str] = []
_allowed: dict[str, float] = {}
_first: list[str] = []


def _entered(frame: FrameType, event: str, argument: object) -> None:
    _codes.add(frame.f_code)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note what the test enters, or see that it ends."""
    if not TOUCHES:
        signal.signal(signal.SIGVTALRM, lambda *_: _answer(f"no end: {item.nodeid}"))
        allowed = _allowed[item.nodeid if item.nodeid in _allowed else item.nodeid.partition("::")[0]]
        signal.setitimer(signal.ITIMER_VIRTUAL, allowed * TIMES_LONGER + LONGER_S)
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
        entered = {_place(code) for code in list(_codes) if code.co_filename.startswith(SOURCES)}
        _touches[item.nodeid] = {"cpu": round(time.process_time() - began, 3), "entered": sorted(entered)}


def _place(code: CodeType) -> str:
    return f"{code.co_filename.removeprefix(ROOT)}:{code.co_firstlineno}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """The first that fails."""
    if report.failed:
        _first.append(report.nodeid)
        _unreliable.append(report.nodeid)


def pytest_sessionfinish() -> None:
    """The table of touches; a test that fails without any mistake is left out of it."""
    if TOUCHES:
        for name in _unreliable:
            _touches.pop(name, None)
        Path(TOUCHES).write_text(json.dumps(_touches, indent=0))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Wait for mistakes; in a child, one of them is made and its tests run as they always do."""
    if TOUCHES:
        return (yield)
    items: dict[str, list[pytest.Item]] = {}
    for item in session.items:
        items[item.nodeid] = [item]
        items.setdefault(item.nodeid.partition("::")[0], []).append(item)
    functions = _functions()
    gc.freeze()
    os.write(ANSWERS, f"{len(items)}\n".encode())
    for line in os.fdopen(ASKS):
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setsid()
            if asked["file"]:
                _make(functions, asked["file"], asked["at"], asked["outer"])
            _allowed.update(asked["tests"])
            session.items = [item for name in _allowed for item in items.get(name, ())]
            break
        _wait(child)
    else:
        os._exit(0)
    try:
        return (yield)
    finally:
        try:
            session._setupstate.teardown_exact(None)
        finally:
            _answer(_first[0] if _first else "")


def _functions() -> dict[str, list[FunctionType]]:
    found: dict[str, list[FunctionType]] = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(ROOT):
            found.setdefault(_place(one.__code__), []).append(one)
    return found


def _make(functions: dict[str, list[FunctionType]], file: str, at: int, outer: int) -> None:
    path = Path(ROOT, file)
    made = compile(mistake(path.read_text(), at).tree, str(path), "exec", dont_inherit=True)
    changed = {_place(code): code for code in _codes_in(made) if code.co_firstlineno == outer}
    targets = functions.get(f"{file}:{outer}", [])
    if len(changed) != 1 or not targets:
        _answer(UNMADE)
    try:
        for function in targets:
            function.__code__ = changed[f"{file}:{outer}"]
    except ValueError:  # it closes over other names
        _answer(UNMADE)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if not one.co_name.startswith("<"):
                yield one
            yield from _codes_in(one)


def _answer(text: str) -> None:
    os.write(ANSWERS, f"{json.dumps(text)}\n".encode())
    os._exit(0)


def _wait(child: int) -> None:
    began = time.monotonic()
    pause = 0.005
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - began > ASLEEP_S and time.monotonic() - began - _not_asleep(child) > ASLEEP_S:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
        time.sleep(pause)
        pause = min(0.2, pause * 1.5)
    if status:
        os.write(ANSWERS, b'"no end: it died, or slept too long"\n')
    try:
        os.killpg(child, signal.SIGKILL)  # what it may have started
    except ProcessLookupError:
        pass


def _not_asleep(process: int) -> float:
    running, waiting, _ = Path(f"/proc/{process}/schedstat").read_text().split()
    return (int(running) + int(waiting)) / 1e9
