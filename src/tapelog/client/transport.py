"""One blocking socket to a broker: connected within a time limit, plain or with TLS, read in whole frames.

A frame arrives as one `bytes` object: over plain TCP the kernel fills it directly (no copy in between), over TLS it is
copied once. Time limits of plain sockets are the kernel's (SO_RCVTIMEO), because Python's own would make the socket
non-blocking and a frame many small reads. Closing never says goodbye to the other side: after a fork the same
connection may be somebody else's.
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
from typing import Final

from tapelog.client.errors import LinkError, TlsError
from tapelog.client.pace import Deadline
from tapelog.client.pacing import unpace, unpace_at
from tapelog.client.settings import Address, ConnectionSettings

_SECONDS_MIN: Final = 0.001  # zero would mean: no limit
_READ_MAX: Final = 1 << 20
_CLOSED: Final = "it closed the connection"


class Transport:
    """A connected socket. Everything that goes wrong on it is a LinkError; it is of no use afterwards."""

    def __init__(self, sock: socket.socket, address: Address) -> None:
        self.address = address
        self._sock = sock
        self._tls = isinstance(sock, ssl.SSLSocket)
        if not self._tls:
            sock.settimeout(None)

    def send(self, data: bytes, deadline: Deadline) -> None:
        """All of it, or an error."""
        try:
            self._limit(socket.SO_SNDTIMEO, deadline)
            self._sock.sendall(data)
        except (BlockingIOError, TimeoutError):
            raise self._lost("it takes no more bytes") from None
        except OSError as error:
            raise self._failed(error) from None

    def receive(self, size: int, deadline: Deadline) -> bytes:
        """Exactly that many bytes, in one piece."""
        try:
            return self._receive_tls(size, deadline) if self._tls else self._receive(size, deadline)
        except (BlockingIOError, TimeoutError):
            raise self._lost("no answer came in time") from None
        except OSError as error:
            raise self._failed(error) from None

    def quiet(self) -> bool:
        """Is it open, with nothing to read? Anything else, between two requests, means that it is of no use."""
        try:
            if self._tls:
                self._sock.settimeout(0)
                self._sock.recv(1)
            else:
                self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            pass
        return False

    @property
    def ready(self) -> bool:
        """Would reading not block?"""
        if isinstance(self._sock, ssl.SSLSocket) and self._sock.pending():
            return True
        watch = select.poll()  # select() cannot watch a descriptor above 1023
        watch.register(self._sock, select.POLLIN)
        return bool(watch.poll(0))

    def close(self) -> None:
        """Give the socket back, without a word."""
        self._sock.close()

    # -- inside

    def _receive(self, size: int, deadline: Deadline) -> bytes:
        self._limit(socket.SO_RCVTIMEO, deadline)
        data = self._sock.recv(size, socket.MSG_WAITALL)
        if len(data) == size:
            return data
        parts = [data]
        held = len(data)
        while held < size:  # a signal, the time limit, or the end
            self._limit(socket.SO_RCVTIMEO, deadline)
            data = self._sock.recv(size - held, socket.MSG_WAITALL)
            if not data:
                raise self._lost(_CLOSED)
            parts.append(data)
            held += len(data)
        return b"".join(parts)

    def _receive_tls(self, size: int, deadline: Deadline) -> bytes:
        whole = bytearray(size)
        with memoryview(whole) as view:
            held = 0
            while held < size:
                self._sock.settimeout(self._left(deadline))
                count = self._sock.recv_into(view[held : held + _READ_MAX])
                if count == 0:
                    raise self._lost(_CLOSED)
                held += count
        return bytes(whole)

    def _limit(self, option: int, deadline: Deadline) -> None:
        seconds = self._left(deadline)
        if self._tls:
            self._sock.settimeout(seconds)
        else:
            whole = int(seconds)
            self._sock.setsockopt(
                socket.SOL_SOCKET, option, struct.pack("ll", whole, int((seconds - whole) * 1_000_000))
            )

    def _left(self, deadline: Deadline) -> float:
        seconds = deadline.left()
        if seconds < _SECONDS_MIN:
            raise TimeoutError
        return seconds

    def _failed(self, error: OSError) -> LinkError | TlsError:
        if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):  # with TLS 1.3, refused only now
            return _refused(self.address, error)
        return self._lost(_reason(error))

    def _lost(self, reason: str) -> LinkError:
        do = "if it always does: check kafka.security.protocol, this port may want TLS or a login"
        return LinkError(
            f"the connection to {self.address} was lost: {reason}",
            f"broker {self.address}",
            do if reason == _CLOSED else "check that it runs, and its log",
        )


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()


def dial(address: Address, settings: ConnectionSettings, tls: ssl.SSLContext | None, deadline: Deadline) -> Transport:
    """Connect to the first of the name's addresses that answers; LinkError if none does, TlsError if TLS fails."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise LinkError(
            f"the name {address.host} cannot be resolved: {_reason(error)}",
            f"option kafka.bootstrap.servers or advertised.listeners of the broker: {address}",
            "check the name, from this machine",
        ) from None
    reason = "no address"
    for family, kind, protocol, _, where in found:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(max(_SECONDS_MIN, min(settings.connect_timeout_ms / 1000, deadline.left())))
            _options(sock, settings)
            unpace_at(sock, str(where[0]))
            sock.connect(where)
            unpace(sock)
            return Transport(sock if tls is None else _secured(sock, address, tls, deadline), address)
        except OSError as error:
            sock.close()
            reason = "it did not answer in time" if isinstance(error, TimeoutError) else _reason(error)
        except BaseException:
            sock.close()
            raise
    raise LinkError(
        f"{address} cannot be reached: {reason}",
        f"broker {address}, {settings.security_protocol}",
        "check that it runs and can be reached from this machine; option kafka.bootstrap.servers",
    )


def _options(sock: socket.socket, settings: ConnectionSettings) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if settings.receive_buffer_bytes > 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.receive_buffer_bytes)
    if settings.send_buffer_bytes > 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings.send_buffer_bytes)


def _secured(sock: socket.socket, address: Address, tls: ssl.SSLContext, deadline: Deadline) -> ssl.SSLSocket:
    which = f"broker {address}, option kafka.security.protocol"
    try:
        sock.settimeout(max(_SECONDS_MIN, deadline.left()))
        return tls.wrap_socket(sock, server_hostname=address.host)
    except ssl.SSLCertVerificationError as error:
        raise TlsError(
            f"the certificate of {address} is not trusted: {error.verify_message}",
            f"broker {address}, option kafka.ssl.truststore.location",
            "give the authority that signed it; for another host name: ssl.endpoint.identification.algorithm=''",
        ) from None
    except (ssl.SSLEOFError, ConnectionError):
        raise LinkError(
            f"TLS with {address} failed: it closed the connection", which, "check that this port speaks TLS"
        ) from None
    except ssl.SSLError as error:
        raise _refused(address, error) from None
    except TimeoutError:
        raise LinkError(f"TLS with {address} failed: it did not answer in time", which) from None


def _refused(address: Address, error: ssl.SSLError) -> TlsError:
    reason = (error.reason or str(error)).lower().replace("_", " ")
    return TlsError(
        f"TLS with {address} failed: {reason}",
        f"broker {address}, option kafka.security.protocol",
        "check that this port speaks TLS, and whether it wants a certificate (kafka.ssl.keystore.*)",
    )
