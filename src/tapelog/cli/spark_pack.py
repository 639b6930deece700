"""The archive for Spark's `--archives`: what executors need of Tapelog, taken from what is installed here.

Nothing is downloaded: versions are those of this environment, which is the driver's. The same environment gives the
same bytes, whenever and wherever it is packed. Executors put the unpacked directory on PYTHONPATH, so no interpreter
and no absolute path lies in it; they need the same version of Python and the same platform.
"""

from __future__ import annotations

import gzip
import os
import re
import sysconfig
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import IO, Final

import tapelog
from tapelog._compiled import LIBRARY, MANIFEST

NEEDED: Final = ("cramjam", "crc32c", "google-re2", "librt", "mypy-extensions", "obstore", "pyarrow")
"""Without these nothing is read or written."""
USEFUL: Final = ("cryptography", "numpy", "pandas")
"""Packed where they are installed: PKCS12, and what PySpark's own functions in Python use."""
PACKAGES: Final = ("tapelog", "pyspark_tapelog")

_DIRECTORIES_LEFT_OUT: Final = frozenset({"__pycache__", "tests", "include"})
_ENDINGS_LEFT_OUT: Final = (".pyc", ".pxd", ".pyx", ".pyi", ".h", ".hpp", ".a", ".lib")
_RECORDS_LEFT_OUT: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
"""Of an installation, not of a package: they differ between installers."""
_WRITTEN: Final = 315_532_800
"""1980-01-01: the time of every file in the archive."""
_COMPRESSION: Final = 3


class PackError(Exception):
    """The archive cannot be made; `hint` says what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Packed:
    """A file for the archive: its name there, where it lies here, its size."""

    name: str
    path: Path
    size: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What will be packed: distributions with their versions, and files in the order of their names."""

    versions: dict[str, str]
    files: tuple[Packed, ...]

    @property
    def size(self) -> int:
        """In bytes, unpacked."""
        return sum(file.size for file in self.files)


def contents(add: Iterable[str] = (), leave_out: Iterable[str] = (), root: Path | None = None) -> Contents:
    """Tapelog and all it needs, with what is added, each with its own needs; PackError names what is not installed.

    `root` is where our own packages lie; without it, where they are imported from.
    """
    unwanted = {_plain(name) for name in leave_out}
    for name in (*NEEDED, *add):
        if _plain(name) not in unwanted and _found(name) is None:
            raise PackError(f"{name} is not installed here", f"pip install {name}, or --leave-out {name}")
    versions = {"tapelog": tapelog.__version__}
    files = {file.name: file for file in _ourselves(root or Path(tapelog.__file__).parent.parent)}
    for found in _closure([*NEEDED, *USEFUL, *add], unwanted):
        versions[_plain(found.metadata["Name"])] = found.version
        for file in _files(found):
            files.setdefault(file.name, file)
    return Contents(dict(sorted(versions.items())), tuple(files[name] for name in sorted(files)))


def write(packed: Contents, target: Path, progress: Callable[[int], None]) -> None:
    """Make the archive, whole or not at all; `progress` is told the bytes that were added."""
    partial = target.with_name(target.name + ".part")
    try:
        with partial.open("wb") as raw:
            if target.name.endswith(".tar"):
                _write_tar(packed, raw, progress)
            else:
                with gzip.GzipFile("", "wb", _COMPRESSION, raw, mtime=0) as squeezed:
                    _write_tar(packed, squeezed, progress)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _write_tar(packed: Contents, raw: IO[bytes] | gzip.GzipFile, progress: Callable[[int], None]) -> None:
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in packed.files:
            entry = tarfile.TarInfo(file.name)
            entry.mtime, entry.mode = _WRITTEN, 0o755 if _is_library(file.name) else 0o644
            with file.path.open("rb") as opened:
                entry.size = os.fstat(opened.fileno()).st_size  # a checkout may be worked in meanwhile
                tar.addfile(entry, opened)
            progress(file.size)


def _is_library(name: str) -> bool:
    return ".so" in PurePosixPath(name).suffixes


def platform() -> str:
    """What executors must share with this machine: `CPython 3.11 on linux-x86_64`."""
    return f"CPython {sysconfig.get_python_version()} on {sysconfig.get_platform()}"


def _ourselves(root: Path) -> Iterator[Packed]:
    """Our own packages, installed or in a checkout; compiled modules only where they are used here, too."""
    compiled = tapelog.COMPILED == "yes"
    for package in PACKAGES:
        for path in _tree(root / package):
            if compiled or not (_is_library(path.name) or path.name == MANIFEST):
                yield _packed(path.relative_to(root).as_posix(), path)
    if compiled:
        for path in root.glob(f"{LIBRARY}.*"):
            yield _packed(path.name, path)


def _tree(directory: Path) -> Iterator[Path]:
    for parent, names, files in os.walk(directory):
        names[:] = [name for name in names if name != "__pycache__"]
        yield from (Path(parent, file) for file in files if not file.endswith(".pyc"))


def _closure(names: Iterable[str], unwanted: set[str]) -> Iterator[metadata.Distribution]:
    """These distributions and what they require, as far as it is installed."""
    waiting, seen = [_plain(name) for name in names], set(unwanted)
    while waiting:
        name = waiting.pop(0)
        found = None if name in seen else _found(name)
        seen.add(name)
        if found is not None:
            yield found
            waiting += [_plain(need) for need in found.requires or () if "extra ==" not in need]


def _files(found: metadata.Distribution) -> Iterator[Packed]:
    for file in found.files or ():
        parts = file.parts
        if ".." in parts or _DIRECTORIES_LEFT_OUT.intersection(parts[:-1]) or file.name.endswith(_ENDINGS_LEFT_OUT):
            continue
        if parts[0].endswith(".dist-info") and file.name in _RECORDS_LEFT_OUT:
            continue
        path = Path(str(found.locate_file(file)))
        if path.is_file():
            yield _packed(file.as_posix(), path)


def _packed(name: str, path: Path) -> Packed:
    return Packed(name, path, path.stat().st_size)


def _found(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _plain(requirement: str) -> str:
    """The name in a requirement, as the index spells it: `Google_RE2>=1` is google-re2."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]).lower()
