"""OAUTHBEARER for `tape`, from librdkafka's properties: where the token comes from, for all clients of a command.

Tokens come from `client/tokens`: given, from a file, or from an OpenID server by a client's id and secret. librdkafka
is handed the same one (`for_librdkafka`), so that a refusal is told at once and the server is asked once. What only
librdkafka can do (another grant type, the metadata of a cloud), it does itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from tapelog.cli.output import EXIT_USAGE, CliError
from tapelog.client.pace import Deadline, SystemPace
from tapelog.client.secret import Secret
from tapelog.client.settings import (
    OAuthBearer,
    StaticToken,
    Tls,
    TokenEndpoint,
    TokenFile,
    TokenSource,
    UnsecuredToken,
)

TlsOf = Callable[[Mapping[str, str]], Tls]
"""TLS from librdkafka's ssl.* properties."""
MECHANISM: Final = "OAUTHBEARER"
OPAQUE_SECONDS: Final = 60
"""A token that does not tell how long it lives is asked for again after that time."""
TOKEN_WAIT_SECONDS: Final = 10.0

CLIENT_CREDENTIALS: Final = "client_credentials"

_PREFIX: Final = "sasl.oauthbearer."
_TRUE: Final = ("true", "1", "t", "yes")


def bearer(given: Mapping[str, str], tls_of: TlsOf) -> OAuthBearer:
    """What these properties say of tokens; CliError if they do not."""
    config = _words(given.get(f"{_PREFIX}config", ""))
    extensions = _pairs(given.get(f"{_PREFIX}extensions", ""))
    if _is_unsecured(given):
        own = {name.removeprefix("extension_"): value for name, value in config.items() if name[:10] == "extension_"}
        return OAuthBearer(_unsecured(config), tuple(sorted((extensions | own).items())))
    return OAuthBearer(_source(given, config, tls_of), tuple(sorted(extensions.items())))


def for_librdkafka(given: Mapping[str, str], tls_of: TlsOf) -> dict[str, Any]:
    """Properties that give librdkafka our tokens. The first one is fetched here: ClientError or CliError if there is
    none."""
    if _is_unsecured(given) or only_librdkafka(given):
        return {}
    from tapelog.client import tokens  # and with it an HTTP client, which few commands need

    sasl = bearer(given, tls_of)

    def give(config: str) -> tuple[str, float, str, dict[str, str]]:
        """Called for the first login, and again before the token ends."""
        pace = SystemPace()
        token = tokens.token(sasl.source, Deadline(pace, TOKEN_WAIT_SECONDS), pace)
        return token, time.time() + (tokens.life(token) or OPAQUE_SECONDS), "", dict(sasl.extensions)

    give("")
    return {"oauth_cb": give, f"{_PREFIX}method": "default"}


def _is_unsecured(given: Mapping[str, str]) -> bool:
    return given.get("enable.sasl.oauthbearer.unsecure.jwt", "").lower() in _TRUE


def only_librdkafka(given: Mapping[str, str]) -> bool:
    """Whether these properties ask for a token that only librdkafka can get."""
    if given.get(f"{_PREFIX}method", "").lower() != "oidc" or _is_file(given):
        return False
    kind = given.get(f"{_PREFIX}metadata.authentication.type", "none")
    return kind != "none" or given.get(f"{_PREFIX}grant.type", CLIENT_CREDENTIALS) != CLIENT_CREDENTIALS


def _is_file(given: Mapping[str, str]) -> bool:
    return given.get(f"{_PREFIX}token.endpoint.url", "").lower().startswith("file:")


def _source(given: Mapping[str, str], config: Mapping[str, str], tls_of: TlsOf) -> TokenSource:
    url = given.get(f"{_PREFIX}token.endpoint.url", "")
    if config.get("token"):
        return StaticToken(Secret(config["token"]))
    if _is_file(given):
        return TokenFile("/" + url[len("file:") :].lstrip("/"))
    if not url.lower().startswith(("https://", "http://")):
        raise CliError(
            "OAUTHBEARER does not know where to get a token",
            f"a file: -X {_PREFIX}token.endpoint.url=file:///PATH; an OpenID server: -X {_PREFIX}method=oidc -X "
            f"{_PREFIX}token.endpoint.url=https://… -X {_PREFIX}client.id=… -X {_PREFIX}client.secret=…; a token: -X "
            f"{_PREFIX}config=token=…; a test cluster: -X enable.sasl.oauthbearer.unsecure.jwt=true -X "
            f"{_PREFIX}config=principal=NAME",
            EXIT_USAGE,
        )
    client = given.get(f"{_PREFIX}client.id") or given.get(f"{_PREFIX}client.credentials.client.id", "")
    secret = given.get(f"{_PREFIX}client.secret") or given.get(f"{_PREFIX}client.credentials.client.secret", "")
    grant = given.get(f"{_PREFIX}grant.type", CLIENT_CREDENTIALS)
    if grant != CLIENT_CREDENTIALS or not client or not secret:
        raise CliError(
            f"this command gets tokens with a client's id and secret, not with {_PREFIX}grant.type={grant}"
            if client and secret
            else "OAUTHBEARER needs a client's id and secret",
            f"-X {_PREFIX}client.id=… -X {_PREFIX}client.secret=…, or put the token into a file: -X "
            f"{_PREFIX}token.endpoint.url=file:///PATH without {_PREFIX}method",
            EXIT_USAGE,
        )
    authorities = {f"ssl.{name.removeprefix('https.')}": text for name, text in given.items() if name[:6] == "https."}
    return TokenEndpoint(url, client, Secret(secret), given.get(f"{_PREFIX}scope", ""), tls=tls_of(authorities))


def _unsecured(config: Mapping[str, str]) -> UnsecuredToken:
    """As librdkafka reads sasl.oauthbearer.config."""
    principal, seconds = config.get("principal", ""), config.get("lifeSeconds", "3600")
    if not principal or not seconds.isdecimal():
        raise CliError(
            "an unsecured token needs a principal" if not principal else f"lifeSeconds={seconds} is not a number",
            f"-X '{_PREFIX}config=principal=NAME lifeSeconds=3600'",
            EXIT_USAGE,
        )
    name, scope_name = config.get("principalClaimName", "sub"), config.get("scopeClaimName", "scope")
    claims: list[tuple[str, str | float | tuple[str, ...]]] = [(name, principal)]
    if config.get("scope"):
        claims.append((scope_name, tuple(config["scope"].split(","))))
    return UnsecuredToken(tuple(claims), name, scope_name, int(seconds))


def _words(text: str) -> dict[str, str]:
    """`name=value name=value`"""
    return {name: value for name, equals, value in (word.partition("=") for word in text.split()) if equals}


def _pairs(text: str) -> dict[str, str]:
    """`name=value,name=value`"""
    return {name.strip(): value for name, equals, value in (word.partition("=") for word in text.split(",")) if equals}
