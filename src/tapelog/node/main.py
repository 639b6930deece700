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
import time
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Final

from tapelog.base.addresses import host_port
from tapelog.base.node_config import Listener, NodeConfig
from tapelog.base.ports import Disk, DiskError, Net
from tapelog.base.timers import Timers
from tapelog.client.pacing import unpace_at
from tapelog.log.compaction.order import CleaningWorker
from tapelog.metadata.fault import MetadataFault
from tapelog.metadata.image import Endpoint
from tapelog.node.config_notes import tell_static
from tapelog.node.core import NodeCore
from tapelog.node.flush_signal import FlushSignals
from tapelog.node.lifecycle import RUNNING
from tapelog.node.limits import memory_bytes
from tapelog.node.memory import keep_large_buffers
from tapelog.node.reactor import Reactor, bind
from tapelog.node.shell import Shell
from tapelog.node.system import Aside, SystemClock, SystemDisk, SystemEntropy

if TYPE_CHECKING:
    from tapelog.log.tier.store import ObjectStore

log = logging.getLogger("tapelog.node")

COLLECTED_AT_ONCE_MAX: Final = 41_000
"""Objects that Python's collector looks at in one go while the loop stands still: 30 to 100 ns each.

Python counts growth. Objects that replace others one by one come on top, and a full collection looks at everything."""
COLLECTOR_THRESHOLDS: Final = (20_000, 0, 2_500)
"""The young generation at 20,000 objects more than before, every second time with the one before it. Everything, after
a hundred million: with a million objects that takes a tenth of a second, and requests leave no cycles behind."""
TUNE_AFTER_MS: Final = 200
PARTING_MS: Final = 50
"""How long a node that stops has for its last words to the others."""


class DirectoryInUseError(Exception):
    """Another live process holds the log directory."""


def run(config: NodeConfig, *, on_ready: Callable[[str], None]) -> int:
    """Serve until told to stop; returns the exit code. on_ready gets `HOST:PORT[,HOST:PORT…]` once clients are welcome.

    Raises DirectoryInUseError, OSError for an address that cannot be had, WrongDirectoryError, and MetadataReplayError
    for metadata on disk that is damaged or missing.
    """
    _configure_logging(config)
    tell_static(config.settings)
    locks, broken = _take(config)
    try:
        return _run(config, broken, on_ready)
    except MetadataFault as fault:  # as in a crash: nobody is told anything that half an image says
        log.critical("stopped: %s", fault, exc_info=fault)
        return 1
    finally:
        for lock in locks:
            lock.close()


def _take(config: NodeConfig) -> tuple[list[IO[bytes]], dict[str, DiskError]]:
    """Lock every log directory; those where that fails, other than the metadata's, are offline."""
    metadata = config.metadata_log_dir
    locks: list[IO[bytes]] = []
    broken: dict[str, DiskError] = {}
    for path in dict.fromkeys([metadata, *config.log_dirs]):
        try:
            os.makedirs(path, exist_ok=True)
            locks.append(_lock(path))
        except OSError as error:
            if path == metadata:
                raise
            broken[path] = DiskError(f"cannot use {path}: {error.strerror or error}")
    return locks, broken


def _run(config: NodeConfig, broken: dict[str, DiskError], on_ready: Callable[[str], None]) -> int:
    clock = SystemClock()
    timers = Timers(clock)
    reactor = Reactor(timers)
    stop = _stop_on_signals(reactor)
    backlog = int(config.settings.get("socket.listen.backlog.size", "50"))
    sockets = [(listener, bind(listener.host, listener.port, max(backlog, 128))) for listener in _listeners(config)]
    for _, listening in sockets:
        unpace_at(listening, listening.getsockname()[0])
    signals = FlushSignals()
    disk, others = _disks(config, broken, reactor, signals)
    files_max = int(config.settings.get("tapelog.open.files.max", "-1"))
    if files_max > 0:
        disk.handles.files_max = files_max
    core = NodeCore(
        config, clock, SystemEntropy(), disk, timers, _net(config, reactor), others, _cleaning(reactor, signals)
    )
    core.pressure.remember(memory_bytes())
    core.cleaner.courtesies.stopwatch = time.perf_counter_ns
    core.cleaner.courtesies.signal_of = lambda disk: (
        disk.signal if signals.shared and isinstance(disk, SystemDisk) else None
    )
    failed: list[str] = []

    def halt(reason: object) -> None:
        failed.append(str(reason))
        reactor.stop()

    core.halt = core.refused = halt
    core.store = _store(config, reactor, core)
    core.boot()
    endpoints = {listener.name: _endpoint(config, listener, bound) for listener, bound in sockets}
    named = config.controller_listener.name if config.controller_listener is not None else ""
    controller = endpoints.pop(named, None)
    shell = Shell(reactor, core)
    for listener, bound in sockets:
        if controller is not None and listener.name == controller.name:
            shell.listen(bound, listener.name)  # other nodes must reach it before anybody can serve
    core.register(list(endpoints.values()), controller)
    while core.lifecycle.state != RUNNING and not reactor.stopping:
        reactor.turn(shell.settle)
    for listener, bound in sockets:
        if listener.name in endpoints:
            shell.listen(bound, listener.name)
    core.housekeeping.start()
    calm_the_collector()
    timers.after(TUNE_AFTER_MS, keep_large_buffers)
    if not reactor.stopping:
        told = list(endpoints.values()) or ([controller] if controller is not None else [])
        on_ready(",".join(host_port(endpoint.host, endpoint.port) for endpoint in told))
        stop.politely(lambda: core.lifecycle.leave(reactor.stop))
        reactor.run(shell.settle)
    if not core.alone:
        _say_goodbye(core, reactor, shell)
    shell.close()
    core.shutdown()
    if failed:
        log.error("stopped: %s", failed[0])
        return 1
    return 0


