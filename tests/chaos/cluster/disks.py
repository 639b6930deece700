"""A file system per node, small enough to be filled, where one can be mounted; else a directory."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

DISK_BYTES: Final = 512 << 20


class Disk:
    """The place of one node's files."""

    def __init__(self, path: Path, *, mounted: bool) -> None:
        self.path = path
        self.can_fill = mounted
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Leave no room: the next write that needs a new block fails."""
        ballast = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            while (room := os.statvfs(self.path)).f_bavail > 0:
                os.posix_fallocate(ballast, os.fstat(ballast).st_size, max(1, room.f_bavail // 2) * room.f_bsize)
        except OSError:
            pass  # full
        finally:
            os.close(ballast)

    def free(self) -> None:
        """There is room again."""
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it."""
        if self.can_fill:
            subprocess.run(["umount", "-l", str(self.path)], check=False, capture_output=True)


def disk(scratch: Path, number: int) -> Disk:
    """The disk of a node, below `scratch`. In memory: a file system in a file takes ten times as long to sync."""
    path = scratch / f"disk-{number}"
    path.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return Disk(path, mounted=False)
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tapelog-chaos", str(path)]
    mounted = subprocess.run(words, check=False, capture_output=True).returncode == 0
    return Disk(path, mounted=mounted)
