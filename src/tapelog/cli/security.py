"""TLS and logins of `tape`'s own connections, from the librdkafka properties that its other clients get with -X.

TLS, SASL and SCRAM themselves are `client/`'s, the same that Spark's connections go through. Here librdkafka's names
become that room's settings (`Security.of`), and its errors, which name Java's options, name ours (`explained`).
Called by `raw` for each connection, and by `connect` before the first one.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tapelog.cli import oauth
from tapelog.cli.bootstrap import PROBE_LEAST_S, parse_bootstrap, probe
from tapelog.cli.output import EXIT_FAILED, EXIT_UNREACHABLE, EXIT_USAGE, CliError
from tapelog.client.errors import ClientError, LinkError, TlsError
from tapelog.client.link import Link
from tapelog.client.pace import Deadline, SystemPace
from tapelog.client.secret import Secret
from tapelog.client.settings import Address, ConnectionSettings, Plain, Sasl, Scram, Store, Tls

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", oauth.MECHANISM)
PEM_BYTES_MAX: Final = 1 << 20
CLIENT_ID: Final = "tape"
PACE: Final = SystemPace()
NO_LIMIT_MS: Final = 24 * 60 * 60 * 1000
"""Each question has its own deadline."""
PROBE_SECONDS: Final = 3.0
"""For a first look at a port."""

_OUR_WORDS: Final = (
    ("option kafka.sasl.jaas.config", "-X sasl.username and -X sasl.password"),
    ("kafka.security.protocol", "-X security.protocol"),
    ("option kafka.bootstrap.servers", "--bootstrap"),
    ("kafka.bootstrap.servers", "--bootstrap"),
    ("bootstrap.servers", "--bootstrap"),
    ("kafka.ssl.keystore.*", "-X ssl.certificate.location and -X ssl.key.location"),
    ("ssl.truststore.location", "ssl.ca.location"),
    ("ssl.keystore.location", "ssl.certificate.location or ssl.keystore.location"),
    ("put the file there on the driver and on every executor", "check the path, and that you may read the file"),
    ("give the authority that signed it", "-X ssl.ca.location=FILE names the authority that signed it"),
    ("ssl.endpoint.identification.algorithm=''", "-X ssl.endpoint.identification.algorithm=none"),
    (
        "check clientId, clientSecret and scope",
        "check -X sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret and sasl.oauthbearer.scope",
    ),
)
"""What `client/` says in the words of Java's clients, and what it is called here."""


@dataclass(frozen=True)
class Security:
    """How connections are made safe."""

    tls: Tls | None = None
    sasl: Sasl | None = None
    verify: bool = True
    """enable.ssl.certificate.verification"""
    revoked: str = ""
    """ssl.crl.location: a file of certificates that are believed no longer."""

    @staticmethod
    def of(properties: Mapping[str, Any]) -> Security:
        """What these properties ask for; CliError for what we cannot do."""
        given = {name: str(value) for name, value in properties.items()}
        protocol = protocol_of(properties)
        return Security(
            tls_of(given) if protocol.endswith("SSL") else None,
            _sasl(given) if protocol.startswith("SASL") else None,
            given.get("enable.ssl.certificate.verification", "true").lower() != "false",
            given.get("ssl.crl.location", ""),
        )

    @cached_property
    def context(self) -> ssl.SSLContext | None:
        """For every connection; CliError if a file is missing or unusable."""
        if self.tls is None:
            return None
        from tapelog.client import tls

        try:
            made = tls.context(self.tls)
        except TlsError as error:
            raise explained(error) from None
        if self.revoked:
            try:
                made.load_verify_locations(self.revoked)
            except (OSError, ssl.SSLError) as error:
                raise CliError(
                    f"the list of revoked certificates cannot be read (ssl.crl.location: {self.revoked}): {error}",
                    "check the path, and that it is PEM",
                    EXIT_USAGE,
                ) from None
            made.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
        if not self.verify:
            made.check_hostname = False
            made.verify_mode = ssl.CERT_NONE
        return made


