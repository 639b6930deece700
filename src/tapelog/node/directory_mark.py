"""Which tier a directory holds: an id in `.tapelog/tier-id` there, remembered by each node beside its metadata.

A file system that is not mounted leaves an empty directory behind. That must never be taken for an empty tier: nodes
would copy to the disk below it and let go of what they have. So nobody creates the directory of a tier that was named
(`tapelog.tier.url`), and an empty one becomes a tier only where nobody knows better.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from shlex import quote
from typing import Final

from tapelog.log.tier.layout import TOPICS
from tapelog.log.tier.store import RefusedError

PRIVATE: Final = ".tapelog"
"""Mark, lock and temporary files; not part of any listing."""
MARK: Final = "tier-id"
NOTE: Final = "tier-id"
"""Where a node remembers it, beside its metadata."""


def _no() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Memory:
    """What a node knows of its tier."""

    note: str
    """The file in which it remembers the id."""
    own: bool = False
    """The directory is this node's own, beside its logs: it may be created."""
    used: Callable[[], bool] = _no
    """Whether topics are tiered already: then an empty directory cannot be the tier."""


def read_mark(root: str) -> str:
    """The id of the tier there; empty if there is none."""
    return _read(f"{root}/{PRIVATE}/{MARK}")


def recognised(root: str, memory: Memory | None) -> str:
    """The id of the tier in that directory, which becomes one if it may. RefusedError if it is not the one that is
    known, or none at all. Without a memory (commands) nothing is changed."""
    found = read_mark(root)
    if memory is None:
        if not found and not os.path.isdir(f"{root}/{TOPICS}"):
            raise RefusedError(f"{root} holds no tier: is its file system mounted?")
        return found
    known = _read(memory.note)
    if known and found != known:
        raise RefusedError(_not_the_one(root, found, known, memory.note))
    if not found:
        found = _made(root, memory)
    if not known:
        _write(memory.note, found)
    return found


def _not_the_one(root: str, found: str, known: str, note: str) -> str:
    """Why a directory is not taken for the tier that is known, and how it would be."""
    if found:
        return f"{root} is another tier (id {found} instead of {known}; meant so: remove {note})"
    return (
        f"{root} is not the tier that this node knows: is its file system mounted? (id missing instead of {known}; if "
        f"all of that tier lies there: {_marking(root, known)}; if it is gone for good: remove {note})"
    )


def _marking(root: str, mark: str) -> str:
    """A line for a shell that makes a tier of a directory."""
    private = quote(f"{root}/{PRIVATE}")
    return f"mkdir -p {private} && echo {mark} > {private}/{MARK}"


@cache
def _offered_id() -> str:
    """For a person to write: the same however often it is told."""
    return os.urandom(12).hex()


def _made(root: str, memory: Memory) -> str:
    """Make a tier of the directory."""
    if memory.own:
        os.makedirs(root, exist_ok=True)
    elif not os.path.isdir(root):
        raise RefusedError(f"there is no {root}: is its file system mounted? Create it if it is to be a new tier")
    if memory.used() and not os.path.isdir(f"{root}/{TOPICS}"):
        raise RefusedError(
            f"{root} is empty, though topics of this cluster are tiered: is its file system mounted? This node knows "
            f"no id of their tier (another may: {NOTE} beside its metadata). If nothing has been copied yet, or it is "
            f"gone for good, make this the tier: {_marking(root, _offered_id())}"
        )
    private = f"{root}/{PRIVATE}"
    os.makedirs(private, exist_ok=True)
    fresh = f"{private}/{MARK}-{os.urandom(8).hex()}"
    _write(fresh, os.urandom(12).hex())
    with suppress(FileExistsError):
        os.link(fresh, f"{private}/{MARK}")  # somebody else may have been first: there is one id
    os.remove(fresh)
    _sync(private)
    return read_mark(root)


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return ""


def _write(path: str, text: str) -> None:
    temporary = f"{path}.tmp"
    with open(temporary, "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path)
    _sync(os.path.dirname(path))


def _sync(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
