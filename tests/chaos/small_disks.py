"""A small file system of its own in a file, that can be filled, broken and mended; only where one may mount."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final

import pytest

DISK_BYTES: Final = 64 << 20
_SHUT_DOWN: Final = 0x8004587D  # EXT4_IOC_SHUTDOWN
_AT_ONCE: Final = 2


class SmallDisk:
    """An ext4 file system mounted at `path`."""

    def __init__(self, path: Path, image: Path) -> None:
        self.path = path
        self.image = image
        self._ballast = path / "ballast"
        self.broken = False

    def mount(self) -> bool:
        """Make it reachable; False if that is not allowed here."""
        self.path.mkdir(parents=True, exist_ok=True)
        words = ["mount", "-o", "loop,noatime", str(self.image), str(self.path)]
        return subprocess.run(words, check=False, capture_output=True).returncode == 0

    def unmount(self) -> None:
        """Take it away, open files or not."""
        unmount(self.path)

    def fail(self) -> None:
        """From now on everything that is asked of it is an input/output error."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, _SHUT_DOWN, struct.pack("I", _AT_ONCE))
        finally:
            os.close(fd)
        self.broken = True

    def mend(self) -> None:
        """It works again, with what it has kept; nobody may have files of it open."""
        subprocess.run(["umount", str(self.path)], check=True, capture_output=True)
        assert self.mount()
        self.broken = False

    def fill(self, leave: int = 0) -> None:
        """Leave this much room at most."""
        ballast = os.open(self._ballast, os.O_WRONLY | os.O_CREAT)
        try:
            while (room := self.free_bytes() - leave) > 0:
                os.posix_fallocate(ballast, os.fstat(ballast).st_size, max(4096, room // 2))
        except OSError:
            pass  # full
        finally:
            os.close(ballast)

    def free(self) -> None:
        """There is room again."""
        self._ballast.unlink(missing_ok=True)

    def free_bytes(self) -> int:
        """How much room there is."""
        room = os.statvfs(self.path)
        return room.f_bavail * room.f_bsize


def small_disk(path: Path, image: Path, size: int = DISK_BYTES) -> SmallDisk:
    """A new one, mounted; leaves the test out where that cannot be."""
    if os.geteuid() != 0 or shutil.which("mount") is None or shutil.which("mkfs.ext4") is None:
        pytest.skip("nothing can be mounted here")
    with open(image, "wb") as made:
        made.truncate(size)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True, capture_output=True)
    disk = SmallDisk(path, image)
    if not disk.mount():
        pytest.skip("nothing can be mounted here")
    return disk


def few_files(path: Path, files: int) -> Path:
    """A new file system in memory that can hold so many files; leaves the test out where that cannot be."""
    path.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size=1g,nr_inodes={files}", "none", str(path)]
    if os.geteuid() != 0 or subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    return path


def unmount(path: Path) -> None:
    """Take it away, open files or not."""
    subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)
