"""Who listens on a port: pid and command, where the system lets us see it. Best effort, for an error message."""

from __future__ import annotations

import contextlib
import os

LISTEN = "0A"


def holder(port: int) -> str:
    """`pid 123 (java -Xmx1G …)`; empty if it cannot be found out."""
    inodes = _listening_inodes(port)
    if inodes is None:
        return _by_lsof(port)
    for pid in sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True):
        if _owns(pid, inodes):
            return f"pid {pid} ({command(pid)})"
    return ""


def _listening_inodes(port: int) -> set[str] | None:
    found: set[str] = set()
    seen = False
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(table, encoding="ascii") as lines:
            seen = True
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(fields[9])
    return found if seen else None


def _owns(pid: int, inodes: set[str]) -> bool:
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{number}")
                if target.startswith("socket:[") and target[8:-1] in inodes:
                    return True
    return False


def command(pid: int) -> str:
    """The command line of a process, cut to a readable length; `?` if it cannot be seen."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as opened:
            words = opened.read().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "?"
    return words if len(words) <= 100 else words[:99] + "…"


def _by_lsof(port: int) -> str:
    import subprocess

    try:
        ran = subprocess.run(
            ["lsof", "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-Fpc"], capture_output=True, text=True, timeout=3
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    fields = {line[0]: line[1:] for line in reversed(ran.stdout.splitlines()) if line}
    return f"pid {fields['p']} ({fields.get('c', '?')})" if "p" in fields else ""
