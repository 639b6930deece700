"""OAuth tokens: from files, functions and endpoints, kept while they live, and never sent astray."""

from __future__ import annotations

import json
import threading
from base64 import b64decode, urlsafe_b64decode
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tapelog.client import tokens
from tapelog.client.errors import LoginError
from tapelog.client.pace import Deadline
from tapelog.client.secret import Secret
from tapelog.client.settings import (
    StaticToken,
    TokenEndpoint,
    TokenFile,
    TokenFunction,
    TokenSource,
    UnsecuredToken,
)
from tests.unit.client.fake_pace import FakePace


class Endpoint:
    """A token endpoint; answers are (status, body) in turn, the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = [(200, b'{"access_token":"fresh","expires_in":100}')]
        self.asked: list[tuple[dict[str, str], dict[str, list[str]]]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                endpoint.asked.append(({k.lower(): v for k, v in self.headers.items()}, parse_qs(body)))
                status, data = endpoint.answers.pop(0) if len(endpoint.answers) > 1 else endpoint.answers[0]
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()
        self.source = TokenEndpoint(
            f"http://127.0.0.1:{self.server.server_port}/token", "me", Secret("hunter2/+"), scope="kafka read"
        )


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    tokens.forget(made.source)
    made.server.shutdown()
    made.server.server_close()


def ask(source: TokenSource, pace: FakePace | None = None) -> str:
    pace = pace or FakePace()
    return tokens.token(source, Deadline(pace, 30), pace)


def test_a_token_endpoint_is_asked_as_java_asks_it(endpoint: Endpoint) -> None:
    assert ask(endpoint.source) == "fresh"
    ((headers, body),) = endpoint.asked
    assert b64decode(headers["authorization"].removeprefix("Basic ")) == b"me:hunter2/+"
    assert body == {"grant_type": ["client_credentials"], "scope": ["kafka read"]}
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    encoded = replace(endpoint.source, url_encode_header=True, scope="")
    assert ask(encoded) == "fresh"
    headers, body = endpoint.asked[1]
    assert b64decode(headers["authorization"].removeprefix("Basic ")) == b"me:hunter2%2F%2B"
    assert "scope" not in body


def test_a_token_is_kept_for_most_of_its_life_and_not_after_a_refusal(endpoint: Endpoint) -> None:
    pace = FakePace()
    assert ask(endpoint.source, pace) == ask(endpoint.source, pace)
    assert len(endpoint.asked) == 1
    pace.seconds += 79
    ask(endpoint.source, pace)
    assert len(endpoint.asked) == 1
    pace.seconds += 2
    ask(endpoint.source, pace)
    assert len(endpoint.asked) == 2
    tokens.forget(endpoint.source)
    ask(endpoint.source, pace)
    assert len(endpoint.asked) == 3


def test_a_busy_endpoint_is_asked_again_and_a_refusal_is_final(endpoint: Endpoint) -> None:
    good = endpoint.answers[0]
    endpoint.answers = [(503, b""), (500, b""), good]
    pace = FakePace()
    assert ask(endpoint.source, pace) == "fresh"
    assert pace.slept == [0.1, 0.2]
    tokens.forget(endpoint.source)
    endpoint.answers = [(401, b"no"), good]
    with pytest.raises(LoginError, match="HTTP 401") as caught:
        ask(endpoint.source, pace)
    assert "hunter2" not in str(caught.value) and "clientSecret" in caught.value.do
    assert len(endpoint.asked) == 4


def test_a_redirect_is_not_followed_with_the_secret(endpoint: Endpoint) -> None:
    endpoint.answers = [(302, b"")]
    with pytest.raises(LoginError, match="HTTP 302"):
        ask(endpoint.source)
    assert all("/elsewhere" not in str(headers) for headers, _ in endpoint.asked)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"access_token":""}', b'{"access_token":5}', b"\xff", b"null"])
def test_an_answer_without_a_token_is_refused(endpoint: Endpoint, body: bytes) -> None:
    endpoint.answers = [(200, body)]
    with pytest.raises(LoginError, match="access_token"):
        ask(endpoint.source)


def test_an_endpoint_that_is_not_there_is_named() -> None:
    source = TokenEndpoint("http://127.0.0.1:1/token", "me", Secret("x"))
    with pytest.raises(LoginError, match=r"127\.0\.0\.1:1/token"):
        ask(source)


def test_a_file_is_read_for_each_login(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    assert ask(TokenFile(str(file))) == "one"
    file.write_text("two")
    assert ask(TokenFile(str(file))) == "two"
    file.unlink()
    with pytest.raises(LoginError, match="No such file"):
        ask(TokenFile(str(file)))


def _raises() -> str:
    raise RuntimeError("vault is sealed")


def _no_text() -> str:
    return 5  # type: ignore[return-value]


def test_functions_and_given_tokens() -> None:
    assert ask(StaticToken(Secret("given"))) == "given"
    assert ask(TokenFunction(lambda: "made")) == "made"
    broken: list[Callable[[], str]] = [_raises, _no_text]
    for function in broken:
        with pytest.raises(LoginError, match=function.__name__):
            ask(TokenFunction(function))


def test_an_unsecured_token_is_what_kafka_makes_itself() -> None:
    made = tokens.unsecured(UnsecuredToken((("sub", "alice"), ("roles", ("a", "b"))), lifetime_seconds=60), 1000.5)
    head, claims, signature = made.split(".")
    assert signature == "" and "=" not in made
    assert json.loads(urlsafe_b64decode(head + "==")) == {"alg": "none"}
    assert json.loads(urlsafe_b64decode(claims + "==")) == {
        "iat": 1000,
        "exp": 1060,
        "sub": "alice",
        "roles": ["a", "b"],
    }
    with pytest.raises(LoginError, match="sub"):
        tokens.unsecured(UnsecuredToken(()), 0)


def test_an_unsecured_token_is_never_younger_than_a_clock_of_whole_milliseconds() -> None:
    for microseconds in (1, 61_999, 999_999):
        now = 1_795_070_656 + microseconds / 1e6
        claims = tokens.unsecured(UnsecuredToken((("sub", "alice"),)), now).split(".")[1]
        assert 1000 * json.loads(urlsafe_b64decode(claims + "=="))["iat"] <= int(now * 1000)
