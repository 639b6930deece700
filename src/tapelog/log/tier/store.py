"""The port to an object store: what the tier needs of S3, GCS, Azure, a directory, or a simulation.

Calls return at once; `done` gets the result, or a StoreError, later and on the caller's loop, exactly once. Objects are
visible whole or not at all, and a get sees the newest put that was answered. After `UnavailableError` a put may or may
not have happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias, runtime_checkable

LIST_PAGE_MAX: Final = 1000
"""Objects that one `list` tells at most."""


class StoreError(Exception):
    """A call failed; the text is for people."""


class ObjectMissingError(StoreError):
    """There is no such object, or no such part of it."""


class ConflictError(StoreError):
    """The condition of a put did not hold: somebody else wrote. Nothing has changed."""


class UnavailableError(StoreError):
    """The store did not answer, or with an error that may pass. A put may have happened all the same."""


class RefusedError(StoreError):
    """The store will not do this: wrong credentials, no such bucket, no conditional put. Trying again is of no use
    before somebody has changed something."""


@dataclass(frozen=True, slots=True)
class Version:
    """Which content of an object was read or written; opaque, for a later conditional put."""

    etag: str | None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """The condition that there is no such object yet."""


ABSENT: Final = Absent()
Condition: TypeAlias = Version | Absent


@dataclass(frozen=True, slots=True)
class Got:
    """A whole object."""

    data: bytes
    version: Version


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One line of a listing."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Objects in order of their names; `more` tells that others follow the last of them."""

    objects: tuple[ObjectInfo, ...]
    more: bool


class ObjectStore(Protocol):
    """See the module. Names are relative to the tier's URL, with slashes, without a leading one."""

    def get(self, name: str, done: Callable[[Got | StoreError], None]) -> None:
        """Read a whole, small object."""
        ...

    def get_ranges(
        self, name: str, ranges: Sequence[tuple[int, int]], done: Callable[[list[bytes] | StoreError], None]
    ) -> None:
        """Read (position, size) pieces of an object, in parallel; ObjectMissingError if it is shorter than that."""
        ...

    def read_into(
        self, name: str, position: int, into: Sequence[memoryview], done: Callable[[int, StoreError | None], None]
    ) -> None:
        """Fill memory, one piece of it after the other, with what an object has from position on. done is told of each
        piece, by its number and in order: that it is filled, as soon as it is, or why not; ObjectMissingError if the
        object ends before."""
        ...

    def put(
        self, name: str, data: bytes, condition: Condition | None, done: Callable[[Version | StoreError], None]
    ) -> None:
        """Write a whole, small object; with a condition only if it holds (ConflictError otherwise)."""
        ...

    def upload(
        self, name: str, chunks: Callable[[], Iterator[bytes]], done: Callable[[Version | StoreError], None]
    ) -> None:
        """Write a large object from pieces, whatever their sizes, in bounded memory. `chunks` is called and its pieces
        are asked for on another thread; what it raises reaches done as a StoreError, and then there is no object."""
        ...

    def checksum(self, name: str, size: int, done: Callable[[int | StoreError], None]) -> None:
        """Read an object of that size and tell the CRC-32C of its bytes, in bounded memory. UnavailableError if it has
        another size."""
        ...

    def list(self, prefix: str, after: str, done: Callable[[Listing | StoreError], None]) -> None:
        """Up to LIST_PAGE_MAX objects whose names begin with prefix (which ends with a slash), behind `after`."""
        ...

    def delete(self, names: Sequence[str], done: Callable[[StoreError | None], None]) -> None:
        """Remove objects; fine if absent. After an error some may be gone."""
        ...


@runtime_checkable
class Choosy(Protocol):
    """A store that may not be good at bringing several pieces of memory's worth with one call of `read_into`."""

    def brings_several(self) -> bool:
        """Whether that costs little more than one now; else they are better asked for by a call each, at once."""
        ...


def brings_several(store: object) -> Callable[[], bool]:
    """Whether one call brings several pieces: as the store says, always where it says nothing."""
    return store.brings_several if isinstance(store, Choosy) else _always


def _always() -> bool:
    return True
