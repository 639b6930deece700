"""Who is whose child, by /proc: the harness ends only what descends from what it started."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def children(parent: int) -> list[int]:
    """Process ids whose parent is that one."""
    return _by_parent().get(parent, [])


def descendants(parent: int) -> list[int]:
    """Children, and their children, and so on; by one look at all processes, since kills should not wait."""
    below, found = _by_parent(), [parent]
    for one in found:
        found += below.get(one, [])
    return found[1:]


def _by_parent() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if after_name[0] != "Z":
                found.setdefault(int(after_name[1]), []).append(int(entry.name))
    return found


def words(process: int) -> str:
    """Its command line; empty when it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def kill(process: int) -> bool:
    """SIGKILL; False: it was gone."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def workplace(process: int) -> Path | None:
    """The directory it runs in; None when it is gone."""
    try:
        return Path(os.readlink(f"/proc/{process}/cwd"))
    except OSError:
        return None


def environment(process: int) -> dict[str, str]:
    """What it was started with; empty when it is gone."""
    try:
        told = Path(f"/proc/{process}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return {}
    return dict(one.split("=", 1) for one in told.split("\0") if "=" in one)


def libraries(process: int, name: str) -> set[Path]:
    """Files with this in their name that it has loaded."""
    try:
        lines = Path(f"/proc/{process}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    return {Path(line.split(maxsplit=5)[5]) for line in lines if name in line}
