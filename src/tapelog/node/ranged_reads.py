"""Ranges of objects from a store that speaks plain HTTP, received into the memory that they are for.

obstore gathers an answer in memory of its own, from which it must be copied: with that, receiving costs about twice
what it must. Here bytes go from the socket to where they stay. Only the good case is done: one range of an object whose
URL obstore has signed, answered with exactly these bytes. Whatever else happens is left to obstore, which is asked
again for all of it, knows when to repeat, and says what is wrong (`object_stores`).

Calls may come from any thread; each has a connection for itself while it lasts.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

CONNECT_S: Final = 5
STALL_S: Final = 30
"""So long an answer may bring nothing."""
LEAST_BYTES_PER_S: Final = 128 * 1024
"""All of an answer may take so much longer than that. As slow as obstore still has a block within its time."""
SIGNED_S: Final = 900
RENEWED_S: Final = 600
"""For how long a URL is signed, and how long it is used."""
SIGNED_MAX: Final = 1_000
IDLE_S: Final = 15
"""Servers close connections that nobody uses."""
HEAD_BYTES_MAX: Final = 8 * 1024
FAILURES_MAX: Final = 8
REST_S: Final = 60
"""After so many failures in a row obstore is asked at once, for a while. So seldom is told, too, why one failed."""
PROXIES: Final = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")

WAKES_AT: Final = (512 * 1024, 64 * 1024, 1)
"""While much is still to come a receiver is woken for so many bytes, and not for every segment; near the end for
fewer."""
ROOM_BYTES: Final = 4 * 1024 * 1024
"""A connection has room for so much from its first answer on: some stores close it after that."""

VERSIONS: Final = (b"HTTP/1.1", b"HTTP/1.0")

FILLED: Final = 0
STALE: Final = 1
"""The server had closed the connection before it was used again."""
REFUSED: Final = 2
"""An answer that does not concern the way here: no such object, or it is shorter."""


class AnswerError(Exception):
    """An answer that is of no use here; the text says why."""


class OtherRangeError(AnswerError):
    """Another range than was asked for, of an object that has it."""


class Signed:
    """Where an object is read."""

    __slots__ = ("address", "host", "target", "until")

    def __init__(self, url: str, until: float) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"no plain HTTP: {parts.scheme}")
        self.address = (parts.hostname, parts.port or 80)
        self.host = parts.netloc
        self.target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        self.until = until


class RangedReads:
    """See the module. sign: a URL with which an object may be read for SIGNED_S seconds. complain, from any thread:
    one line, without URLs, which let their readers in."""

    def __init__(self, sign: Callable[[str], str], complain: Callable[[str], None] | None = None) -> None:
        self._sign = sign
        self._complain = complain
        self._signed: dict[str, Signed] = {}
        self._idle: deque[Connection] = deque()
        self._failures = 0
        self._rests_until = 0.0
        self._quiet_until = 0.0
        self._singly_until = 0.0
        self.usable = not any(os.environ.get(name) for name in PROXIES)
        self.filled = 0
        """How often it went well."""

    def brings_several(self) -> bool:
        """Whether several pieces come with one request now."""
        return self.usable and time.monotonic() >= max(self._rests_until, self._singly_until)

    def read_into(self, name: str, position: int, into: Sequence[memoryview], filled: Callable[[], None]) -> int:
        """How many pieces of memory were filled, one after the other, with what the object has from position on, filled
        being called for each as soon as it is; the others may hold anything."""
        now = time.monotonic()
        if not self.usable or not into or not all(map(len, into)) or now < self._rests_until:
            return 0
        good = 0
        if len(into) > 1 and now < self._singly_until:
            for piece in into:
                if not self.read_into(name, position, [piece], filled):
                    break
                position, good = position + len(piece), good + 1
            return good

        def one_more() -> None:
            nonlocal good
            good += 1
            filled()

        try:
            outcome = self._read(self._signed_now(name, now), position, into, one_more)
            if outcome == FILLED:
                self.filled += 1
                self._failures = 0
                return good
        except Exception as error:
            if isinstance(error, OtherRangeError) and len(into) > 1:  # a gateway that answers with so much at most?
                self._singly_until = now + REST_S
            self._failed(_why(error))
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # obstore's
                raise
            self._failed(_why(error))
        self._signed.pop(name, None)
        return good

    def _failed(self, why: str) -> None:
        now = time.monotonic()
        self._failures += 1
        if self._failures >= FAILURES_MAX:
            self._failures, self._rests_until = 0, now + REST_S
        if self._complain is not None and now >= self._quiet_until:
            self._quiet_until = now + REST_S
            self._complain(f"reading a block straight from the tier's store failed, obstore is asked instead: {why}")

    def _signed_now(self, name: str, now: float) -> Signed:
        found = self._signed.get(name)
        if found is None or found.until < now:
            while len(self._signed) >= SIGNED_MAX:
                with suppress(RuntimeError, StopIteration):  # another thread was here
                    self._signed.pop(next(iter(self._signed)), None)
            found = self._signed[name] = Signed(self._sign(name), now + RENEWED_S)
        return found

    def _read(self, where: Signed, position: int, into: Sequence[memoryview], filled: Callable[[], None]) -> int:
        connection = self._idle_one(where)
        if connection is not None:
            outcome = self._ask(connection, where, position, into, filled)
            if outcome != STALE:
                return outcome
        return self._ask(Connection(where.address), where, position, into, filled)

    def _ask(
        self,
        connection: Connection,
        where: Signed,
        position: int,
        into: Sequence[memoryview],
        filled: Callable[[], None],
    ) -> int:
        try:
            outcome = connection.read_into(where, position, into, filled)
        except BaseException:
            connection.close()
            raise
        if outcome == FILLED and connection.lasts:
            connection.since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.close()
        return outcome

    def _idle_one(self, where: Signed) -> Connection | None:
        oldest = time.monotonic() - IDLE_S
        while True:
            try:
                found = self._idle.pop()  # used last
            except IndexError:
                return None
            if found.since >= oldest and found.address == where.address:
                return found
            found.close()


class Connection:
    """One connection to a store; blocks for at most STALL_S at a time, and in all for as much as `_in_time` lets it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.since = 0.0
        self.lasts = True
        self._head = bytearray(HEAD_BYTES_MAX)
        self._socket = socket.create_connection(address, CONNECT_S)
        # bounds by the kernel: with Python's own, receiving would return for every bit that has come
        self._socket.settimeout(None)
        bound = struct.pack("@ll", STALL_S, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, bound)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, bound)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._wakes_at = 1
        self._choosy = _makes_room(self._socket)

    def close(self) -> None:
        """Give it up."""
        self._socket.close()

    def read_into(self, where: Signed, position: int, into: Sequence[memoryview], filled: Callable[[], None]) -> int:
        """Ask for the bytes and wait for them: FILLED, STALE or REFUSED. filled is called for each piece of memory
        when it is. OSError where it breaks, AnswerError where it is no good."""
        begun, missing = time.monotonic(), sum(map(len, into))
        last = position + missing - 1
        request = f"GET {where.target} HTTP/1.1\r\nHost: {where.host}\r\nRange: bytes={position}-{last}\r\n\r\n"
        used, head = self.since > 0, memoryview(self._head)
        try:
            self._socket.sendall(request.encode("ascii"))
            got = self._socket.recv_into(head)
        except ConnectionError:
            if used:
                return STALE
            raise
        if not got:
            if used:
                return STALE
            raise AnswerError("it closed the connection")
        while (end := self._head.find(b"\r\n\r\n", 0, got)) < 0:
            if got == HEAD_BYTES_MAX:
                raise AnswerError("an endless head")
            _in_time(begun, 0)
            got += self._more(head[got:], HEAD_BYTES_MAX - got, 0)
        if self._judge(bytes(head[:end]), position, last) == REFUSED:
            return REFUSED
        early, whole = head[end + 4 : got], missing
        if len(early) > missing:
            raise AnswerError("more than was asked for")
        for piece in into:
            at = min(len(early), len(piece))
            piece[:at] = early[:at]
            early, missing = early[at:], missing - at
            while at < len(piece):
                wakes_at = next(count for count in WAKES_AT if count < missing or count == 1)
                self._wake_at(wakes_at)
                count = min(len(piece) - at, missing - wakes_at + (wakes_at == 1))
                _in_time(begun, whole - missing)
                more = self._more(piece[at:], count, socket.MSG_WAITALL)
                at, missing = at + more, missing - more
            filled()
        return FILLED

    def _more(self, into: memoryview, count: int, flags: int) -> int:
        more = self._socket.recv_into(into, count, flags)
        if not more:
            raise AnswerError("it closed the connection in the middle of an answer")
        return more

    def _wake_at(self, count: int) -> None:
        """Who waits here is woken when so many bytes have come. More must be missing whenever somebody waits: otherwise
        nobody would wake him before the other side has closed or his time is over."""
        if self._choosy and count != self._wakes_at:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            self._wakes_at = count

    def _judge(self, head: bytes, position: int, last: int) -> int:
        """Whether what follows this head is the range, whole and as it is stored."""
        lines = head.split(b"\r\n")
        words = lines[0].split(b" ", 2)
        if len(words) < 2 or words[0] not in VERSIONS:
            raise AnswerError("no HTTP/1")
        if words[1] in (b"404", b"416"):
            return REFUSED
        if words[1] != b"206":
            raise AnswerError(f"status {words[1][:3].decode('ascii', 'replace')}")
        fields: dict[bytes, bytes] = {}
        for line in lines[1:]:
            key, _, value = line.partition(b":")
            fields[key.strip().lower()] = value.strip()
        if b"transfer-encoding" in fields or b"content-encoding" in fields:
            raise AnswerError("an encoded answer")
        self.lasts = words[0] == VERSIONS[0] and fields.get(b"connection", b"").lower() != b"close"
        span, _, total = fields.get(b"content-range", b"").partition(b"/")
        if total.isdigit() and int(total) <= last:
            return REFUSED
        if span != b"bytes %d-%d" % (position, last) or fields.get(b"content-length") != b"%d" % (last - position + 1):
            raise OtherRangeError("another range")
        return FILLED


def _in_time(begun: float, got: int) -> None:
    """Whether an answer that has brought so much may bring the rest: the kernel bounds each wait, but one that drips
    would never be over."""
    if time.monotonic() - begun > STALL_S + got / LEAST_BYTES_PER_S:
        raise AnswerError(f"it sent {got} bytes in {time.monotonic() - begun:.0f} seconds")


def _why(error: BaseException) -> str:
    """Without what other libraries' texts may hold."""
    if isinstance(error, AnswerError):
        return str(error)
    if isinstance(error, BlockingIOError):
        return f"nothing came for {STALL_S} seconds"
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return f"{type(error).__name__}: {os.strerror(error.errno)}"
    return type(error).__name__


def _makes_room(sock: socket.socket) -> bool:
    """Whether it can be said for how many bytes a receiver is woken. Linux makes room for as many as were ever asked
    for, without fixing the size as SO_RCVBUF would."""
    if sys.platform != "linux":
        return False
    try:
        for count in (ROOM_BYTES, 1):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
    except OSError:
        return False
    return True