def _say_goodbye(core: NodeCore, reactor: Reactor, shell: Shell) -> None:
    core.part()
    reactor.timers.after(PARTING_MS, _nothing)
    until_ms = core.clock.monotonic_ms() + PARTING_MS
    while core.clock.monotonic_ms() < until_ms:
        reactor.turn(shell.settle)


def _nothing() -> None:
    pass


def _net(config: NodeConfig, reactor: Reactor) -> Net | None:
    if not config.voters:
        return None
    from tapelog.node.outbound import Outbound

    return Outbound(reactor, Aside(reactor.post).start_job)


def _disks(
    config: NodeConfig, broken: dict[str, DiskError], reactor: Reactor, signals: FlushSignals
) -> tuple[SystemDisk, dict[str, Disk | DiskError]]:
    """Of the metadata's directory, and of the others."""
    metadata = config.metadata_log_dir
    disk = SystemDisk(metadata, reactor.post, signal=signals.of(metadata))
    others: dict[str, Disk | DiskError] = {
        path: broken[path] if path in broken else SystemDisk(path, reactor.post, disk.handles, signals.of(path))
        for path in config.log_dirs
        if path != metadata
    }
    return disk, others


def _cleaning(reactor: Reactor, signals: FlushSignals) -> Callable[[], CleaningWorker]:
    def make() -> CleaningWorker:
        from tapelog.node.cleaner_process import ProcessWorker

        return ProcessWorker(reactor.post, signals=signals)

    return make


def _store(config: NodeConfig, reactor: Reactor, core: NodeCore) -> ObjectStore | None:
    """Where old segments go; None without remote.log.storage.system.enable. Opened when first used."""
    settings = config.broker_settings()
    if not settings.flag("remote.log.storage.system.enable") or not config.is_broker:
        return None
    from tapelog.node.directory_mark import NOTE, Memory
    from tapelog.node.object_stores import open_backend, tier_url
    from tapelog.node.tier import COPIERS_MAX
    from tapelog.node.tier_known import has_tiered_topics
    from tapelog.node.tier_store import ThreadedStore

    url, endpoint = tier_url(config), settings.string("tapelog.tier.endpoint")
    own = not settings.string("tapelog.tier.url")
    memory = Memory(f"{config.metadata_log_dir}/{NOTE}", own, lambda: has_tiered_topics(core.image))

    def complain(line: str) -> None:
        reactor.post(lambda: core.dispatcher.complain(line))

    return ThreadedStore(
        lambda: open_backend(url, endpoint, memory, complain),
        reactor.post,
        copiers=min(COPIERS_MAX, settings.whole("remote.log.manager.copier.thread.pool.size")),
        bytes_per_second=lambda: 1 if core.tier is None else core.tier.bytes_per_second,
    )


def calm_the_collector() -> None:
    """What lives since the start is never looked at again; what comes later is, in pieces that take a millisecond."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


def _listeners(config: NodeConfig) -> list[Listener]:
    controller = config.controller_listener
    return [*config.listeners, *([controller] if controller is not None and config.is_controller else [])]


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


class _Stop:
    """SIGTERM and SIGINT: the first asks politely, once somebody said how; any other stops at once."""

    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor
        self._ask: Callable[[], None] | None = None

    def politely(self, ask: Callable[[], None]) -> None:
        """How to ask; it ends by stopping the reactor."""
        self._ask = ask

    def signalled(self, number: int, frame: object) -> None:
        """A signal came, at any time."""
        ask, self._ask = self._ask, None
        if ask is None:
            self._reactor.stop()
        else:
            self._reactor.post(ask)


def _stop_on_signals(reactor: Reactor) -> _Stop:
    stop = _Stop(reactor)
    signal.set_wakeup_fd(reactor.wakeup_fd, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop.signalled)
    return stop


def _configure_logging(config: NodeConfig) -> None:
    root = logging.getLogger("tapelog")
    if not root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        who = f" node-{config.node_id}" if config.voters else ""
        handler.setFormatter(logging.Formatter(f"%(asctime)s %(levelname)s{who} %(message)s"))
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        root.propagate = False
