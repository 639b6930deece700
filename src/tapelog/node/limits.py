"""What this process may have: open files, memory. The machine's word, at start."""

from __future__ import annotations

from typing import Final

OPEN_FILES_WANTED: Final = 1 << 20
FILES_LEAST: Final = 64
"""So many log files may be kept open however few the process may have."""
SPARE: Final = 16
"""One in so many descriptors is left for what is neither a log file nor a connection, or opened for a moment."""
CONTROL_GROUP: Final = "/sys/fs/cgroup/memory.max"


def raise_open_files_limit() -> int:
    """Allow this process as many open files as it may have. Returns the limit."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, OPEN_FILES_WANTED, 10240):  # macOS says unlimited and means 10240
        if wanted == resource.RLIM_INFINITY or wanted <= soft:
            continue
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
        except (OSError, ValueError):
            continue
    return soft


def files_share(limit: int) -> int:
    """How many of them log files may have: half. The others are for connections, and for files on their way."""
    return max(FILES_LEAST, limit // 2)


def sockets_share() -> int:
    """The descriptor from which on connections would take what log files need."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return OPEN_FILES_WANTED if limit == resource.RLIM_INFINITY else max(FILES_LEAST, limit - limit // SPARE)


def memory_bytes() -> int:
    """The machine's memory, or what its control group leaves to this process."""
    import os

    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open(CONTROL_GROUP, "rb") as source:
            allowed = source.read().strip()
    except OSError:
        return size
    return min(size, int(allowed)) if allowed.isdigit() else size
