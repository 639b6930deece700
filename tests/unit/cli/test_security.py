"""How `tape` protects its own connections: what -X properties mean, and which brokers it does not believe."""

from __future__ import annotations

import ast
import base64
import hashlib
import hmac
import re
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

from tapelog.cli.connect import Connection
from tapelog.cli.output import CliError, reset_consoles
from tapelog.cli.raw import Wire
from tapelog.cli.security import Security, explained, librdkafka_login
from tapelog.client import handshake, link, login, scram, tls, tokens, transport, versions
from tapelog.client.errors import ClientError
from tapelog.client.secret import Secret
from tapelog.client.settings import (
    OAuthBearer,
    Plain,
    Scram,
    StaticToken,
    Store,
    Tls,
    TokenEndpoint,
    TokenFile,
    UnsecuredToken,
)
from tapelog.wire.message import Message
from tapelog.wire.messages.list_transactions_request import ListTransactionsRequest
from tapelog.wire.messages.list_transactions_response import ListTransactionsResponse
from tapelog.wire.messages.sasl_authenticate_request import SaslAuthenticateRequest
from tapelog.wire.messages.sasl_authenticate_response import SaslAuthenticateResponse
from tapelog.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from tapelog.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from tests.support.certificates import Authority
from tests.unit.client.fake_broker import Answer, FakeBroker
from tests.unit.client.test_tokens import Endpoint

PASSWORD = "hunter2-and-more"
SALT = b"sixteen bytes !!"
SASL = ("security.protocol=SASL_PLAINTEXT", "sasl.username=me", f"sasl.password={PASSWORD}")
SCRAM = (*SASL, "sasl.mechanism=SCRAM-SHA-512")


class ScramBroker:
    """The broker's side of SCRAM-SHA-512. `challenge` makes its first message from the client's nonce; `signed` its
    last one from the signature that would be right."""

    def __init__(self) -> None:
        self.challenge: Callable[[str], str] = lambda nonce: f"r={nonce}server,s={salt()},i=4096"
        self.signed: Callable[[str], str] = lambda right: f"v={right}"
        self.heard: list[bytes] = []
        self.proofs = self.logins = self.logged_in = 0

    def __call__(self, request: Message, version: int) -> Answer:
        if isinstance(request, SaslHandshakeRequest):
            self.heard = []
            self.logins += 1
            return SaslHandshakeResponse(mechanisms=["SCRAM-SHA-512"])
        if not isinstance(request, SaslAuthenticateRequest):
            self.logged_in += 1
            return ListTransactionsResponse()
        self.heard.append(request.auth_bytes)
        self.proofs += b",p=" in request.auth_bytes
        if len(self.heard) == 1:
            return SaslAuthenticateResponse(auth_bytes=self._first().encode())
        return SaslAuthenticateResponse(auth_bytes=self.signed(self._signature()).encode())

    def _first(self) -> str:
        return self.challenge(self.heard[0].decode().rpartition("r=")[2])

    def _signature(self) -> str:
        bare = self.heard[0].decode().removeprefix("n,,")
        final = self.heard[1].decode().rpartition(",p=")[0]
        salted = hashlib.pbkdf2_hmac("sha512", PASSWORD.encode(), SALT, 4096)
        key = hmac.digest(salted, b"Server Key", "sha512")
        return base64.b64encode(hmac.digest(key, f"{bare},{self._first()},{final}".encode(), "sha512")).decode()


def salt(data: bytes = SALT) -> str:
    return base64.b64encode(data).decode()


def ask(broker: FakeBroker, properties: tuple[str, ...]) -> None:
    """Over a connection of our own."""
    with Wire(Connection(str(broker.address), properties)) as wire:
        wire.ask(ListTransactionsRequest(), ListTransactionsResponse)


def ask_by_librdkafka(broker: FakeBroker, properties: tuple[str, ...]) -> None:
    Connection(str(broker.address), properties, timeout_s=2).metadata()


Ask = Callable[[FakeBroker, tuple[str, ...]], None]


def test_a_broker_that_knows_the_password_is_believed() -> None:
    door = ScramBroker()
    with FakeBroker(door) as broker:
        ask(broker, SCRAM)
    assert door.logged_in == 1


