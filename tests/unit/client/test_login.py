"""Logins without a socket: RFC vectors, and brokers that lie."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from tapelog.client.errors import LoginError
from tapelog.client.login import BearerLogin, PlainLogin
from tapelog.client.scram import ITERATIONS_MAX, ScramLogin
from tapelog.client.secret import Secret
from tapelog.client.settings import OAuthBearer, Plain, Scram, StaticToken

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_LAST = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def scram(bits: int = 256, name: str = "user", *, token: bool = False) -> ScramLogin:
    return ScramLogin(Scram(name, Secret("pencil"), bits, token), NONCE)


def bearer(token: str, *extensions: tuple[str, str]) -> BearerLogin:
    return BearerLogin(OAuthBearer(StaticToken(Secret("")), extensions), token)


def test_plain_is_name_and_password_between_zeros() -> None:
    login = PlainLogin(Plain("tim", Secret("tänzer")))
    assert login.first() == b"\x00tim\x00" + "tänzer".encode()
    assert not login.finished
    assert login.step(b"") is None
    assert login.finished


@pytest.mark.parametrize(("name", "password"), [("", "a"), ("a", ""), ("a\x00b", "c"), ("a", "b\x00c")])
def test_plain_refuses_what_would_shift_its_fields(name: str, password: str) -> None:
    with pytest.raises(LoginError, match="zero byte"):
        PlainLogin(Plain(name, Secret(password))).first()


def test_plain_gives_nothing_to_a_broker_that_asks_on() -> None:
    login = PlainLogin(Plain("a", Secret("b")))
    login.first()
    with pytest.raises(LoginError, match="asks for more"):
        login.step(b"more")


def test_scram_sha_256_as_in_rfc_7677() -> None:
    login = scram()
    assert login.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert login.step(SERVER_FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert not login.finished
    assert login.step(SERVER_LAST) is None
    assert login.finished


@pytest.mark.parametrize("bits", [256, 512])
def test_scram_convinces_a_server_that_knows_only_the_stored_key(bits: int) -> None:
    name, salt, count = f"sha{bits}", b"salt-of-the-broker", 5000
    salted = hashlib.pbkdf2_hmac(name, b"pencil", salt, count)
    stored = hashlib.new(name, hmac.digest(salted, b"Client Key", name)).digest()
    server_key = hmac.digest(salted, b"Server Key", name)
    login = scram(bits)
    first = login.first().removeprefix(b"n,,")
    challenge = f"r={NONCE}more,s={base64.b64encode(salt).decode()},i={count}".encode()
    proof = login.step(challenge)
    assert proof is not None
    bare, _, sent = proof.rpartition(b",p=")
    told = b",".join([first, challenge, bare])
    key = bytes(a ^ b for a, b in zip(base64.b64decode(sent), hmac.digest(stored, told, name), strict=True))
    assert hashlib.new(name, key).digest() == stored
    assert login.step(b"v=" + base64.b64encode(hmac.digest(server_key, told, name))) is None


def test_scram_escapes_names_and_says_when_it_is_a_delegation_token() -> None:
    assert scram(name="a=b,c").first() == b"n,,n=a=3Db=2Cc,r=" + NONCE.encode()
    assert scram(token=True).first() == b"n,,n=user,r=" + NONCE.encode() + b",tokenauth=true"


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (SERVER_FIRST.replace(b"r=rO", b"r=xO"), "nonce"),
        (f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode(), "nonce"),
        (SERVER_FIRST.replace(b"i=4096", b"i=4095"), "iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=%d" % (ITERATIONS_MAX + 1)), "iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=99999999999999999999"), "iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=-1"), "iterations"),
        (SERVER_FIRST.replace(b",i=4096", b""), "iterations"),
        (SERVER_FIRST.replace(b"W22Z", b"W2 Z"), "base64"),
        (SERVER_FIRST.replace(b"s=W22ZaJ0SNY7soEsUEjb6gQ==", b"s="), "salt"),
        (b"m=future," + SERVER_FIRST, "extension"),
        (SERVER_FIRST + b",i=4096", "form"),
        (b"", "form"),
        (b"\xff\xfe", "text"),
        (b"r=" + b"x" * 9000, "too long"),
    ],
)
def test_scram_gives_no_proof_to_a_broker_that_does_not_keep_to_it(challenge: bytes, why: str) -> None:
    login = scram()
    login.first()
    with pytest.raises(LoginError, match=why):
        login.step(challenge)
    assert not login.finished


@pytest.mark.parametrize(
    "last", [SERVER_LAST.replace(b"6rri", b"7rri"), b"v=", b"x=1", SERVER_FIRST, b"v=!!", SERVER_LAST[:20]]
)
def test_scram_does_not_believe_a_broker_without_the_right_signature(last: bytes) -> None:
    login = scram()
    login.first()
    login.step(SERVER_FIRST)
    with pytest.raises(LoginError):
        login.step(last)
    assert not login.finished


def test_scram_cannot_be_ended_before_the_proof() -> None:
    login = scram()
    login.first()
    with pytest.raises(LoginError):
        login.step(SERVER_LAST)
    assert not login.finished


def test_a_refusal_of_scram_names_the_user_and_no_password() -> None:
    login = scram()
    login.first()
    with pytest.raises(LoginError, match="invalid-proof") as caught:
        login.step(b"e=invalid-proof")
    assert "user" in caught.value.which and "pencil" not in str(caught.value)


def test_a_token_goes_out_with_its_extensions() -> None:
    login = bearer("abc.def.", ("logicalCluster", "lkc-1"), ("pool", "p 2"))
    assert login.first() == b"n,,\x01auth=Bearer abc.def.\x01logicalCluster=lkc-1\x01pool=p 2\x01\x01"
    assert login.step(b"") is None
    assert login.finished


def test_a_refused_token_is_acknowledged_and_told() -> None:
    login = bearer("abc")
    login.first()
    assert login.step(b'{"status":"invalid_token"}') == b"\x01"
    assert not login.finished and login.refused == '{"status":"invalid_token"}'
    with pytest.raises(LoginError):
        login.step(b"")


@pytest.mark.parametrize("token", ["", "a b", "a\x01auth=Bearer c", "tökén", "a\n"])
def test_what_would_break_the_frame_is_no_token(token: str) -> None:
    with pytest.raises(LoginError, match="no token"):
        bearer(token).first()


@pytest.mark.parametrize("extension", [("auth", "x"), ("a1", "x"), ("", "x"), ("a", "x\x01y"), ("a", "ü")])
def test_what_would_break_the_frame_is_no_extension(extension: tuple[str, str]) -> None:
    with pytest.raises(LoginError, match="extension"):
        bearer("t", extension).first()
