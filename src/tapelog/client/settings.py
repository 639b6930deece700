"""How to reach a cluster: one frozen value that is hashed (the pool's key), compared, and pickled to executors.

Nothing here opens a file or a socket. Names are Kafka's where Kafka has one, and so are the defaults; turning
Java-style options into this value is done elsewhere (`spark/plan`). What must not be seen is a `Secret`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from tapelog.base.addresses import host_port
from tapelog.client.secret import Secret

PORT_MAX: Final = 65535


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return host_port(self.host, self.port)


@dataclass(frozen=True, slots=True)
class Store:
    """Certificates, and a private key where it is our identity: a file, or the content itself; exactly one of both."""

    path: str = ""
    content: Secret | None = None
    pkcs12: bool = False
    """PKCS12 rather than PEM. A PEM identity is the key and the chain one after the other, in any order."""
    password: Secret | None = None
    """Of the PKCS12 file, or of the encrypted key in the PEM."""
    directory: bool = False
    """The path is a directory of authorities, named by their hashes as `openssl rehash` does. Only to trust."""

    def __post_init__(self) -> None:
        if bool(self.path) == (self.content is not None):
            raise ValueError("a store is either a file or its content")


@dataclass(frozen=True, slots=True)
class Tls:
    """What TLS needs. The broker's certificate is always verified."""

    trust: Store | None = None
    """Whose certificates are believed; None: the system's authorities."""
    identity: Store | None = None
    """Our certificate and key, where the broker wants to see one."""
    verify_host: bool = True
    """ssl.endpoint.identification.algorithm=https; False: empty."""
    version_min: str = "TLSv1.2"
    version_max: str = "TLSv1.3"
    ciphers: str = ""
    """In OpenSSL's words, for TLS 1.2; empty: its defaults."""


@dataclass(frozen=True, slots=True)
class Plain:
    """SASL PLAIN."""

    username: str
    password: Secret

    @property
    def mechanism(self) -> str:
        """As in sasl.mechanism."""
        return "PLAIN"


@dataclass(frozen=True, slots=True)
class Scram:
    """SASL SCRAM-SHA-256 or SCRAM-SHA-512."""

    username: str
    password: Secret
    bits: int = 256
    delegation_token: bool = False
    """The username is a token's id and the password its HMAC (tokenauth=true)."""

    @property
    def mechanism(self) -> str:
        """As in sasl.mechanism."""
        return f"SCRAM-SHA-{self.bits}"

    def __post_init__(self) -> None:
        if self.bits not in (256, 512):
            raise ValueError(f"SCRAM-SHA-{self.bits} does not exist: 256 or 512")


@dataclass(frozen=True, slots=True)
class StaticToken:
    """A token that was given. It is used until the broker refuses it."""

    token: Secret


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A token in a file, read anew for each login (sasl.oauthbearer.token.endpoint.url=file:…)."""

    path: str


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """OAuth 2 client credentials, as Java's OAuthBearerLoginCallbackHandler does."""

    url: str
    client_id: str
    client_secret: Secret
    scope: str = ""
    tls: Tls = field(default_factory=Tls)
    url_encode_header: bool = False
    """sasl.oauthbearer.header.urlencode: encode id and secret before they are joined for the header."""
    connect_timeout_ms: int = 10_000
    read_timeout_ms: int = 10_000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class UnsecuredToken:
    """A token that we sign with nothing, for clusters under test (unsecuredLoginStringClaim_sub and its like)."""

    claims: tuple[tuple[str, str | float | tuple[str, ...]], ...]
    """Names and values; "sub" must be among them unless principal_claim says another name. exp and iat are made."""
    principal_claim: str = "sub"
    scope_claim: str = "scope"
    lifetime_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class TokenFunction:
    """A function that is called for each login and gives a token; picklable, so defined in a module."""

    function: Callable[[], str]


TokenSource: TypeAlias = StaticToken | TokenFile | TokenEndpoint | UnsecuredToken | TokenFunction


@dataclass(frozen=True, slots=True)
class OAuthBearer:
    """SASL OAUTHBEARER."""

    source: TokenSource
    extensions: tuple[tuple[str, str], ...] = ()
    """SASL extensions (KIP-342): names of letters, values without control characters."""

    @property
    def mechanism(self) -> str:
        """As in sasl.mechanism."""
        return "OAUTHBEARER"


Sasl: TypeAlias = Plain | Scram | OAuthBearer


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Everything a link, a cluster and the pool need to know; equal values share links."""

    bootstrap: tuple[Address, ...]
    tls: Tls | None = None
    sasl: Sasl | None = None
    client_id: str = "tapelog"
    client_rack: str = ""
    connect_timeout_ms: int = 10_000
    """socket.connection.setup.timeout.ms; one address may take this long."""
    request_timeout_ms: int = 30_000
    api_timeout_ms: int = 60_000
    """default.api.timeout.ms: what one call may take with all its retries."""
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    metadata_max_age_ms: int = 300_000
    connections_max_idle_ms: int = 540_000
    receive_buffer_bytes: int = -1
    """Of the socket; -1: the system's choice, which grows as needed."""
    send_buffer_bytes: int = -1

    @property
    def security_protocol(self) -> str:
        """In Kafka's words."""
        if self.sasl is None:
            return "PLAINTEXT" if self.tls is None else "SSL"
        return "SASL_PLAINTEXT" if self.tls is None else "SASL_SSL"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """bootstrap.servers as addresses; ValueError that names the part which is none."""
    found: list[Address] = []
    for part in text.split(","):
        word = part.strip()
        if not word:
            continue
        word = word.rpartition("://")[2]  # Kafka takes PLAINTEXT://host:port, too
        host, colon, port = word.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) <= PORT_MAX:
            raise ValueError(f"{part.strip()!r} is no address of a broker: host:port is expected")
        address = Address(host, int(port))
        if address not in found:
            found.append(address)
    if not found:
        raise ValueError("no broker is named: host:port, separated by commas, is expected")
    return tuple(found)
