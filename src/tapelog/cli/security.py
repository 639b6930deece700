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
from tapelog.cli.bootstrap import probe
from tapelog.cli.output import EXIT_FAILED, EXIT_UNREACHABLE, EXIT_USAGE, CliError
from tapelog.client.errors import ClientError, LinkError, TlsError
from tapelog.client.secret import Secret
from tapelog.client.settings import Plain, Sasl, Scram, Store, Tls

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", oauth.MECHANISM)
PEM_BYTES_MAX: Final = 1 << 20

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


def look(bootstrap: str, timeout_s: float, properties: Mapping[str, Any]) -> None:
    """Raise CliError unless a broker can be reached which speaks TLS, or does not, as these properties say."""
    context = None
    if protocol_of(properties).endswith("SSL"):
        try:
            context = Security.of({**properties, "security.protocol": "SSL"}).context
        except CliError:  # librdkafka may be able to, or says what is wrong
            return probe(bootstrap, timeout_s, look=False)
    return probe(bootstrap, timeout_s, context)


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
        verify_host=given.get("ssl.endpoint.identification.algorithm", "https").lower() == "https",
        ciphers=given.get("ssl.cipher.suites", ""),
    )


def _trust(given: Mapping[str, str]) -> Store | None:
    if given.get("ssl.ca.pem"):
        return Store(content=Secret(given["ssl.ca.pem"]))
    path = given.get("ssl.ca.location", "")
    if os.path.isdir(path):
        raise CliError(
            f"ssl.ca.location: {path} is a directory",
            "-X ssl.ca.location=FILE names one file with all authorities (PEM)",
            EXIT_USAGE,
        )
    return Store(path=path) if path and path != "probe" else None


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
