"""SCRAM (RFC 5802, RFC 7677) as a machine: proves that we know the password, and has the broker prove the same.

Kafka's dialect: names and passwords are UTF-8 as they are (no SASLprep), at least 4096 iterations, and the extension
`tokenauth=true` for delegation tokens. Chance comes in as an argument.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from base64 import b64decode, b64encode
from typing import Final

from tapelog.client.errors import LoginError
from tapelog.client.login import impostor
from tapelog.client.settings import Scram

ITERATIONS_MIN: Final = 4096
ITERATIONS_MAX: Final = 1_000_000
"""Half a second of computing: a broker that asks for more wants to keep us busy."""
SALT_BYTES_MAX: Final = 1024
MESSAGE_BYTES_MAX: Final = 8192

_HEADER: Final = "n,,"


class ScramLogin:
    """One exchange. `nonce` is fresh and unpredictable: printable ASCII without commas."""

    def __init__(self, settings: Scram, nonce: str) -> None:
        self.mechanism = settings.mechanism
        self.finished = False
        self._settings = settings
        self._nonce = nonce
        self._hash = f"sha{settings.bits}"
        name = settings.username.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={name},r={nonce}" + (",tokenauth=true" if settings.delegation_token else "")
        self._expected: bytes | None = None

    def first(self) -> bytes:
        """Who we are, and our nonce."""
        if not self._settings.username or not self._settings.password:
            raise LoginError("SCRAM needs a name and a password", "option sasl.jaas.config", "give both")
        return (_HEADER + self._first_bare).encode()

    def step(self, challenge: bytes) -> bytes | None:
        """The broker's salt is answered with our proof; its own proof ends the exchange."""
        if self.finished:
            raise impostor(self.mechanism, "it goes on after the end")
        fields = self._fields(challenge)
        if "e" in fields:
            raise LoginError(
                f"{self.mechanism} failed: {fields['e'][:100]}",
                f"option sasl.jaas.config: user {self._settings.username}",
                "check name and password: option kafka.sasl.jaas.config",
            )
        if self._expected is None:
            return self._prove(challenge, fields)
        if not hmac.compare_digest(self._decoded(fields, "v"), self._expected):
            raise impostor(self.mechanism, "its signature is wrong, so it does not know the password")
        self.finished = True
        return None

    def _prove(self, challenge: bytes, fields: dict[str, str]) -> bytes:
        nonce = fields.get("r", "")
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise impostor(self.mechanism, "its nonce does not extend ours")
        salt = self._decoded(fields, "s")
        if not 0 < len(salt) <= SALT_BYTES_MAX:
            raise impostor(self.mechanism, f"its salt has {len(salt)} bytes")
        count = fields.get("i", "")
        if not (count.isascii() and count.isdigit() and len(count) < 10):
            raise impostor(self.mechanism, "its number of iterations is none")
        if not ITERATIONS_MIN <= int(count) <= ITERATIONS_MAX:
            raise impostor(self.mechanism, f"{count} iterations are outside {ITERATIONS_MIN} to {ITERATIONS_MAX}")
        salted = hashlib.pbkdf2_hmac(self._hash, self._settings.password.data(), salt, int(count))
        bare = f"c={b64encode(_HEADER.encode()).decode()},r={nonce}"
        told = b",".join([self._first_bare.encode(), challenge, bare.encode()])
        client_key = hmac.digest(salted, b"Client Key", self._hash)
        signature = hmac.digest(hashlib.new(self._hash, client_key).digest(), told, self._hash)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._expected = hmac.digest(hmac.digest(salted, b"Server Key", self._hash), told, self._hash)
        return f"{bare},p={b64encode(proof).decode()}".encode()

    def _fields(self, challenge: bytes) -> dict[str, str]:
        if len(challenge) > MESSAGE_BYTES_MAX:
            raise impostor(self.mechanism, "its message is too long")
        try:
            parts = challenge.decode("utf-8").split(",")
        except UnicodeDecodeError:
            raise impostor(self.mechanism, "its message is no text") from None
        fields: dict[str, str] = {}
        for part in parts:
            name, equals, value = part.partition("=")
            if len(name) != 1 or not equals or name in fields:
                raise impostor(self.mechanism, "its message has the wrong form")
            if name == "m":
                raise impostor(self.mechanism, "it demands an extension that does not exist")
            fields[name] = value
        return fields

    def _decoded(self, fields: dict[str, str], name: str) -> bytes:
        try:
            return b64decode(fields.get(name, ""), validate=True)
        except (binascii.Error, ValueError):
            raise impostor(self.mechanism, "its message is no base64") from None
