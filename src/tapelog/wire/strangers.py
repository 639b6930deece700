"""What comes to a port where no Kafka client speaks: told what it looks like, once per address and minute.

Nodes and the router ask `foreign` why a size cannot be that of a frame, and `Strangers` what to log. A health check or
a client with the wrong security protocol connects for ever: lines are limited per address, and addresses are, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

MINUTE_MS: Final = 60_000
_FOR_EVER_MS: Final = 1 << 62
ADDRESSES_MAX: Final = 256
"""More addresses than that within a minute are only counted."""

PLAINTEXT: Final = "PLAINTEXT"
_HTTP: Final = frozenset((b"GET ", b"POST", b"PUT ", b"HEAD", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC", b"PRI "))
_TLS_RECORDS: Final = (b"\x16\x03", b"\x15\x03")  # a handshake, an alert; then the minor version


def foreign(head: bytes, listener: str = PLAINTEXT) -> str:
    """What the first four bytes of a connection look like, in words; empty where they look like nothing known."""
    where = "this listener" if listener == PLAINTEXT else f"listener {listener}"
    if head[:2] in _TLS_RECORDS and head[2:3] <= b"\x04":
        return f"looks like TLS; {where} is {PLAINTEXT}"
    if head[:4] in _HTTP:
        return f"looks like HTTP; {where} is for Kafka clients"
    return ""


class _Seen:
    __slots__ = ("more", "reason", "until_ms")

    def __init__(self, until_ms: int, reason: str) -> None:
        self.until_ms = until_ms
        self.reason = reason
        self.more = 0


class Strangers:
    """Lines for the log about strangers, by address (a host, without the port)."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}
        self._beyond = 0
        """Strangers from addresses that found no place, since _beyond_ms."""
        self._beyond_ms = 0

    def came(self, host: str, reason: str, now_ms: int, tell: Callable[[str], None]) -> None:
        """One was sent away: tell it, unless this address was told of within the minute."""
        self.due(now_ms, tell)
        seen = self._seen.get(host)
        if seen is not None:
            seen.more += 1
            seen.reason = reason
        elif len(self._seen) < ADDRESSES_MAX:
            self._seen[host] = _Seen(now_ms + MINUTE_MS, reason)
            tell(f"closed the connection from {host}: {reason}")
        else:
            if not self._beyond:
                self._beyond_ms = now_ms
            self._beyond += 1

    def all_due(self, tell: Callable[[str], None]) -> None:
        """The port closes: tell what was left out so far."""
        self.due(_FOR_EVER_MS, tell)

    def due(self, now_ms: int, tell: Callable[[str], None]) -> None:
        """A minute has passed for some: tell how many more there were, and forget them."""
        if not self._seen and not self._beyond:
            return
        for host in [host for host, seen in self._seen.items() if seen.until_ms <= now_ms]:
            seen = self._seen.pop(host)
            if seen.more:
                tell(f"closed {seen.more} more from {host} within a minute: {seen.reason}")
        if self._beyond and self._beyond_ms + MINUTE_MS <= now_ms:
            tell(f"closed {self._beyond} more from other addresses (more than {ADDRESSES_MAX} within a minute)")
            self._beyond = 0
