"""Logging in over a link: the order of things, refusals with a remedy, sessions that end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapelog.client.errors import LinkError, LoginError
from tapelog.client.handshake import open_link
from tapelog.client.link import Link
from tapelog.client.pace import Deadline
from tapelog.client.secret import Secret
from tapelog.client.settings import ConnectionSettings, OAuthBearer, Plain, Sasl, Scram, StaticToken
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.messages.metadata_response import MetadataResponse
from tapelog.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tapelog.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from tapelog.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from tapelog.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.unit.client.fake_broker import Answer, FakeBroker, versions
from tests.unit.client.fake_pace import FakePace

PLAIN = Plain("me", Secret("hunter2"))


class Door:
    """The broker's side of a login: what it answers, and what it saw."""

    def __init__(self) -> None:
        self.handshake = SaslHandshakeResponse(mechanisms=["PLAIN"])
        self.answers = [SaslAuthenticateResponse()]
        self.seen: list[str] = []
        self.tokens: list[bytes] = []

    def __call__(self, request: Message, version: int) -> Answer:
        self.seen.append(type(request).__name__)
        if isinstance(request, SaslHandshakeRequest):
            return self.handshake
        if isinstance(request, SaslAuthenticateRequest):
            self.tokens.append(request.auth_bytes)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return MetadataResponse()


def opened(broker: FakeBroker, sasl: Sasl = PLAIN, pace: FakePace | None = None) -> Link:
    pace = pace or FakePace()
    settings = ConnectionSettings((broker.address,), sasl=sasl)
    return open_link(broker.address, settings, None, Deadline(pace, 30), pace)


def ask(link: Link) -> None:
    link.call(MetadataRequest(), MetadataResponse, 12, Deadline(link.pace, 30))


def test_versions_then_handshake_then_login_then_work() -> None:
    door = Door()
    with FakeBroker(door) as broker:
        link = opened(broker)
        ask(link)
        assert door.seen == ["SaslHandshakeRequest", "SaslAuthenticateRequest", "MetadataRequest"]
        assert door.tokens == [b"\x00me\x00hunter2"]
        assert link.renew_at is None


def test_a_refused_login_is_told_without_the_password() -> None:
    door = Door()
    door.answers = [
        SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="Invalid username")
    ]
    with FakeBroker(door) as broker, pytest.raises(LoginError, match="Invalid username") as caught:
        opened(broker)
    assert "hunter2" not in str(caught.value) and "user me" in str(caught.value) and caught.value.do


def test_a_mechanism_that_the_broker_does_not_take_is_told_with_those_it_takes() -> None:
    door = Door()
    door.handshake = SaslHandshakeResponse(
        error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=["GSSAPI", "SCRAM-SHA-512"]
    )
    with FakeBroker(door) as broker, pytest.raises(LoginError, match="GSSAPI, SCRAM-SHA-512"):
        opened(broker)
    assert door.tokens == []


def test_a_port_without_sasl_gets_no_password() -> None:
    door = Door()
    door.handshake = SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    with FakeBroker(door) as broker:
        with pytest.raises(LoginError, match="expects no login"):
            opened(broker)
        broker.about = versions({3: (0, 12)})
        with pytest.raises(LoginError, match="knows no SASL"):
            opened(broker)
    assert door.tokens == []


def test_a_broker_that_takes_a_scram_user_without_proving_itself_is_not_believed() -> None:
    door = Door()
    door.answers = [SaslAuthenticateResponse(auth_bytes=b"v=AAAA")]
    with FakeBroker(door) as broker, pytest.raises(LoginError, match="does not keep to SCRAM-SHA-512"):
        opened(broker, Scram("me", Secret("pw"), 512))


def test_a_refused_token_is_told_in_the_brokers_words() -> None:
    door = Door()
    door.answers = [
        SaslAuthenticateResponse(auth_bytes=b'{"status":"invalid_token"}'),
        SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="no"),
    ]
    with FakeBroker(door) as broker, pytest.raises(LoginError, match="invalid_token") as caught:
        opened(broker, OAuthBearer(StaticToken(Secret("s3cret"))))
    assert door.tokens[1] == b"\x01" and "s3cret" not in str(caught.value)


def test_a_session_is_renewed_before_it_ends_and_between_requests() -> None:
    door = Door()
    door.answers = [SaslAuthenticateResponse(session_lifetime_ms=100_000)]
    pace = FakePace()
    with FakeBroker(door) as broker:
        link = opened(broker, pace=pace)
        pace.seconds += 89
        ask(link)
        assert len(door.tokens) == 1
        pace.seconds += 2
        deadline = Deadline(pace, 30)
        ticket = link.send(MetadataRequest(), MetadataResponse, 12, deadline)
        assert len(door.tokens) == 2
        assert link.renew_at == pytest.approx(pace.seconds + 90)
        # with a request in flight, its answer is waited for and kept
        pace.seconds += 91
        deadline = Deadline(pace, 30)
        other = link.send(MetadataRequest(), MetadataResponse, 12, deadline)
        assert len(door.tokens) == 3 and link.in_flight == 1
        assert link.receive(other, deadline) == link.receive(ticket, deadline)


def test_a_session_that_is_over_is_a_lost_link_and_not_a_refused_request() -> None:
    door = Door()
    door.answers = [SaslAuthenticateResponse(session_lifetime_ms=100_000)]
    pace = FakePace()
    with FakeBroker(door) as broker:
        link = opened(broker, pace=pace)
        assert link.usable
        pace.seconds += 101
        assert not link.usable
        with pytest.raises(LinkError, match="session"):
            ask(link)
        assert link.over and len(door.tokens) == 1


def test_a_login_that_is_refused_later_ends_the_link() -> None:
    door = Door()
    refused = SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED)
    door.answers = [SaslAuthenticateResponse(session_lifetime_ms=100_000), refused]
    pace = FakePace()
    with FakeBroker(door) as broker:
        link = opened(broker, replace(PLAIN), pace)
        pace.seconds += 95
        with pytest.raises(LoginError):
            ask(link)
        assert link.over