def opened(address: Address, security: Security, timeout_s: float, connect_s: float | None = None) -> Link:
    """A connection of our own, logged in; CliError if that cannot be. `connect_s`: so long for the connection alone."""
    from tapelog.client.handshake import open_link  # and with it an HTTP client, which most commands never need

    settings = ConnectionSettings(
        (address,),
        security.tls,
        security.sasl,
        client_id=CLIENT_ID,
        connect_timeout_ms=round((timeout_s if connect_s is None else connect_s) * 1000),
        request_timeout_ms=NO_LIMIT_MS,
    )
    try:
        return open_link(address, settings, security.context, Deadline(PACE, timeout_s), PACE)
    except ClientError as error:
        raise explained(error) from None


def look(bootstrap: str, timeout_s: float, properties: Mapping[str, Any]) -> None:
    """Raise CliError unless a broker can be reached as these properties say: one that speaks TLS, or does not, that
    takes our login, and that proves what the mechanism lets it prove.

    librdkafka tries a refused password again and again. Our own login comes first, so it never has a refused one.
    librdkafka also answers a SCRAM server that asks for one iteration. Our login notices a server that does so at once,
    but not one that does so at a later connection: TLS alone prevents that (`password_can_be_guessed`).
    """
    quick_s, protocol = min(timeout_s, PROBE_SECONDS), protocol_of(properties)
    if protocol == "PLAINTEXT":
        return probe(bootstrap, quick_s)
    security = Security.of({**properties, "security.protocol": protocol.removeprefix("SASL_")})
    try:
        context = security.context
    except CliError:  # a kind of file that only librdkafka reads, perhaps; if not, it says so
        if protocol.startswith("SASL") and _can_log_in(properties):
            raise  # no password goes where our own login does not go first
        return probe(bootstrap, quick_s, look=False)
    if protocol.startswith("SASL") and not _can_log_in(properties):
        return probe(bootstrap, quick_s, context)
    try:
        return _log_in(bootstrap, timeout_s, Security.of(properties))
    except CliError:
        probe(bootstrap, quick_s, context)  # knows better, if the port speaks otherwise
        raise


def password_can_be_guessed(properties: Mapping[str, Any]) -> bool:
    """Whether a login of librdkafka lets somebody between us and the broker guess the password: librdkafka answers
    SCRAM with one iteration, and without verified TLS nothing tells it who asks for that."""
    protocol = protocol_of(properties)
    if not protocol.startswith("SASL") or not mechanism_of(properties).startswith("SCRAM"):
        return False
    verified = str(properties.get("enable.ssl.certificate.verification", "true")).lower() not in ("false", "f", "0")
    return protocol == "SASL_PLAINTEXT" or not verified


def _can_log_in(properties: Mapping[str, Any]) -> bool:
    """Whether our own client has that mechanism; else it is left to librdkafka."""
    mechanism = mechanism_of(properties)
    if mechanism == oauth.MECHANISM:
        return not oauth.only_librdkafka({name: str(value) for name, value in properties.items()})
    return mechanism in MECHANISMS


def _log_in(bootstrap: str, timeout_s: float, security: Security) -> None:
    """At the first broker that answers; a refusal is not tried at the next one."""
    addresses = parse_bootstrap(bootstrap)
    deadline = Deadline(PACE, timeout_s)
    failure: CliError | None = None
    for tried, address in enumerate(addresses):
        try:
            share_s = max(PROBE_LEAST_S, deadline.left() / (len(addresses) - tried))
            opened(Address(*address), security, share_s, min(share_s, PROBE_SECONDS)).close()
            return
        except CliError as error:
            if error.exit_code != EXIT_UNREACHABLE:
                raise
            failure = failure or error
    assert failure is not None
    raise failure


def librdkafka_login(properties: Mapping[str, Any]) -> dict[str, Any]:
    """What librdkafka needs from us to log in as these properties say; CliError if we have it not."""
    if not protocol_of(properties).startswith("SASL") or mechanism_of(properties) != oauth.MECHANISM:
        return {}
    try:
        return oauth.for_librdkafka({name: str(value) for name, value in properties.items()}, tls_of)
    except ClientError as error:
        raise explained(error) from None


