"""Raw connections: versions agreed, errors in words, logins as the properties say."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tapelog.cli import raw
from tapelog.cli.connect import Connection
from tapelog.cli.output import CliError
from tapelog.cli.raw import LEAST_S, Link, RawError, Wire, check
from tapelog.cli.raw_security import Scram, Security
from tapelog.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from tapelog.wire.messages.list_transactions_request import ListTransactionsRequest
from tapelog.wire.messages.list_transactions_response import ListTransactionsResponse
from tapelog.wire.messages.response_header import ResponseHeader


def test_plain_properties_need_no_login() -> None:
    security = Security.of({"bootstrap.servers": "h:1"})
    assert (security.tls, security.mechanism) == (False, "")


def test_logins_come_from_the_same_properties_as_everywhere() -> None:
    security = Security.of(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "scram-sha-512",
            "sasl.username": "u",
            "sasl.password": "secret",
        }
    )
    assert (security.tls, security.mechanism, security.user) == (True, "SCRAM-SHA-512", "u")
    assert "secret" not in repr(security)


@pytest.mark.parametrize(
    "properties",
    [
        {"security.protocol": "SASL_SSL"},
        {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "OAUTHBEARER"},
        {"security.protocol": "carrier pigeon"},
    ],
)
def test_a_login_that_cannot_be_done_is_told(properties: dict[str, str]) -> None:
    with pytest.raises(CliError) as told:
        Security.of(properties)
    assert told.value.exit_code == 2


def test_scram_proves_the_password_to_both_sides() -> None:
    """The example of RFC 7677, section 3."""
    scram = Scram("sha256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    last = scram.last(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    assert last == f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    scram.finish(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(CliError):
        scram.finish(b"v=AAAA")


@pytest.mark.parametrize(
    "challenge", [b"r=other,s=AAAA,i=4096", b"r=nonce1,s=AAAA,i=0", b"r=nonce1,s=AAAA,i=99999999999", b""]
)
def test_a_scram_challenge_that_makes_no_sense_is_refused(challenge: bytes) -> None:
    with pytest.raises(CliError):
        Scram("sha256", "u", "p", "nonce").last(challenge)


def test_an_error_code_is_told_by_name() -> None:
    check(0, "nothing")
    with pytest.raises(RawError, match="NOT_COORDINATOR"):
        check(16, "group g")


class OldBroker:
    """Answers ApiVersions with what it is told to have, and anything else with an empty list of transactions."""

    def __init__(self, versions: list[ApiVersion], *, broken: bool = False) -> None:
        self._versions, self._broken = versions, broken
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.asked: list[tuple[int, int]] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                while head := connection.recv(4):
                    (size,) = struct.unpack(">i", head)
                    frame = connection.recv(size)
                    key, version, correlation = struct.unpack_from(">hhi", frame)
                    self.asked.append((key, version))
                    if key == 18:
                        body = ApiVersionsResponse(api_keys=self._versions).tobytes(0)
                        answer = ResponseHeader(correlation).tobytes(0) + body
                    else:
                        body = b"\xff\xff" if self._broken else ListTransactionsResponse().tobytes(version)
                        answer = ResponseHeader(correlation).tobytes(1) + body
                    connection.sendall(struct.pack(">i", len(answer)) + answer)

    def close(self) -> None:
        self._server.close()


@pytest.fixture
def brokers() -> Iterator[list[OldBroker]]:
    made: list[OldBroker] = []
    yield made
    for broker in made:
        broker.close()


def test_the_newest_version_that_both_have_is_spoken(brokers: list[OldBroker]) -> None:
    brokers.append(OldBroker([ApiVersion(66, 0, 1)]))
    with Wire(Connection(brokers[0].address)) as wire:
        wire.ask(ListTransactionsRequest(), ListTransactionsResponse)
        assert brokers[0].asked[-1] == (66, 1)
        with pytest.raises(RawError, match="too old"):
            wire.ask(ListTransactionsRequest(transactional_id_pattern="a.*"), ListTransactionsResponse)


def test_what_a_broker_does_not_have_is_told(brokers: list[OldBroker]) -> None:
    brokers.append(OldBroker([ApiVersion(3, 0, 12)]))
    with Wire(Connection(brokers[0].address)) as wire:
        assert not wire.serves(ListTransactionsRequest, 0)
        with pytest.raises(RawError, match="ListTransactions"):
            wire.ask(ListTransactionsRequest(), ListTransactionsResponse)


def test_an_answer_that_is_none_is_told(brokers: list[OldBroker]) -> None:
    brokers.append(OldBroker([ApiVersion(66, 0, 1)], broken=True))
    with Wire(Connection(brokers[0].address)) as wire, pytest.raises(CliError, match="is no ListTransactionsResponse"):
        wire.ask(ListTransactionsRequest(), ListTransactionsResponse)


def test_questions_that_share_a_bound_do_not_wait_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    class Counted(Link):
        """Waits for ten milliseconds, and counts as long as it was told to wait."""

        def __init__(self, host: str, port: int, security: Security, timeout_s: float) -> None:
            waits.append(timeout_s)
            super().__init__(host, port, security, 0.01)

    monkeypatch.setattr(raw, "Link", Counted)
    monkeypatch.setattr(raw, "time", SimpleNamespace(monotonic=lambda: sum(waits)))
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        both = [f"127.0.0.1:{server.getsockname()[1]}" for server in (one, two)]  # they take connections, and no more
        with Wire(Connection(",".join(both), timeout_s=0.4)) as wire, wire.bounded(), wire.apart() as other:
            for asked in (wire, other, wire, other):
                with pytest.raises(CliError, match="no answer"):
                    asked.ask(ListTransactionsRequest(), ListTransactionsResponse)
    assert waits == pytest.approx([0.2, 0.2] + 6 * [LEAST_S]), "eight times the timeout without a bound"
