"""Processes from outside: start pinned to a core, CPU and memory of a whole tree, how busy the machine is."""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
STOP_WAIT_S = 20.0


def cores() -> tuple[int, int]:
    """The core for the server and the core for the client; the same one when the machine offers a single core."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def tree(pid: int) -> list[int]:
    """The process and all its descendants: a broker may have workers."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                children.setdefault(int(_stat(int(name))[1]), []).append(int(name))
    found, todo = [], [pid]
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def cpu_s(pid: int) -> float:
    """CPU seconds used so far by the living processes of the tree, children that ended included once reaped."""
    total = 0
    for member in tree(pid):
        with contextlib.suppress(OSError, IndexError):
            total += sum(map(int, _stat(member)[11:15]))
    return total / TICK


def memory_mb(pid: int, field: str = "Pss") -> float:
    """Memory of the tree in MB; `Pss` shares common pages fairly between processes, `Rss` counts them in each."""
    total_kb = 0
    for member in tree(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith(field + ":"):
                    total_kb += int(line.split()[1])
    return round(total_kb * 1024 / 1e6, 1)


def machine_busy_s() -> float:
    """CPU seconds that all processes of the machine have used since it booted."""
    with open("/proc/stat") as f:
        fields = [int(x) for x in f.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICK


def dirty_mb() -> float:
    """Page cache that waits to be written back, in MB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Dirty:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def settle(limit_mb: float = 400.0, wait_s: float = 15.0) -> None:
    """Wait (bounded) until write-back of an earlier run no longer competes with the next one."""
    end = time.monotonic() + wait_s
    while dirty_mb() > limit_mb and time.monotonic() < end:
        time.sleep(0.1)


def touch_memory(megabytes: int) -> None:
    """Touch free memory once, so that page cache on it costs the same for whoever runs first.

    A virtual machine gets its memory from the host at the first touch, which can make a first run four times slower.
    """
    step = 1 << 20
    block = b"\1" * step
    with mmap.mmap(-1, megabytes * step) as memory:
        for at in range(0, megabytes * step, step):
            memory[at : at + step] = block


def available_mb() -> int:
    """Memory that can be had without pushing others out, in MiB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    return 0


def spawn(
    command: list[str], log: Path, core: int | None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a server in its own session, its output in `log`, on one core."""

    def on_core() -> None:
        if core is not None:
            os.sched_setaffinity(0, {core})

    full = dict(os.environ) if env is None else {**os.environ, **env}
    with open(log, "ab") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            env=full,
            preexec_fn=on_core,
        )
    if nice := os.getpriority(os.PRIO_PROCESS, 0):
        prioritise(nice, process.pid)
    return process


def prioritise(nice: int, pid: int | None = None) -> None:
    """Nice level of a process and of its scheduler group: a new session is a new group, and plain nice ends there."""
    os.setpriority(os.PRIO_PROCESS, pid or 0, nice)
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid or 'self'}/autogroup").write_text(str(nice))


def stop(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, then SIGKILL for what does not end in time."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