def protocol_of(properties: Mapping[str, Any]) -> str:
    """security.protocol, in capitals."""
    protocol = str(properties.get("security.protocol", "PLAINTEXT")).upper()
    if protocol not in PROTOCOLS:
        raise CliError(
            f"security.protocol={protocol} is not known", f"-X security.protocol={'|'.join(PROTOCOLS)}", EXIT_USAGE
        )
    return protocol


def mechanism_of(properties: Mapping[str, Any]) -> str:
    """sasl.mechanism (or sasl.mechanisms), in capitals."""
    return str(properties.get("sasl.mechanism", properties.get("sasl.mechanisms", "GSSAPI"))).upper()


def explained(error: ClientError) -> CliError:
    """The same, with what is to be done in the words of this command line."""
    message = error.what
    if error.which.startswith(("option ssl.", "option sasl.oauthbearer.")):
        message += f" ({error.which.removeprefix('option ')})"
    do = error.do or "check --bootstrap, and that the broker runs"
    for theirs, ours in _OUR_WORDS:
        message, do = message.replace(theirs, ours), do.replace(theirs, ours)
    unreachable = isinstance(error, LinkError | TlsError)
    return CliError(message, do, EXIT_UNREACHABLE if unreachable else EXIT_FAILED)


def _sasl(given: Mapping[str, str]) -> Sasl:
    mechanism = mechanism_of(given)
    if mechanism not in MECHANISMS:
        raise CliError(
            f"this command cannot log in with {mechanism}",
            f"it can with {', '.join(MECHANISMS)}: -X sasl.mechanism=SCRAM-SHA-512",
            EXIT_USAGE,
        )
    if mechanism == oauth.MECHANISM:
        return oauth.bearer(given, tls_of)
    user, password = given.get("sasl.username", ""), Secret(given.get("sasl.password", ""))
    if not user or not password:
        missing = "sasl.password" if user else "sasl.username"
        raise CliError(f"{mechanism} needs a user and a password", f"add -X {missing}=…", EXIT_USAGE)
    return Plain(user, password) if mechanism == "PLAIN" else Scram(user, password, int(mechanism[-3:]))


def tls_of(given: Mapping[str, str]) -> Tls:
    """TLS as librdkafka's ssl.* properties want it."""
    return Tls(
        trust=_trust(given),
        identity=_identity(given),
        verify_host=_verifies_host(given),
        ciphers=given.get("ssl.cipher.suites", ""),
    )


def _verifies_host(given: Mapping[str, str]) -> bool:
    name = "ssl.endpoint.identification.algorithm"
    value = given.get(name, "https")
    if value.lower() not in ("https", "none"):  # a slip must not turn the check off
        raise CliError(
            f"{name}={value!r} is not known",
            f"-X {name}=https, or none to accept a certificate for another host",
            EXIT_USAGE,
        )
    return value.lower() == "https"


def _trust(given: Mapping[str, str]) -> Store | None:
    if given.get("ssl.ca.pem"):
        return Store(content=Secret(given["ssl.ca.pem"]))
    path = given.get("ssl.ca.location", "")
    return Store(path=path, directory=os.path.isdir(path)) if path and path != "probe" else None


def _identity(given: Mapping[str, str]) -> Store | None:
    """Our certificate and key: both in one store, as `client/` takes them."""
    password = Secret(given["ssl.key.password"]) if given.get("ssl.key.password") else None
    if given.get("ssl.keystore.location"):
        locked = Secret(given["ssl.keystore.password"]) if given.get("ssl.keystore.password") else None
        return Store(path=given["ssl.keystore.location"], pkcs12=True, password=locked)
    parts = [_pem(given, "key"), _pem(given, "certificate")]
    if not any(parts):
        return None
    return Store(content=Secret(b"\n".join(parts)), password=password)


def _pem(given: Mapping[str, str], kind: str) -> bytes:
    if given.get(f"ssl.{kind}.pem"):
        return given[f"ssl.{kind}.pem"].encode()
    name = f"ssl.{kind}.location"
    if not given.get(name):
        return b""
    try:
        with open(given[name], "rb") as file:
            return file.read(PEM_BYTES_MAX)
    except OSError as error:
        raise CliError(
            f"{name}: {given[name]} cannot be read: {error.strerror}",
            "check the path, and that you may read the file",
            EXIT_USAGE,
        ) from None