@pytest.mark.parametrize("way", [ask, ask_by_librdkafka])
@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (lambda nonce: f"r={nonce}x,s={salt()},i=1", "1 iterations are outside 4096"),
        (lambda nonce: f"r={nonce}x,s={salt()},i=4095", "4095 iterations are outside 4096"),
        (lambda nonce: f"r={nonce}x,s={salt()},i=999999999", "999999999 iterations are outside 4096"),
        (lambda nonce: f"r={nonce},s={salt()},i=4096", "nonce does not extend ours"),
        (lambda nonce: f"r=foreign,s={salt()},i=4096", "nonce does not extend ours"),
        (lambda nonce: f"r={nonce}x,i=4096", "salt has 0 bytes"),
        (lambda nonce: f"r={nonce}x,s=,i=4096", "salt has 0 bytes"),
        (lambda nonce: f"r={nonce}x,s=%%%,i=4096", "no base64"),
        (lambda nonce: f"r={nonce}x,s={salt()}", "iterations"),
        (lambda nonce: f"m=more,r={nonce}x,s={salt()},i=4096", "extension"),
        (lambda nonce: "", "wrong form"),
    ],
)
def test_a_hostile_scram_challenge_gets_no_proof(challenge: Callable[[str], str], why: str, way: Ask) -> None:
    door = ScramBroker()
    door.challenge = challenge
    with FakeBroker(door) as broker, pytest.raises(CliError, match=why) as told:
        way(broker, SCRAM)
    assert door.logins == 1 and door.proofs == 0, "nothing that the password went into was sent"
    assert told.value.exit_code == 1 and "--bootstrap" in told.value.hint
    assert PASSWORD not in told.value.message + told.value.hint


@pytest.mark.parametrize("way", [ask, ask_by_librdkafka])
@pytest.mark.parametrize("signed", [lambda right: f"v={salt(b'x' * 64)}", lambda right: "v=", lambda right: ""])
def test_a_broker_that_cannot_prove_that_it_knows_the_password_is_asked_nothing(
    signed: Callable[[str], str], way: Ask
) -> None:
    door = ScramBroker()
    door.signed = signed
    with FakeBroker(door) as broker, pytest.raises(CliError, match="does not keep to SCRAM-SHA-512"):
        way(broker, SCRAM)
    assert door.logins == 1 and door.logged_in == 0


def test_a_refused_login_is_not_tried_at_the_next_broker() -> None:
    door = ScramBroker()
    door.signed = lambda right: "e=invalid-proof"
    other = ScramBroker()
    with FakeBroker(door) as one, FakeBroker(other) as two, pytest.raises(CliError, match="invalid-proof") as told:
        Connection(f"{one.address},{two.address}", SCRAM)
    assert "-X sasl.username and -X sasl.password" in told.value.hint and (door.logins, other.logins) == (1, 0)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_sent_once_by_a_command(mechanism: str) -> None:
    """librdkafka alone sends it again and again until its time is over: enough to lock a user out."""
    logins: list[str] = []

    def door(request: Message, version: int) -> Answer:
        if isinstance(request, SaslHandshakeRequest):
            logins.append(request.mechanism)
            return SaslHandshakeResponse(mechanisms=[mechanism])
        return SaslAuthenticateResponse(error_code=58, error_message="wrong password")

    with FakeBroker(door) as broker, pytest.raises(CliError, match="refused the login of user me: wrong password"):
        ask_by_librdkafka(broker, (*SASL, f"sasl.mechanism={mechanism}"))
    assert logins == [mechanism]


def test_at_a_bootstrap_server_that_is_away_the_next_one_is_asked() -> None:
    door = ScramBroker()
    with FakeBroker(door) as broker:
        Connection(f"127.0.0.1:1,{broker.address}", SCRAM)
    assert door.logins == 1


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[tuple[FakeBroker, ScramBroker]]:
    """A broker whose certificate is for another host; `ca.pem` beside."""
    authority, door = Authority(), ScramBroker()
    (tmp_path / "server.pem").write_bytes(authority.sign("broker", "another.example").pem())
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with FakeBroker(door, context) as broker:
        yield broker, door


