"""Run a node in the foreground: what `tape up` and `tape node` call.

Reads the real clock, disk and network through `system.py` and the reactor; returns when SIGTERM or SIGINT arrives.
"""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import IO, Final

from tapelog.base.node_config import Listener, NodeConfig, NodeConfigError
from tapelog.base.ports import DiskError
from tapelog.base.timers import Timers
from tapelog.metadata.image import Endpoint
from tapelog.node.core import NodeCore
from tapelog.node.memory import keep_large_buffers
from tapelog.node.reactor import Reactor, bind
from tapelog.node.shell import Shell
from tapelog.node.system import SystemClock, SystemDisk, SystemEntropy

log = logging.getLogger("tapelog.node")

COLLECTOR_THRESHOLDS: Final = (100_000, 20, 50)
TUNE_AFTER_MS: Final = 200


class DirectoryInUseError(Exception):
    """Another live process holds the log directory."""


def run(config: NodeConfig, *, on_ready: Callable[[str], None]) -> int:
    """Serve until told to stop; returns the exit code. on_ready gets `HOST:PORT[,HOST:PORT…]` once clients are welcome.

    Raises DirectoryInUseError, OSError for an address that cannot be had, and WrongDirectoryError.
    """
    _configure_logging()
    if len(config.log_dirs) != 1:
        raise NodeConfigError("this version keeps its logs in one directory: give one")
    directory = config.log_dirs[0]
    os.makedirs(directory, exist_ok=True)
    lock = _lock(directory)
    try:
        return _run(config, directory, on_ready)
    finally:
        lock.close()


def _run(config: NodeConfig, directory: str, on_ready: Callable[[str], None]) -> int:
    clock = SystemClock()
    timers = Timers(clock)
    reactor = Reactor(timers)
    _stop_on_signals(reactor)
    backlog = int(config.settings.get("socket.listen.backlog.size", "50"))
    sockets = [(listener, bind(listener.host, listener.port, max(backlog, 128))) for listener in _listeners(config)]
    core = NodeCore(config, clock, SystemEntropy(), SystemDisk(directory, reactor.post), timers)
    failed: list[DiskError] = []

    def halt(error: DiskError) -> None:
        failed.append(error)
        reactor.stop()

    core.halt = halt
    core.boot()
    endpoints = {listener.name: _endpoint(config, listener, bound) for listener, bound in sockets}
    controller = endpoints.pop(config.controller_listener.name) if config.controller_listener is not None else None
    core.register(list(endpoints.values()), controller or next(iter(endpoints.values())))
    shell = Shell(reactor, core)
    while core.metadata.broker_epoch < 0 and not reactor.stopping:
        reactor.turn(shell.settle)
    for listener, bound in sockets:
        shell.listen(bound, listener.name)
    core.housekeeping.start()
    _calm_the_collector()
    timers.after(TUNE_AFTER_MS, keep_large_buffers)
    on_ready(",".join(f"{endpoint.host}:{endpoint.port}" for endpoint in endpoints.values()))
    reactor.run(shell.settle)
    shell.close()
    core.shutdown()
    if failed:
        log.error("stopped: %s", failed[0])
        return 1
    return 0


def _calm_the_collector() -> None:
    """What lives since the start is never looked at again, and requests leave no cycles behind: collect rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


def _listeners(config: NodeConfig) -> list[Listener]:
    controller = config.controller_listener
    return [*config.listeners, *([controller] if controller is not None else [])]


def _endpoint(config: NodeConfig, listener: Listener, bound: socket.socket) -> Endpoint:
    advertised = next((other for other in config.advertised() if other.name == listener.name), listener)
    port = advertised.port or bound.getsockname()[1]
    return Endpoint(listener.name, advertised.host or listener.host, port)


def _lock(directory: str) -> IO[bytes]:
    handle = open(os.path.join(directory, ".lock"), "ab")  # noqa: SIM115
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise DirectoryInUseError(f"{directory} is in use by another process") from None
    return handle


def _stop_on_signals(reactor: Reactor) -> None:
    signal.set_wakeup_fd(reactor.wakeup_fd, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: reactor.stop())


def _configure_logging() -> None:
    root = logging.getLogger("tapelog")
    if not root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        root.propagate = False
