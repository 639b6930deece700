"""A simulated object store: one bucket in memory, and each node's way to it, which may be slow, fail or lose answers.

`Bucket` is what everybody sees; it outlives the nodes. `SimStore` is the ObjectStore port on timers: without timers
every call is answered at once. A put that fails with UnavailableError may have happened, as in life.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tapelog.base.timers import Timers
from tapelog.log.tier.store import (
    LIST_PAGE_MAX,
    Absent,
    Condition,
    ConflictError,
    Got,
    Listing,
    ObjectInfo,
    ObjectMissingError,
    StoreError,
    UnavailableError,
    Version,
)
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.crc import crc32c

R = TypeVar("R")


class Bucket:
    """Objects by name. Each put makes a new version."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.conditional = True
        """Whether conditions of puts are heeded; a store without them must be refused."""
        self._versions: dict[str, int] = {}
        self._puts = 0

    def put(self, name: str, data: bytes, condition: Condition | None = None) -> Version:
        """Write, if the condition holds."""
        held = self._versions.get(name)
        if self.conditional and condition is not None:
            if isinstance(condition, Absent):
                if held is not None:
                    raise ConflictError(f"{name} exists")
            elif held is None or str(held) != condition.etag:
                raise ConflictError(f"{name} is another version than {condition.etag}")
        self._puts += 1
        self.objects[name] = data
        self._versions[name] = self._puts
        return Version(str(self._puts))

    def get(self, name: str) -> Got:
        """Read."""
        if name not in self.objects:
            raise ObjectMissingError(f"there is no {name}")
        return Got(self.objects[name], Version(str(self._versions[name])))

    def list(self, prefix: str, after: str = "") -> Listing:
        """In order of names."""
        names = sorted(name for name in self.objects if name.startswith(prefix) and name > after)
        found = tuple(ObjectInfo(name, len(self.objects[name])) for name in names[:LIST_PAGE_MAX])
        return Listing(found, len(names) > LIST_PAGE_MAX)

    def delete(self, name: str) -> None:
        """Fine if absent."""
        self.objects.pop(name, None)
        self._versions.pop(name, None)


@dataclass(slots=True)
class Weather:
    """How the way to the bucket is; may be changed at any time."""

    delay_ms_max: int = 0
    piece_ms: int = 0
    """What each piece takes that one call brings into memory, beside that."""
    fail_percent: int = 0
    """Calls that never reach the bucket."""
    lose_percent: int = 0
    """Calls that are carried out, and answered with an error."""
    gone: bool = False


class SimStore:
    """One node's ObjectStore."""

    def __init__(
        self,
        bucket: Bucket,
        timers: Timers | None = None,
        entropy: SimEntropy | None = None,
        weather: Weather | None = None,
    ) -> None:
        self.bucket = bucket
        self.weather = Weather() if weather is None else weather
        self.calls = 0
        self.before: Callable[[str, str], None] = _ignore
        """Called with verb and name before each call is carried out; may raise a StoreError, or kill the process."""
        self.after: Callable[[str, str], None] = _ignore
        """The same when it was carried out and is not yet answered."""
        self.dead = False
        """The process was killed: nothing is carried out or answered any more."""
        self._timers = timers
        self._entropy = entropy if entropy is not None else SimEntropy(0)

    def get(self, name: str, done: Callable[[Got | StoreError], None]) -> None:
        self._call("get", name, lambda: self.bucket.get(name), done)

    def get_ranges(
        self, name: str, ranges: Sequence[tuple[int, int]], done: Callable[[list[bytes] | StoreError], None]
    ) -> None:
        def work() -> list[bytes]:
            data = self.bucket.get(name).data
            pieces = [data[position : position + size] for position, size in ranges]
            if any(len(piece) != size for piece, (_, size) in zip(pieces, ranges, strict=True)):
                raise ObjectMissingError(f"{name} is shorter than it should be")
            return pieces

        self._call("get", name, work, done)

    def read_into(
        self, name: str, position: int, into: Sequence[memoryview], done: Callable[[int, StoreError | None], None]
    ) -> None:
        filled = 0

        def work() -> None:
            nonlocal filled
            data, at = self.bucket.get(name).data, position
            for piece in into:
                found = data[at : at + len(piece)]
                if len(found) != len(piece):
                    raise ObjectMissingError(f"{name} is shorter than it should be")
                piece[:] = found
                at += len(piece)
                filled += 1

        def over(error: StoreError | None) -> None:
            good = filled
            if isinstance(error, UnavailableError) and filled:  # lost on the way: some may have come before
                good = self._entropy.below(filled)
            for number in range(len(into)):
                done(number, error if number >= good else None)

        self._call("get", name, work, over, self.weather.piece_ms * len(into))

    def put(
        self, name: str, data: bytes, condition: Condition | None, done: Callable[[Version | StoreError], None]
    ) -> None:
        self._call("put", name, lambda: self.bucket.put(name, data, condition), done)

    def upload(
        self, name: str, chunks: Callable[[], Iterator[bytes]], done: Callable[[Version | StoreError], None]
    ) -> None:
        def work() -> Version:
            try:
                data = b"".join(chunks())
            except StoreError:
                raise
            except Exception as error:
                raise StoreError(str(error)) from error
            return self.bucket.put(name, data)

        self._call("upload", name, work, done)

    def checksum(self, name: str, size: int, done: Callable[[int | StoreError], None]) -> None:
        def work() -> int:
            data = self.bucket.get(name).data
            if len(data) != size:
                raise UnavailableError(f"{name} has {len(data)} bytes instead of {size}")
            return crc32c(data)

        self._call("checksum", name, work, done)

    def list(self, prefix: str, after: str, done: Callable[[Listing | StoreError], None]) -> None:
        self._call("list", prefix, lambda: self.bucket.list(prefix, after), done)

    def delete(self, names: Sequence[str], done: Callable[[StoreError | None], None]) -> None:
        def work() -> None:
            for name in names:
                self.bucket.delete(name)

        self._call("delete", names[0] if names else "", work, done)

    def _call(
        self, verb: str, name: str, work: Callable[[], R], done: Callable[[R | StoreError], None], more_ms: int = 0
    ) -> None:
        self.calls += 1
        weather, chance = self.weather, self._entropy
        failing = weather.gone or chance.chance(weather.fail_percent)
        losing = chance.chance(weather.lose_percent)

        def arrive() -> None:
            if self.dead:
                return
            result: R | StoreError
            try:
                self.before(verb, name)
                if failing or self.dead or self.weather.gone:
                    raise UnavailableError(f"{verb} {name}: the store does not answer")
                try:
                    result = work()
                finally:
                    self.after(verb, name)
                if losing:
                    result = UnavailableError(f"{verb} {name}: the answer was lost")
            except StoreError as error:
                result = error
            if self._timers is None:
                self._answer(done, result)
            else:
                self._timers.after(self._delay() + more_ms, lambda: self._answer(done, result))

        if self._timers is None:
            arrive()
        else:
            self._timers.after(self._delay(), arrive)

    def _answer(self, done: Callable[[R], None], result: R) -> None:
        if not self.dead:
            done(result)

    def _delay(self) -> int:
        delay = self.weather.delay_ms_max
        return self._entropy.below(delay + 1) if delay else 0


def _ignore(verb: str, name: str) -> None:
    pass