@pytest.mark.parametrize("way", [ask, ask_by_librdkafka])
@pytest.mark.parametrize("value", ["htps", "true", "none ", " https", "", "false"])
@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_a_slip_does_not_turn_the_verification_of_the_host_off(
    protocol: str, value: str, way: Ask, elsewhere: tuple[FakeBroker, ScramBroker], tmp_path: Path
) -> None:
    broker, door = elsewhere
    given = (f"ssl.ca.location={tmp_path / 'ca.pem'}", f"ssl.endpoint.identification.algorithm={value}")
    with pytest.raises(CliError, match=r"ssl\.endpoint\.identification\.algorithm='.*' is not known") as told:
        way(broker, (*SCRAM, f"security.protocol={protocol}", *given))
    assert told.value.exit_code == 2 and "=https" in told.value.hint
    assert broker.connections == 0 and door.logins == 0, "nothing was sent"


@pytest.mark.parametrize(("value", "logins"), [("none", 1), ("NONE", 1), ("https", 0), ("HTTPS", 0)])
def test_the_host_is_verified_as_asked(
    value: str, logins: int, elsewhere: tuple[FakeBroker, ScramBroker], tmp_path: Path
) -> None:
    broker, door = elsewhere
    given = (f"ssl.ca.location={tmp_path / 'ca.pem'}", f"ssl.endpoint.identification.algorithm={value}")
    with suppress(CliError):
        Connection(str(broker.address), (*SCRAM, "security.protocol=SASL_SSL", *given))
    assert door.logins == logins


