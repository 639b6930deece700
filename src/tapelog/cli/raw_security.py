"""TLS and SASL for raw connections, from the same librdkafka properties that the other clients get with -X."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from tapelog.cli.output import EXIT_FAILED, EXIT_USAGE, CliError
from tapelog.wire.errors import error_code
from tapelog.wire.message import Message
from tapelog.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tapelog.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from tapelog.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from tapelog.wire.messages.sasl_handshake_response import SaslHandshakeResponse

M = TypeVar("M", bound=Message)
SCRAM_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
NONCE_BYTES = 24
ITERATIONS_MAX = 10_000_000


class Ask(Protocol):
    """Send a request and return its answer."""

    def __call__(self, request: Message, answer: type[M], version: int | None = None) -> M: ...


@dataclass(frozen=True, slots=True)
class Security:
    """How connections are made safe."""

    tls: bool = False
    mechanism: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    properties: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(properties: Mapping[str, Any]) -> Security:
        """What these properties ask for; CliError for what we cannot do."""
        protocol = str(properties.get("security.protocol", "plaintext")).lower()
        if protocol not in ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"):
            raise CliError(f"security.protocol={protocol} is not known", "-X security.protocol=SASL_SSL", EXIT_USAGE)
        mechanism = str(properties.get("sasl.mechanism", properties.get("sasl.mechanisms", "GSSAPI"))).upper()
        if not protocol.startswith("sasl"):
            mechanism = ""
        elif mechanism != "PLAIN" and mechanism not in SCRAM_HASHES:
            raise CliError(
                f"this command cannot log in with {mechanism}",
                f"it can with PLAIN, {' and '.join(SCRAM_HASHES)}: -X sasl.mechanism=SCRAM-SHA-512",
                EXIT_USAGE,
            )
        return Security(
            protocol.endswith("ssl"),
            mechanism,
            str(properties.get("sasl.username", "")),
            str(properties.get("sasl.password", "")),
            properties,
        )

    def wrap(self, plain: socket.socket, host: str) -> socket.socket:
        """The socket itself, or TLS over it. OSError if the other side is not who it should be."""
        if not self.tls:
            return plain
        given = {name: str(value) for name, value in self.properties.items() if name.startswith("ssl.")}
        context = ssl.create_default_context(cafile=given.get("ssl.ca.location"))
        if "ssl.ca.pem" in given:
            context.load_verify_locations(cadata=given["ssl.ca.pem"])
        if given.get("ssl.endpoint.identification.algorithm") == "none":
            context.check_hostname = False
        if str(self.properties.get("enable.ssl.certificate.verification", "true")).lower() == "false":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if "ssl.certificate.location" in given:
            context.load_cert_chain(
                given["ssl.certificate.location"], given.get("ssl.key.location"), given.get("ssl.key.password")
            )
        return context.wrap_socket(plain, server_hostname=host)

    def authenticate(self, ask: Ask) -> None:
        """Log in, if a mechanism was chosen."""
        if not self.mechanism:
            return
        told = ask(SaslHandshakeRequest(self.mechanism), SaslHandshakeResponse, 1)
        if told.error_code:
            raise CliError(
                f"the broker does not accept {self.mechanism}",
                f"it accepts {', '.join(told.mechanisms) or 'no login'}: -X sasl.mechanism=…",
                EXIT_FAILED,
            )
        if self.mechanism == "PLAIN":
            self._send(ask, b"\0" + self.user.encode() + b"\0" + self.password.encode())
            return
        nonce = base64.b64encode(os.urandom(NONCE_BYTES)).decode()
        scram = Scram(SCRAM_HASHES[self.mechanism], self.user, self.password, nonce)
        scram.finish(self._send(ask, scram.last(self._send(ask, scram.first()))))

    def _send(self, ask: Ask, data: bytes) -> bytes:
        told = ask(SaslAuthenticateRequest(data), SaslAuthenticateResponse)
        if told.error_code:
            raise CliError(
                f"the login was refused: {told.error_message or error_code(told.error_code).name}",
                "check -X sasl.username and -X sasl.password",
                EXIT_FAILED,
            )
        return told.auth_bytes


class Scram:
    """The client's side of RFC 5802, without channel binding."""

    def __init__(self, hash_name: str, user: str, password: str, nonce: str) -> None:
        self._hash, self._password, self._nonce = hash_name, password.encode(), nonce
        self._bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self._signature = b""

    def first(self) -> bytes:
        """Who we are."""
        return f"n,,{self._bare}".encode()

    def last(self, challenge: bytes) -> bytes:
        """The proof that we know the password."""
        told = _attributes(challenge)
        iterations = int(told.get("i", "0")) if told.get("i", "0").isdigit() else 0
        if not told.get("r", "").startswith(self._nonce) or not 0 < iterations <= ITERATIONS_MAX:
            raise CliError("the broker's SCRAM challenge makes no sense", "", EXIT_FAILED)
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, base64.b64decode(told["s"]), iterations)
        final = f"c=biws,r={told['r']}"
        message = f"{self._bare},{challenge.decode()},{final}".encode()
        client_key = self._mac(salted, b"Client Key")
        mask = self._mac(hashlib.new(self._hash, client_key).digest(), message)
        self._signature = self._mac(self._mac(salted, b"Server Key"), message)
        proof = bytes(a ^ b for a, b in zip(client_key, mask, strict=True))
        return f"{final},p={base64.b64encode(proof).decode()}".encode()

    def finish(self, verdict: bytes) -> None:
        """Whether the broker knows the password too."""
        told = _attributes(verdict).get("v", "")
        if not hmac.compare_digest(told, base64.b64encode(self._signature).decode()):
            raise CliError(
                "the broker did not prove that it knows the password", "is it the right cluster?", EXIT_FAILED
            )

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._hash).digest()


def _attributes(text: bytes) -> dict[str, str]:
    parts = (part.partition("=") for part in text.decode("utf-8", "replace").split(","))
    return {name: value for name, _, value in parts}
