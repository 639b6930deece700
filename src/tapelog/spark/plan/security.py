"""security.protocol and sasl.*, as Java clients write them, into what the client takes.

PLAIN, SCRAM and OAUTHBEARER. What would need Java (Kerberos, callback classes) is refused with what to do instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tapelog.client.secret import Secret
from tapelog.client.settings import (
    OAuthBearer,
    Plain,
    Sasl,
    Scram,
    Tls,
    TokenEndpoint,
    TokenFile,
    TokenSource,
    UnsecuredToken,
)
from tapelog.spark.plan.errors import DOCS, OptionError
from tapelog.spark.plan.given import Given
from tapelog.spark.plan.jaas import JaasEntry, parse_jaas
from tapelog.spark.plan.tls import Ssl, tls_settings

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_MODULES: Final = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
}
_HANDLERS: Final = ("OAuthBearerLoginCallbackHandler", "OAuthBearerUnsecuredLoginCallbackHandler")
_UNSECURED: Final = "unsecuredLogin"


def security(given: Given) -> tuple[Tls | None, Sasl | None, tuple[str, ...]]:
    """How connections are protected and who we are there; warnings about options that play no part."""
    protocol = given.choice("kafka.security.protocol", "PLAINTEXT", PROTOCOLS)
    tls = tls_settings(Ssl(lambda name: given.raw(f"kafka.{name}"), "kafka.")) if protocol.endswith("SSL") else None
    sasl = _sasl(given) if protocol.startswith("SASL") else None
    unused = [
        f"kafka.{kind}.* options are not used: kafka.security.protocol is {protocol}."
        for kind, used in (("ssl", tls is not None), ("sasl", sasl is not None))
        if not used and any(name.startswith(f"kafka.{kind}.") for name in given.names())
    ]
    return tls, sasl, tuple(unused)


def _sasl(given: Given) -> Sasl:
    mechanism = (given.text("kafka.sasl.mechanism") or "GSSAPI").upper()
    if mechanism not in MECHANISMS:
        unset = "" if given.has("kafka.sasl.mechanism") else " (Kafka's default)"
        raise OptionError(
            f"Option kafka.sasl.mechanism is {mechanism[:40]}{unset}, which needs Java.",
            f"Set it to one of {', '.join(MECHANISMS)}. See {DOCS}.",
        )
    text = given.raw("kafka.sasl.jaas.config")
    if text is None or not text.strip():
        raise OptionError(
            f"Option kafka.sasl.jaas.config is missing: {mechanism} needs to know who logs in.",
            f'Expected e.g. {_MODULES[mechanism]} required username="…" password="…"; (a JAAS file is not read).',
        )
    entry = parse_jaas(text)
    if entry.module != _MODULES[mechanism]:
        raise OptionError(
            f"Option kafka.sasl.jaas.config has another login module than {mechanism} needs.",
            f"Put {_MODULES[mechanism]} there, or set kafka.sasl.mechanism to what the module is for.",
        )
    if mechanism == "OAUTHBEARER":
        return OAuthBearer(_token_source(given, entry), _extensions(entry))
    username, password = (_needed(entry, name) for name in ("username", "password"))
    if mechanism == "PLAIN":
        return Plain(username, Secret(password))
    bits = int(mechanism.rpartition("-")[2])
    by_token = entry.options.get("tokenauth", "").lower() == "true"
    return Scram(username, Secret(password), bits=bits, delegation_token=by_token)


def _needed(entry: JaasEntry, name: str) -> str:
    if name not in entry.options:
        raise OptionError(f'Option kafka.sasl.jaas.config has no {name}: add {name}="…" before the semicolon.')
    return entry.options[name]


def _token_source(given: Given, entry: JaasEntry) -> TokenSource:
    handler = (given.text("kafka.sasl.login.callback.handler.class") or "").rpartition(".")[2]
    if handler and handler not in _HANDLERS:
        raise OptionError(
            f"Option kafka.sasl.login.callback.handler.class names {handler[:60]}, a Java class.",
            "Give kafka.sasl.oauthbearer.token.endpoint.url with the client's id and secret"
            " (https://…), or a file with a token (file:///…).",
        )
    url = given.text("kafka.sasl.oauthbearer.token.endpoint.url")
    if url is None and handler != _HANDLERS[0]:
        return _unsecured(entry.options)
    if url is None:
        raise OptionError(
            "Option kafka.sasl.oauthbearer.token.endpoint.url is missing: OAUTHBEARER asks there for a token."
        )
    if url.lower().startswith("file:"):
        return TokenFile("/" + url[len("file:") :].lstrip("/"))
    if not url.lower().startswith(("http://", "https://")):
        raise OptionError(
            "Option kafka.sasl.oauthbearer.token.endpoint.url must begin with https://, http:// or file:."
        )
    options = entry.options
    prefix = "kafka.sasl.oauthbearer.client.credentials.client."
    client, secret = given.text(f"{prefix}id"), given.raw(f"{prefix}secret")
    scope = given.text("kafka.sasl.oauthbearer.scope") or options.get("scope", "")
    return TokenEndpoint(
        url,
        client if client is not None else _needed(entry, "clientId"),
        Secret(secret if secret is not None else _needed(entry, "clientSecret")),
        scope=scope,
        tls=tls_settings(Ssl(options.get, "in kafka.sasl.jaas.config ")),
        url_encode_header=given.flag("kafka.sasl.oauthbearer.header.urlencode", False),
        connect_timeout_ms=given.number("kafka.sasl.login.connect.timeout.ms", 10_000, least=1),
        read_timeout_ms=given.number("kafka.sasl.login.read.timeout.ms", 10_000, least=1),
        retry_backoff_ms=given.number("kafka.sasl.login.retry.backoff.ms", 100),
        retry_backoff_max_ms=given.number("kafka.sasl.login.retry.backoff.max.ms", 10_000),
    )


def _extensions(entry: JaasEntry) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for prefix in ("extension_", f"{_UNSECURED}Extension_"):
        for name, value in entry.options.items():
            if name.startswith(prefix):
                found[name.removeprefix(prefix)] = value
    return tuple(sorted(found.items()))


def _unsecured(options: Mapping[str, str]) -> UnsecuredToken:
    """The claims of a token that nobody signs, as Java's default for OAUTHBEARER makes it."""
    claims: dict[str, str | float | tuple[str, ...]] = {}
    for name, value in sorted(options.items()):
        kind, claim, what = name.removeprefix(_UNSECURED).partition("Claim_")
        if not name.startswith(_UNSECURED) or not claim or not what:
            continue
        if kind == "String":
            claims[what] = value
        elif kind == "List":
            claims[what] = tuple(value[1:].split(value[0])) if value else ()
        elif kind == "Number":
            claims[what] = _number(value)
    principal = options.get(f"{_UNSECURED}PrincipalClaimName") or "sub"
    if principal not in claims:
        raise OptionError(
            "OAUTHBEARER does not know where to get a token.",
            "Set kafka.sasl.oauthbearer.token.endpoint.url, and clientId and clientSecret in kafka.sasl.jaas.config;",
            f'for a test cluster, unsecuredLoginStringClaim_{principal[:40]}="…" in kafka.sasl.jaas.config.',
        )
    return UnsecuredToken(
        tuple(claims.items()),
        principal_claim=principal,
        scope_claim=options.get(f"{_UNSECURED}ScopeClaimName") or "scope",
        lifetime_seconds=int(_number(options.get(f"{_UNSECURED}LifetimeSeconds", "3600"))),
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError("Option kafka.sasl.jaas.config has a number claim or lifetime that is no number.") from None