@pytest.fixture
def here(tmp_path: Path) -> Iterator[tuple[FakeBroker, ScramBroker]]:
    """A broker with TLS; beside it `authorities`, a directory as `openssl rehash` makes it."""
    authority, door = Authority("an authority"), ScramBroker()
    (tmp_path / "server.pem").write_bytes(authority.sign("broker", "127.0.0.1").pem())
    (tmp_path / "authorities").mkdir()
    canonical = authority.own.certificate.subject.public_bytes()[2:]  # without the outer header; lower case already
    hashed = int.from_bytes(hashlib.sha1(canonical).digest()[:4], "little")
    (tmp_path / "authorities" / f"{hashed:08x}.0").write_bytes(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with FakeBroker(door, context) as broker:
        yield broker, door


def test_a_directory_of_authorities_is_believed(here: tuple[FakeBroker, ScramBroker], tmp_path: Path) -> None:
    broker, door = here
    trust = f"ssl.ca.location={tmp_path / 'authorities'}"
    ask(broker, (*SCRAM, "security.protocol=SASL_SSL", trust))
    assert door.logged_in == 1
    (tmp_path / "others").mkdir()
    with pytest.raises(CliError, match="not trusted"):
        ask(broker, (*SCRAM, "security.protocol=SASL_SSL", f"ssl.ca.location={tmp_path / 'others'}"))


def test_with_a_directory_of_authorities_a_hostile_challenge_gets_no_proof_either(
    here: tuple[FakeBroker, ScramBroker], tmp_path: Path
) -> None:
    broker, door = here
    door.challenge = lambda nonce: f"r={nonce}x,s={salt()},i=1"
    with pytest.raises(CliError, match="1 iterations"):
        ask_by_librdkafka(broker, (*SCRAM, "security.protocol=SASL_SSL", f"ssl.ca.location={tmp_path / 'authorities'}"))
    assert door.logins == 1 and door.proofs == 0


def test_no_password_is_sent_with_files_that_only_librdkafka_reads(
    here: tuple[FakeBroker, ScramBroker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, door = here
    (tmp_path / "me.p12").write_bytes(Authority().sign("me").pkcs12(b"secret"))
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization.pkcs12", None)
    given = (
        f"ssl.ca.location={tmp_path / 'authorities'}",
        f"ssl.keystore.location={tmp_path / 'me.p12'}",
        "ssl.keystore.password=secret",
    )
    Connection(str(broker.address), ("security.protocol=SSL", *given))  # without a password it is left to librdkafka
    with pytest.raises(CliError, match="PKCS12 files need") as told:
        ask_by_librdkafka(broker, (*SCRAM, "security.protocol=SASL_SSL", *given))
    assert "pip install" in told.value.hint and door.logins == 0


@pytest.mark.parametrize(
    ("properties", "warned"),
    [
        (SCRAM, True),
        ((*SCRAM, "security.protocol=SASL_SSL", "enable.ssl.certificate.verification=false"), True),
        ((*SCRAM, "security.protocol=SASL_SSL"), False),
        ((*SASL, "sasl.mechanism=PLAIN"), False),
        ((), False),
    ],
)
def test_a_password_that_librdkafka_lets_others_guess_is_warned_about_once(
    properties: tuple[str, ...], warned: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tapelog.cli.connect.look", lambda *_: None)
    reset_consoles()
    connection = Connection("127.0.0.1:1", properties)
    assert capsys.readouterr().err == "", "no client of librdkafka yet"
    for _ in range(2):
        connection.producer()
    assert connection.admin is not None
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("SASL_SSL") == told.err.count("\n") == int(warned)
    reset_consoles()


def test_properties_without_a_login_need_none() -> None:
    security = Security.of({"bootstrap.servers": "h:1"})
    assert (security.tls, security.sasl, security.context) == (None, None, None)


def test_logins_come_from_the_same_properties_as_everywhere() -> None:
    given = {"sasl.mechanism": "scram-sha-512", "sasl.username": "u", "sasl.password": "secret"}
    security = Security.of({"security.protocol": "sasl_ssl", **given})
    assert security.sasl == Scram("u", Secret("secret"), 512) and security.tls == Tls()
    assert "secret" not in repr(security)
    assert Security.of({"security.protocol": "SASL_PLAINTEXT", **given, "sasl.mechanism": "PLAIN"}) == Security(
        None, Plain("u", Secret("secret"))
    )


SASL_TEXT = {"security.protocol": "SASL_PLAINTEXT"}
OAUTH = {**SASL_TEXT, "sasl.mechanisms": "OAUTHBEARER"}
OIDC = {**OAUTH, "sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.token.endpoint.url": "https://idp.example/token"}


@pytest.mark.parametrize(
    ("properties", "hint"),
    [
        ({"security.protocol": "SASL_SSL"}, "OAUTHBEARER"),
        ({"security.protocol": "carrier pigeon"}, "SASL_SSL"),
        ({**SASL_TEXT, "sasl.mechanism": "PLAIN"}, "-X sasl.username"),
        ({**SASL_TEXT, "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "u"}, "-X sasl.password"),
        (OAUTH, "-X sasl.oauthbearer.token.endpoint.url=file:///PATH"),
        (OIDC, "-X sasl.oauthbearer.client.id"),
        (
            {
                **OIDC,
                "sasl.oauthbearer.grant.type": "jwt-bearer",
                "sasl.oauthbearer.client.id": "a",
                "sasl.oauthbearer.client.secret": "b",
            },
            "file:///PATH",
        ),
        ({**OAUTH, "enable.sasl.oauthbearer.unsecure.jwt": "true"}, "principal=NAME"),
        ({"security.protocol": "SSL", "ssl.certificate.location": "/nowhere/me.pem"}, "check the path"),
    ],
)
def test_a_login_that_cannot_be_done_is_told_with_what_to_add(properties: dict[str, str], hint: str) -> None:
    with pytest.raises(CliError) as told:
        Security.of(properties)
    assert told.value.exit_code == 2 and hint in told.value.hint


def test_tokens_come_from_librdkafkas_properties() -> None:
    unsecured = {
        **OAUTH,
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": "principal=me scope=read,write lifeSeconds=60 extension_traceId=7",
    }
    claims = (("sub", "me"), ("scope", ("read", "write")))
    assert Security.of(unsecured).sasl == OAuthBearer(UnsecuredToken(claims, lifetime_seconds=60), (("traceId", "7"),))
    file = {**OAUTH, "sasl.oauthbearer.token.endpoint.url": "file:///run/token", "sasl.oauthbearer.extensions": "a=b"}
    assert Security.of(file).sasl == OAuthBearer(TokenFile("/run/token"), (("a", "b"),))
    given = {**OAUTH, "sasl.oauthbearer.config": "token=abc.def"}
    assert Security.of(given).sasl == OAuthBearer(StaticToken(Secret("abc.def")))
    server = {
        **OIDC,
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "hush",
        "sasl.oauthbearer.scope": "kafka",
        "https.ca.location": "/etc/idp.pem",
    }
    source = TokenEndpoint(
        "https://idp.example/token", "me", Secret("hush"), "kafka", tls=Tls(Store(path="/etc/idp.pem"))
    )
    assert Security.of(server).sasl == OAuthBearer(source)
    assert "hush" not in repr(Security.of(server)) and "abc.def" not in repr(Security.of(given))


def test_librdkafka_is_given_our_tokens(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("opaque\n")
    url = f"file://{tmp_path / 'token'}"
    given = librdkafka_login({**OIDC, "sasl.oauthbearer.token.endpoint.url": url, "sasl.oauthbearer.extensions": "a=b"})
    assert given["sasl.oauthbearer.method"] == "default"
    token, _, principal, extensions = given["oauth_cb"]("")
    assert (token, principal, extensions) == ("opaque", "", {"a": "b"})
    (tmp_path / "token").write_text("younger")
    assert given["oauth_cb"]("")[0] == "younger", "the file is read again for each login"
    (tmp_path / "token").unlink()
    with pytest.raises(CliError, match="token cannot be read") as told:
        librdkafka_login({**OAUTH, "sasl.oauthbearer.token.endpoint.url": url})
    assert "check the path" in told.value.hint


@pytest.mark.parametrize(
    "properties",
    [
        {},
        SASL_TEXT,
        {**SASL_TEXT, "sasl.mechanism": "PLAIN"},
        {**OIDC, "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"},
        {**OIDC, "sasl.oauthbearer.metadata.authentication.type": "azure_imds"},
        {**OAUTH, "enable.sasl.oauthbearer.unsecure.jwt": "1"},
    ],
)
def test_librdkafka_does_by_itself_what_it_can(properties: dict[str, str]) -> None:
    assert librdkafka_login(properties) == {}


def test_an_openid_server_is_asked_once_and_its_refusal_is_told() -> None:
    server = Endpoint()
    url = server.source.url
    given = {**OIDC, "sasl.oauthbearer.token.endpoint.url": url, "sasl.oauthbearer.client.id": "me"}
    given["sasl.oauthbearer.client.secret"] = "hush"
    try:
        found = librdkafka_login(given)
        assert found["oauth_cb"]("")[0] == "fresh" and len(server.asked) == 1
        server.answers = [(401, b"")]
        with pytest.raises(CliError, match=f"gave no token: HTTP 401 .*{url}") as told:
            librdkafka_login({**given, "sasl.oauthbearer.client.secret": "wrong"})
        assert "-X sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret" in told.value.hint.replace("check ", "")
    finally:
        server.server.shutdown()
        server.server.server_close()


def test_a_token_that_a_broker_refuses_is_told_without_the_token() -> None:
    def door(request: Message, version: int) -> Answer:
        if isinstance(request, SaslHandshakeRequest):
            return SaslHandshakeResponse(mechanisms=["OAUTHBEARER"])
        return SaslAuthenticateResponse(error_code=58, error_message="invalid_token")

    with FakeBroker(door) as broker, pytest.raises(CliError, match="invalid_token") as told:
        ask(
            broker,
            ("security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.config=token=s3cret"),
        )
    assert "s3cret" not in told.value.message + told.value.hint and told.value.hint


def advice(module: ModuleType) -> Iterator[str]:
    """What a module of the client tells to do: the third argument of its errors, or a variable of that name."""
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
            parts = node.args[2:3]
        elif isinstance(node, ast.Assign) and any("do" in ast.unparse(one).split(", ") for one in node.targets):
            parts = [node.value]
        for part in parts:
            for text in ast.walk(part):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value


def test_no_advice_of_the_client_names_an_option_that_tape_does_not_have() -> None:
    told = [text for one in (handshake, link, login, scram, tls, tokens, transport, versions) for text in advice(one)]
    assert sum("kafka." in text for text in told) > 5
    for text in told:
        assert not re.search(r"kafka\.|executor|jaas|truststore", explained(ClientError("", "", text)).hint), text
