"""Where OAuth tokens come from: given, a file, a function, an endpoint (client credentials), or signed with nothing.

Only here the client speaks HTTP. A token is asked for anew for each login, except that one from an endpoint is kept
by the process until four fifths of its life are over, so that many links do not ask many times.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from typing import Final
from urllib.error import HTTPError

from tapelog.client.errors import LoginError
from tapelog.client.pace import Deadline, Pace
from tapelog.client.settings import (
    StaticToken,
    TokenEndpoint,
    TokenFile,
    TokenFunction,
    TokenSource,
    UnsecuredToken,
)
from tapelog.client.tls import context

TOKEN_BYTES_MAX: Final = 1 << 20
KEPT_TOKENS_MAX: Final = 64
TRIES_MAX: Final = 6
_LIFE_USED: Final = 0.8
_UNCURABLE: Final = frozenset({400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 413, 414, 415, 426, 501, 505})

_kept: dict[TokenEndpoint, tuple[str, float]] = {}


def token(source: TokenSource, deadline: Deadline, pace: Pace) -> str:
    """A token for a login now; LoginError if there is none to be had in time."""
    if isinstance(source, StaticToken):
        return source.token.text()
    if isinstance(source, TokenFile):
        return _from_file(source)
    if isinstance(source, TokenFunction):
        return _from_function(source)
    if isinstance(source, UnsecuredToken):
        return unsecured(source, time.time())
    now = pace.now()
    held = _kept.get(source)
    if held is not None and held[1] > now:
        return held[0]
    found, seconds = _from_endpoint(source, deadline, pace)
    while len(_kept) >= KEPT_TOKENS_MAX:
        del _kept[next(iter(_kept))]
    _kept[source] = (found, now + seconds * _LIFE_USED)
    return found


def forget(source: TokenSource) -> None:
    """Do not use a token again that a broker has refused."""
    if isinstance(source, TokenEndpoint):
        _kept.pop(source, None)


def unsecured(source: UnsecuredToken, now: float) -> str:
    """A JWT whose algorithm is "none", as Kafka makes and takes it where no handler is configured.

    Made in the second that has begun: brokers read their clock in whole milliseconds and refuse what is younger.
    """
    claims = dict(source.claims)
    if not isinstance(claims.get(source.principal_claim), str):
        raise LoginError(
            f"the unsecured token names nobody: claim {source.principal_claim} is missing",
            "option sasl.jaas.config",
            'add unsecuredLoginStringClaim_sub="NAME"',
        )
    made = int(now)
    claims = {"iat": made, "exp": made + source.lifetime_seconds, **claims}
    return ".".join(_base64url(json.dumps(part).encode()) for part in ({"alg": "none"}, claims)) + "."


def _base64url(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_file(source: TokenFile) -> str:
    try:
        with open(source.path, encoding="utf-8") as file:
            return file.read(TOKEN_BYTES_MAX).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LoginError(
            f"the OAuth token cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}",
            f"option sasl.oauthbearer.token.endpoint.url: file:{source.path}",
            "put the file there on the driver and on every executor",
        ) from None


def _from_function(source: TokenFunction) -> str:
    name = getattr(source.function, "__qualname__", "a function")
    try:
        found = source.function()
    except Exception as error:
        raise LoginError(
            f"{name} gave no OAuth token: {type(error).__name__}", "the function for tokens", "see the cause"
        ) from error
    if not isinstance(found, str):
        raise LoginError(
            f"{name} gave no OAuth token but a {type(found).__name__}", "the function for tokens", "return text"
        )
    return found


def _from_endpoint(source: TokenEndpoint, deadline: Deadline, pace: Pace) -> tuple[str, float]:
    """Ask, and again where that may help; the token and how many seconds it lives."""
    which = f"option sasl.oauthbearer.token.endpoint.url: {source.url}"
    pause = source.retry_backoff_ms / 1000
    for tries in range(1, TRIES_MAX + 1):
        try:
            return _read_answer(_post(source, deadline), which)
        except HTTPError as error:
            why, curable = f"HTTP {error.code}", error.code not in _UNCURABLE
            error.close()
        except (OSError, urllib.error.URLError) as error:
            why, curable = str(getattr(error, "reason", None) or error), True
        if not curable or tries == TRIES_MAX or pause >= deadline.left():
            break
        pace.sleep(pause)
        pause = min(pause * 2, source.retry_backoff_max_ms / 1000)
    raise LoginError(
        f"the token endpoint gave no token: {why}",
        which,
        "check clientId, clientSecret and scope" if not curable else "check that it can be reached from here",
    )


def _post(source: TokenEndpoint, deadline: Deadline) -> bytes:
    words = [source.client_id, source.client_secret.text()]
    if source.url_encode_header:
        words = [urllib.parse.quote_plus(word) for word in words]
    body = {"grant_type": "client_credentials", **({"scope": source.scope} if source.scope else {})}
    request = urllib.request.Request(
        source.url,
        data=urllib.parse.urlencode(body).encode(),
        headers={
            "Authorization": "Basic " + b64encode(":".join(words).encode()).decode(),
            "Accept": "application/json",
            "Cache-Control": "no-cache",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if source.url.lower().startswith("https:"):
        handlers.append(urllib.request.HTTPSHandler(context=context(source.tls)))
    seconds = min((source.connect_timeout_ms + source.read_timeout_ms) / 1000, max(0.1, deadline.left()))
    with urllib.request.build_opener(*handlers).open(request, timeout=seconds) as answer:
        data: bytes = answer.read(TOKEN_BYTES_MAX)
        return data


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the client's secret elsewhere."""

    def redirect_request(self, *arguments: object, **named: object) -> None:
        return None


def _read_answer(data: bytes, which: str) -> tuple[str, float]:
    try:
        answer = json.loads(data)
        found = answer["access_token"]
        if not isinstance(found, str) or not found:
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise LoginError("the token endpoint's answer holds no access_token", which, "check the address") from None
    seconds = answer.get("expires_in")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        seconds = life(found)
    return found, max(0.0, float(seconds))


def life(found: str) -> float:
    """Seconds until a JWT expires; 0 (do not keep it) if it does not say."""
    try:
        claims = json.loads(urlsafe_b64decode(found.split(".")[1] + "=="))
        return float(claims["exp"]) - time.time()
    except (ValueError, KeyError, IndexError, TypeError):
        return 0.0
