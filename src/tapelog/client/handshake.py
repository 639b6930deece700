"""The first words on a link: ApiVersions with Kafka's fallback, then SASL; and SASL again before a session ends.

The login itself is a machine (`login`, `scram`); here its bytes travel, and refusals become errors with a remedy.
"""

from __future__ import annotations

import secrets
import ssl
from typing import Final

from tapelog import __version__
from tapelog.client import tokens
from tapelog.client.errors import ClientError, LoginError, ProtocolError, refusal
from tapelog.client.link import Link
from tapelog.client.login import BearerLogin, Login, PlainLogin
from tapelog.client.pace import Deadline, Pace
from tapelog.client.scram import ScramLogin
from tapelog.client.settings import Address, ConnectionSettings, OAuthBearer, Plain, Sasl
from tapelog.client.transport import dial
from tapelog.client.versions import Versions
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.messages.api_versions_response import ApiVersionsResponse
from tapelog.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tapelog.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from tapelog.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from tapelog.wire.messages.sasl_handshake_response import SaslHandshakeResponse

SOFTWARE_NAME: Final = "tapelog"
STEPS_MAX: Final = 8
"""No mechanism that we speak takes more."""
_NONCE_BYTES: Final = 24
_RENEW_FROM: Final = 0.85  # as Kafka's own clients: somewhere between 85 and 95 % of the session
_RENEW_SPREAD: Final = 0.10


def open_link(
    address: Address, settings: ConnectionSettings, tls: ssl.SSLContext | None, deadline: Deadline, pace: Pace
) -> Link:
    """Connect, learn the broker's versions, log in."""
    link = Link(dial(address, settings, tls, deadline), settings, pace)
    try:
        negotiate(link, deadline)
        if settings.sasl is not None:
            log_in(link, deadline)
            link.log_in = log_in
    except BaseException:
        link.close()
        raise
    return link


def negotiate(link: Link, deadline: Deadline) -> None:
    """Learn which versions the broker speaks."""
    version = ApiVersionsRequest.STABLE_MAX
    answer = _ask_versions(link, version, deadline)
    if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
        version = next((api.max_version for api in answer.api_keys if api.api_key == ApiVersionsRequest.API_KEY), 0)
        answer = _ask_versions(link, min(version, ApiVersionsRequest.STABLE_MAX - 1), deadline)
    if answer.error_code:
        raise refusal(answer.error_code, "tell its versions", f"broker {link.address}")
    if not answer.api_keys:
        raise ProtocolError(f"{link.address} speaks no version of anything", f"broker {link.address}")
    link.versions = Versions.told(answer, str(link.address))


def _ask_versions(link: Link, version: int, deadline: Deadline) -> ApiVersionsResponse:
    request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
    return link.receive(link.send_now(request, ApiVersionsResponse, version, deadline), deadline)


def log_in(link: Link, deadline: Deadline) -> None:
    """Log in, or log in again; LoginError if the broker refuses or cannot prove itself."""
    sasl = link.settings.sasl
    assert sasl is not None
    _shake_hands(link, sasl, deadline)
    login = _login(link, sasl, deadline)
    data: bytes | None = login.first()
    version = link.versions.choose(SaslAuthenticateRequest)
    for _ in range(STEPS_MAX):
        assert data is not None
        sent = link.send_now(SaslAuthenticateRequest(auth_bytes=data), SaslAuthenticateResponse, version, deadline)
        answer = link.receive(sent, deadline)
        if answer.error_code:
            raise _refused(link, sasl, login, answer)
        data = login.step(answer.auth_bytes)
        if data is None:
            break
    if not login.finished:
        raise LoginError(f"{sasl.mechanism} with {link.address} did not come to an end", f"broker {link.address}")
    _note_session(link, answer.session_lifetime_ms)


def _shake_hands(link: Link, sasl: Sasl, deadline: Deadline) -> None:
    which = f"broker {link.address}, option kafka.sasl.mechanism"
    version = link.versions.common(SaslHandshakeRequest)
    if version is None or version < 1:
        raise LoginError(
            f"{link.address} knows no SASL", which, "leave SASL out of kafka.security.protocol, or use another port"
        )
    request = SaslHandshakeRequest(mechanism=sasl.mechanism)
    answer = link.receive(link.send_now(request, SaslHandshakeResponse, version, deadline), deadline)
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(answer.mechanisms[:10]) or "none"
        raise LoginError(
            f"{link.address} does not take {sasl.mechanism}", which, f"use one of those it takes: {offered}"
        )
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        raise LoginError(
            f"{link.address} expects no login", which, "leave SASL out of kafka.security.protocol, or use another port"
        )
    if answer.error_code:
        raise refusal(answer.error_code, "begin a login", which)


def _login(link: Link, sasl: Sasl, deadline: Deadline) -> Login:
    if isinstance(sasl, Plain):
        return PlainLogin(sasl)
    if isinstance(sasl, OAuthBearer):
        return BearerLogin(sasl, tokens.token(sasl.source, deadline, link.pace))
    return ScramLogin(sasl, secrets.token_urlsafe(_NONCE_BYTES))


def _refused(link: Link, sasl: Sasl, login: Login, answer: SaslAuthenticateResponse) -> ClientError:
    why = answer.error_message or ErrorCode.SASL_AUTHENTICATION_FAILED.name
    if isinstance(sasl, OAuthBearer):
        tokens.forget(sasl.source)
        if isinstance(login, BearerLogin) and login.refused:
            why = f"{why} {login.refused}"
        whose, do = "the token", "check where it comes from, its audience, and the clocks"
    else:
        whose, do = f"user {sasl.username}", "check name and password: option kafka.sasl.jaas.config"
    return LoginError(
        f"{link.address} refused the login of {whose}: {why[:300]}", f"broker {link.address}, {sasl.mechanism}", do
    )


def _note_session(link: Link, lifetime_ms: int) -> None:
    link.renew_at = link.expires_at = None
    if lifetime_ms > 0:
        now, seconds = link.pace.now(), lifetime_ms / 1000
        link.renew_at = now + seconds * (_RENEW_FROM + _RENEW_SPREAD * link.pace.spread())
        link.expires_at = now + seconds
