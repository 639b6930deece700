"""Asking a registry over HTTP: several addresses, retries, who we are, bounds.

An address that cannot be reached, or that answers with trouble of its own, is left for the next one; when all have been
asked, they are asked again after a pause that grows. What the registry refuses is told at once. No answer, and no error
that we make of one, ever holds what lets us in.
"""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from base64 import b64encode
from typing import Any, Final

from tapelog.client.pace import Pace, SystemPace
from tapelog.client.tls import context
from tapelog.spark.plan.errors import DOCS, PlanError
from tapelog.spark.plan.formats import Registry

ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
"""No schema is larger."""
PAUSE_SECONDS: Final = 0.1
PAUSE_SECONDS_MAX: Final = 2.0
_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_CURABLE: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class RegistryError(PlanError):
    """The registry cannot be asked, or does not let us in."""


class NotThereError(PlanError):
    """The registry says that it does not have this: `code` is its own number for what is missing."""

    def __init__(self, code: int, *lines: str) -> None:
        super().__init__(*lines)
        self.code = code


class RefusedError(PlanError):
    """The registry refuses what it was given: a schema that does not fit the ones before it, say."""


class Http:
    """One registry. Connections are not kept: answers are."""

    def __init__(self, registry: Registry, pace: Pace | None = None) -> None:
        self._registry = registry
        self._pace = pace or SystemPace()
        self._headers = {"Accept": f"{_TYPE}, application/json", "Content-Type": _TYPE} | _login(registry)
        self._context: ssl.SSLContext | None = None
        self._first = 0

    def ask(self, path: str, body: object | None = None) -> Any:
        """The answer to GET path, or with a body to POST path, as JSON; RegistryError, NotThereError, RefusedError."""
        pause, trouble = PAUSE_SECONDS, ""
        for attempt in range(self._registry.retries + 1):
            if attempt:
                self._pace.sleep(pause * (0.8 + 0.4 * self._pace.spread()))
                pause = min(pause * 2, PAUSE_SECONDS_MAX)
            for _ in self._registry.urls:
                url = self._registry.urls[self._first]
                try:
                    return self._read(url, path, body)
                except (OSError, _Trouble) as error:
                    trouble = _why(error)
                self._first = (self._first + 1) % len(self._registry.urls)
        raise RegistryError(
            f"The schema registry gives no answer: {trouble}.",
            f"Option schemaRegistry.url: {', '.join(self._registry.urls)}",
            "Check that it runs and can be reached from the driver and from every executor.",
        )

    def _read(self, url: str, path: str, body: object | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url + path, data=data, headers=self._headers)
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if url.startswith("https:"):
            if self._context is None:
                self._context = context(self._registry.tls)
            handlers.append(urllib.request.HTTPSHandler(context=self._context))
        try:
            opener = urllib.request.build_opener(*handlers)
            with opener.open(request, timeout=self._registry.timeout_ms / 1000) as answer:
                found = answer.read(ANSWER_BYTES_MAX + 1)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(url, error.code, error.read(1 << 16)) from None
        if len(found) > ANSWER_BYTES_MAX:
            raise RegistryError("The schema registry's answer is too large.", f"{url}{path}", f"See {DOCS}.")
        try:
            return json.loads(found)
        except ValueError:
            raise _not_a_registry(url) from None

    def _refusal(self, url: str, status: int, data: bytes) -> Exception:
        if status in _CURABLE:
            return _Trouble(f"HTTP {status}")
        if status in (401, 403):
            return RegistryError(
                f"The schema registry does not let us in (HTTP {status}).",
                f"Option schemaRegistry.url: {url}",
                "Check schemaRegistry.basic.auth.user.info, schemaRegistry.bearer.auth.token or schemaRegistry.ssl.*.",
            )
        try:
            answer = json.loads(data)
            code, message = int(answer["error_code"]), str(answer["message"])[:300]
        except (ValueError, KeyError, TypeError):
            return _not_a_registry(url, status)
        if status == 404:
            return NotThereError(code, f"The schema registry does not have it: {message}", f"Asked: {url}")
        return RefusedError(f"The schema registry refuses it: {message}", f"Asked: {url} (HTTP {status})")


class _Trouble(Exception):
    """What may pass by itself."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry our credentials elsewhere."""

    def redirect_request(self, *arguments: object, **named: object) -> None:
        return None


def _login(registry: Registry) -> dict[str, str]:
    if registry.token is not None:
        return {"Authorization": f"Bearer {registry.token.text()}"}
    if registry.password is not None:
        pair = f"{registry.user}:{registry.password.text()}".encode()
        return {"Authorization": "Basic " + b64encode(pair).decode()}
    return {}


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    if isinstance(reason, ssl.SSLError):
        return f"TLS failed ({(reason.reason or 'unknown').lower().replace('_', ' ')}), see schemaRegistry.ssl.*"
    return str(getattr(reason, "strerror", None) or reason or error)[:200]


def _not_a_registry(url: str, status: int = 200) -> RegistryError:
    return RegistryError(
        f"Whoever answers there is no schema registry (HTTP {status}).",
        f"Option schemaRegistry.url: {url}",
        "Set it to the registry's address, with the path under which it serves, if any.",
    )
