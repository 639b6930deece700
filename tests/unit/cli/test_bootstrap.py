"""--bootstrap: what it may say, and what is told when no broker of that kind answers there."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tapelog.cli import bootstrap
from tapelog.cli.app import run
from tapelog.cli.bootstrap import parse_bootstrap, probe
from tapelog.cli.output import CliError
from tapelog.cli.security import look
from tapelog.wire.message import Message
from tests.support.certificates import Authority
from tests.unit.client.fake_broker import Answer, FakeBroker


def nothing(request: Message, version: int) -> Answer:
    return None


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def secured(authority: Authority, tmp_path: Path) -> Iterator[FakeBroker]:
    """A broker with TLS; `ca.pem` beside."""
    (tmp_path / "server.pem").write_bytes(authority.sign("broker", "127.0.0.1").pem())
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with FakeBroker(nothing, context) as broker:
        yield broker


@contextmanager
def port_that_says(answer: bytes) -> Iterator[str]:
    """Something else than a broker: reads a little and answers this."""

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(64)
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def refused(text: str, properties: dict[str, str] | None = None) -> CliError:
    with pytest.raises(CliError) as told:
        look(text, 5, properties or {})
    assert told.value.hint
    return told.value


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("9092", "9092 is not HOST:PORT", "--bootstrap 127.0.0.1:9092"),
        ("99999", "99999 is not HOST:PORT", "--bootstrap 127.0.0.1:9092"),
        ("a:1,9093", "9093 is not HOST:PORT", "--bootstrap 127.0.0.1:9093"),
        ("::1:9092", "brackets", "[::1]:9092"),
        ("::1", "brackets", "[::1]:9092"),
        ("a:b", "is not HOST:PORT", "TAPELOG_BOOTSTRAP"),
        (":9092", "is not HOST:PORT", "TAPELOG_BOOTSTRAP"),
        (",", "is empty", "TAPELOG_BOOTSTRAP"),
    ],
)
def test_what_is_no_address_is_told_before_anybody_is_asked(text: str, says: str, hint: str) -> None:
    error = refused(text)
    assert says in error.message and hint in error.hint and error.exit_code == 2


def test_addresses() -> None:
    assert parse_bootstrap("a:1,b:2") == [("a", 1), ("b", 2)]
    assert parse_bootstrap("[::1]:9092, [::1]") == [("::1", 9092), ("::1", 9092)]
    assert parse_bootstrap("broker") == [("broker", 9092)]


def test_a_name_that_is_unknown_is_not_a_broker_to_be_started() -> None:
    error = refused("no-such-host.invalid:9092")
    assert "the name no-such-host.invalid cannot be resolved" in error.message and error.exit_code == 3
    assert "tape up" not in error.hint and "check the name" in error.hint


def test_where_nobody_listens_a_broker_can_be_started() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = f"127.0.0.1:{server.getsockname()[1]}"
    error = refused(free)
    assert free in error.message and f"tape up --listen {free}" in error.hint


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_tls_at_a_port_without_tls_is_called_that(protocol: str) -> None:
    with FakeBroker(nothing) as broker:
        error = refused(str(broker.address), {"security.protocol": protocol})
    assert error.message == f"{broker.address} answers, but not with TLS"
    assert "leave security.protocol out" in error.hint and error.exit_code == 3


def test_no_tls_at_a_port_with_tls_is_called_that(secured: FakeBroker) -> None:
    error = refused(str(secured.address))
    assert error.message == f"{secured.address} answers, but only with TLS"
    assert "-X security.protocol=SSL" in error.hint and error.exit_code == 3


def test_tls_at_a_port_with_tls_is_fine_if_the_certificate_is_trusted(secured: FakeBroker, tmp_path: Path) -> None:
    look(str(secured.address), 5, {"security.protocol": "SSL", "ssl.ca.location": str(tmp_path / "ca.pem")})
    error = refused(str(secured.address), {"security.protocol": "SSL"})
    assert "not trusted" in error.message and "-X ssl.ca.location=FILE" in error.hint and error.exit_code == 3


def test_a_certificate_that_was_withdrawn_is_not_trusted(authority: Authority, tmp_path: Path) -> None:
    signed, other = authority.sign("broker", "127.0.0.1"), authority.sign("other", "127.0.0.1")
    (tmp_path / "server.pem").write_bytes(signed.pem())
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    properties = {
        "security.protocol": "SSL",
        "ssl.ca.location": str(tmp_path / "ca.pem"),
        "ssl.crl.location": str(tmp_path / "crl.pem"),
    }
    with FakeBroker(nothing, context) as broker:
        (tmp_path / "crl.pem").write_bytes(authority.revoked(other))
        look(str(broker.address), 5, properties)
        (tmp_path / "crl.pem").write_bytes(authority.revoked(signed))
        assert "revoked" in refused(str(broker.address), properties).message


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"), (b"220 mail.example ESMTP\r\n", "something else")],
)
@pytest.mark.parametrize("properties", [{}, {"security.protocol": "SSL"}])
def test_what_is_no_broker_is_called_that(answer: bytes, kind: str, properties: dict[str, str]) -> None:
    with port_that_says(answer) as where:
        error = refused(where, properties)
    assert f"{where} answers, but it is no Kafka broker: it speaks {kind}" in error.message


def test_one_good_address_is_enough(secured: FakeBroker) -> None:
    with FakeBroker(nothing) as broker:
        probe(f"127.0.0.1:1,{secured.address},{broker.address}", 5)


def test_of_several_bad_addresses_each_is_told_and_the_one_that_answers_has_the_advice(secured: FakeBroker) -> None:
    error = refused(f"127.0.0.1:1,{secured.address}")
    assert "127.0.0.1:1: " in error.message and f"{secured.address} answers, but only with TLS" in error.message
    assert "-X security.protocol=SSL" in error.hint


def test_a_port_that_says_nothing_is_left_to_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "ANSWER_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as server:
        probe(f"127.0.0.1:{server.getsockname()[1]}", 5)


def test_programs_are_told_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeBroker(nothing) as broker:
        words = ["topic", "list", "--json", "-b", str(broker.address), "-X", "security.protocol=SSL"]
        assert run(words) == 3
    printed = capsys.readouterr()
    told = json.loads(printed.err)
    assert told["error"] == f"{broker.address} answers, but not with TLS" and told["hint"] and told["exit_code"] == 3
    assert printed.out == ""


def test_a_url_is_told_what_to_leave_out() -> None:
    with pytest.raises(CliError) as told:
        parse_bootstrap("http://localhost:9092/")
    assert "leave http:// out" in str(told.value) and told.value.hint == "--bootstrap localhost:9092"
