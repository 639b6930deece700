"""A file system per node, small enough to be filled: ext4 in a file where that can be mounted, else a directory."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

DISK_BYTES: Final = 1 << 30


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
    """The disk of a node, below `scratch`."""
    path, image = scratch / f"disk-{number}", scratch / f"disk-{number}.img"
    path.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        return Disk(path, mounted=False)
    try:
        with open(image, "wb") as file:
            file.truncate(DISK_BYTES)
        _run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1", str(image))
        _run("mount", "-o", "loop", str(image), str(path))
    except (OSError, subprocess.CalledProcessError):
        image.unlink(missing_ok=True)
        return Disk(path, mounted=False)
    return Disk(path, mounted=True)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
