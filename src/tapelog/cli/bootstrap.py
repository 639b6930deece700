"""What --bootstrap means, and whether a broker answers there: looked at before any Kafka client is made.

A client tries again for its whole timeout whatever is wrong. A look of a few milliseconds tells at once what it would
only hint at then: nobody listens, the name is unknown, the port speaks TLS and we do not, or the other way round.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Sequence
from typing import Final

from tapelog.base.addresses import host_port
from tapelog.cli.output import EXIT_UNREACHABLE, EXIT_USAGE, CliError

DEFAULT_PORT: Final = 9092
PROBE_LEAST_S: Final = 0.05
ANSWER_S: Final = 1.0
"""A port that says nothing for so long may be a busy broker: the client itself waits longer."""

_API_VERSIONS: Final = struct.pack(">ihhih4s", 14, 18, 0, 0, 4, b"tape")
"""A Kafka request that every broker answers before a login: ApiVersions, version 0."""
_TLS_ALERT: Final = b"\x15\x03"
_FRAME_BYTES_MAX: Final = 1 << 20  # no answer to it is longer

SPEAKS_TLS, SPEAKS_KAFKA, SPEAKS_HTTP, SPEAKS_OTHER = "TLS", "Kafka", "HTTP", "something else"
SILENT, CLOSED = "nothing yet", "nothing, and closes"


def parse_bootstrap(text: str) -> list[tuple[str, int]]:
    """`host:port,host:port` as pairs; IPv6 hosts stand in brackets. A missing port is 9092."""
    pairs: list[tuple[str, int]] = []
    for entry in (part.strip() for part in text.split(",") if part.strip()):
        if entry.isdecimal():  # a port alone would be looked up as a host of that name
            meant = f"127.0.0.1:{entry}" if 0 < int(entry) < 65536 else "127.0.0.1:9092"
            raise CliError(f"{entry} is not HOST:PORT", f"--bootstrap {meant}", EXIT_USAGE)
        scheme, is_url, rest = entry.partition("://")
        if is_url:
            raise CliError(
                f"{entry} is not HOST:PORT: leave {scheme}:// out", f"--bootstrap {rest.strip('/')}", EXIT_USAGE
            )
        host, colon, port = entry.rpartition(":") if not entry.endswith("]") else (entry, "", "")
        if not colon:
            host, port = entry, str(DEFAULT_PORT)
        if ":" in host and not host.startswith("["):
            raise CliError(
                f"{entry} is not HOST:PORT: an IPv6 address stands in brackets",
                f"--bootstrap [{entry}]:{DEFAULT_PORT}" if host.endswith(":") else f"--bootstrap [{host}]:{port}",
                EXIT_USAGE,
            )
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise CliError(
                f"{entry!r} is not HOST:PORT", "--bootstrap 127.0.0.1:9092, or set TAPELOG_BOOTSTRAP", EXIT_USAGE
            )
        pairs.append((host.strip("[]"), int(port)))
    if not pairs:
        raise CliError("--bootstrap is empty", "--bootstrap 127.0.0.1:9092, or set TAPELOG_BOOTSTRAP", EXIT_USAGE)
    return pairs


def probe(bootstrap: str, timeout_s: float, tls: ssl.SSLContext | None = None, *, look: bool = True) -> None:
    """Raise CliError unless one of the bootstrap servers can be reached and does not speak otherwise than we do; all
    share the time. `tls` is what connections will use; without `look` a connection is enough."""
    addresses = parse_bootstrap(bootstrap)
    failures: list[CliError] = []
    deadline = time.monotonic() + timeout_s
    for tried, (host, port) in enumerate(addresses):
        share_s = max(PROBE_LEAST_S, (deadline - time.monotonic()) / (len(addresses) - tried))
        try:
            with socket.create_connection((host, port), timeout=share_s) as connection:
                connection.settimeout(min(share_s, ANSWER_S))
                if look:
                    _look(connection, host, port, tls)
                return
        except CliError as error:
            failures.append(error)
        except socket.gaierror as error:
            failures.append(_unknown_name(host, port, error))
        except OSError as error:
            failures.append(_nobody(host, port, error))
    raise failures[0] if len(failures) == 1 else _all_of(failures)


def _look(connection: socket.socket, host: str, port: int, tls: ssl.SSLContext | None) -> None:
    """Raise CliError if what listens there speaks otherwise than we do."""
    where, wait_s = host_port(host, port), connection.gettimeout()
    if tls is None:
        told = spoken(connection)
        if told == CLOSED and _takes_tls(socket.create_connection((host, port), wait_s), host, _unverified()):
            told = SPEAKS_TLS  # some end it without the alert that would tell
        if told == SPEAKS_TLS:
            raise CliError(
                f"{where} answers, but only with TLS",
                "-X security.protocol=SSL (with a login: SASL_SSL), and -X ssl.ca.location=FILE for an authority of "
                "your own; or give the port of a listener without TLS",
                EXIT_UNREACHABLE,
            )
    elif _takes_tls(connection, host, tls):
        return
    else:
        with socket.create_connection((host, port), wait_s) as again:
            told = spoken(again)
        if told == SPEAKS_KAFKA:
            raise CliError(
                f"{where} answers, but not with TLS",
                "leave security.protocol out (with a login: -X security.protocol=SASL_PLAINTEXT), or give the port of "
                "a listener with TLS",
                EXIT_UNREACHABLE,
            )
    if told in (SPEAKS_HTTP, SPEAKS_OTHER):
        raise CliError(
            f"{where} answers, but it is no Kafka broker: it speaks {told}",
            "check the port: --bootstrap HOST:PORT,… (or TAPELOG_BOOTSTRAP)",
            EXIT_UNREACHABLE,
        )


def spoken(connection: socket.socket) -> str:
    """What the other side says to a Kafka request without TLS."""
    begin = b""
    try:
        connection.sendall(_API_VERSIONS)
        while len(begin) < 4:
            more = connection.recv(4 - len(begin))
            if not more:
                return CLOSED
            begin += more
    except TimeoutError:
        return SILENT
    except OSError:
        return CLOSED
    if begin.startswith(_TLS_ALERT):
        return SPEAKS_TLS
    if begin == b"HTTP":
        return SPEAKS_HTTP
    return SPEAKS_KAFKA if 4 < int.from_bytes(begin, "big") <= _FRAME_BYTES_MAX else SPEAKS_OTHER


def _takes_tls(connection: socket.socket, host: str, tls: ssl.SSLContext) -> bool:
    """Whether it speaks TLS, on whatever conditions: an alert and a certificate that we do not believe are TLS, too."""
    try:
        with connection:
            tls.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError:
        return True
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except OSError:
        return False
    return True


def _unverified() -> ssl.SSLContext:
    """To see whether it is TLS; nothing is ever sent through it."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


def _unknown_name(host: str, port: int, error: OSError) -> CliError:
    return CliError(
        f"no broker answers ({host_port(host, port)}: the name {host} cannot be resolved: {error.strerror})",
        "check the name, from this machine: --bootstrap HOST:PORT,… (or TAPELOG_BOOTSTRAP)",
        EXIT_UNREACHABLE,
    )


def _nobody(host: str, port: int, error: OSError) -> CliError:
    where = host_port(host, port)
    return CliError(
        f"no broker answers ({where}: {error.strerror or error})",
        f"`tape up --listen {where}` starts a broker; if one runs elsewhere: --bootstrap HOST:PORT,… "
        "(or TAPELOG_BOOTSTRAP); if this is a node of a cluster: `tape node DIR/node-N` starts it again",
        EXIT_UNREACHABLE,
    )


def _all_of(failures: Sequence[CliError]) -> CliError:
    """One error for several addresses; what to do about one whose port answered comes first."""
    reasons = [one.message.removeprefix("no broker answers (").removesuffix(")") for one in failures]
    answering = [one for one in failures if " answers, but " in one.message]
    return CliError(f"no broker answers ({'; '.join(reasons)})", (answering or failures)[0].hint, EXIT_UNREACHABLE)
