"""SASL logins as machines: bytes in, bytes out, no sockets. `handshake.py` carries the bytes.

A login is made for one exchange. `first()` gives what is sent to begin with; each answer of the broker goes into
`step`, which gives the next bytes to send, or None when the login is complete. What a hostile or wrong broker sends
ends in a LoginError, and `finished` tells whether the broker has proven all that the mechanism lets it prove.
"""

from __future__ import annotations

from typing import Protocol

from tapelog.client.errors import LoginError
from tapelog.client.settings import OAuthBearer, Plain

_SEPARATOR = "\x01"


class Login(Protocol):
    """One exchange of one mechanism."""

    mechanism: str
    finished: bool

    def first(self) -> bytes:
        """What is sent first."""
        ...

    def step(self, challenge: bytes) -> bytes | None:
        """What is sent after that answer; None if nothing is left to send."""
        ...


def impostor(mechanism: str, why: str) -> LoginError:
    """The error for a broker that does not keep to the mechanism."""
    return LoginError(
        f"the broker does not keep to {mechanism}: {why}",
        "option sasl.mechanism",
        "make sure that bootstrap.servers names the right cluster; do not send passwords there again before",
    )


class PlainLogin:
    """RFC 4616: name and password at once. The broker proves nothing, so use it with TLS only."""

    def __init__(self, settings: Plain) -> None:
        self.mechanism = settings.mechanism
        self.finished = False
        self._settings = settings

    def first(self) -> bytes:
        """Name and password, with no identity to act for."""
        name, password = self._settings.username, self._settings.password.text()
        for word, option in ((name, "username"), (password, "password")):
            if "\x00" in word or not word:
                raise LoginError(
                    f"the {option} for PLAIN is empty or holds a zero byte",
                    f"option sasl.jaas.config: {option}",
                    "give another one",
                )
        return f"\x00{name}\x00{password}".encode()

    def step(self, challenge: bytes) -> bytes | None:
        """The broker says nothing but that it is content."""
        if self.finished or challenge:
            raise impostor(self.mechanism, "it asks for more than name and password")
        self.finished = True
        return None


class BearerLogin:
    """RFC 7628 with Kafka's extensions (KIP-342): a token at once; a refusal comes as JSON."""

    def __init__(self, settings: OAuthBearer, token: str) -> None:
        self.mechanism = settings.mechanism
        self.finished = False
        self._token = token
        self._extensions = settings.extensions
        self._refused: str | None = None

    def first(self) -> bytes:
        """The token and the extensions."""
        if not self._token or not self._token.isascii() or not self._token.isprintable() or " " in self._token:
            raise LoginError(
                "the OAuth token is empty or no token", "option sasl.jaas.config", "check where it comes from"
            )
        parts = [f"auth=Bearer {self._token}"]
        for name, value in self._extensions:
            if not (name.isascii() and name.isalpha()) or name.lower() == "auth":
                raise LoginError(
                    f"{name!r} is no name of a SASL extension", "option sasl.jaas.config", "use letters only"
                )
            if any(not (" " <= letter <= "~" or letter in "\t\r\n") for letter in value):
                raise LoginError(
                    f"the SASL extension {name} has a value that cannot be sent",
                    "option sasl.jaas.config",
                    "use printable ASCII",
                )
            parts.append(f"{name}={value}")
        return f"n,,{_SEPARATOR}{_SEPARATOR.join(parts)}{_SEPARATOR}{_SEPARATOR}".encode()

    def step(self, challenge: bytes) -> bytes | None:
        """Nothing: we are in. JSON: the token is refused; the broker wants one more byte before it says so."""
        if self.finished or self._refused is not None:
            raise impostor(self.mechanism, "it asks for more than a token")
        if not challenge:
            self.finished = True
            return None
        self._refused = challenge.decode("utf-8", "replace")[:200]
        return _SEPARATOR.encode()

    @property
    def refused(self) -> str | None:
        """Why the broker does not like the token, in its words."""
        return self._refused
