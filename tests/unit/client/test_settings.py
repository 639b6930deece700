"""The value that says how to reach a cluster: addresses, equality, pickling, and secrets that stay unseen."""

from __future__ import annotations

import pickle
import traceback

import pytest

from tapelog.client.secret import Secret
from tapelog.client.settings import (
    Address,
    ConnectionSettings,
    OAuthBearer,
    Plain,
    Scram,
    StaticToken,
    Store,
    Tls,
    parse_addresses,
)

HIDDEN = "hunter2"
SETTINGS = ConnectionSettings(
    bootstrap=parse_addresses("a:9092,b:9093"),
    tls=Tls(identity=Store(content=Secret(HIDDEN), password=Secret(HIDDEN))),
    sasl=Plain("me", Secret(HIDDEN)),
)


def test_addresses_are_read_as_kafka_reads_them() -> None:
    assert parse_addresses(" a:1 , [::1]:2,SASL_SSL://c.example:65535,a:1,") == (
        Address("a", 1),
        Address("::1", 2),
        Address("c.example", 65535),
    )
    assert str(Address("::1", 2)) == "[::1]:2"
    assert str(Address("a", 1)) == "a:1"


@pytest.mark.parametrize("text", ["", " , ", "a", "a:", ":1", "a:0", "a:65536", "a:x", "a:-1", "a:²"])
def test_what_is_no_address_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        parse_addresses(text)


def test_secrets_are_seen_nowhere() -> None:
    secret = Secret(HIDDEN)
    for told in (repr(secret), str(secret), f"{secret}", f"{secret:>20}", f"{[secret]}", repr(SETTINGS), str(SETTINGS)):
        assert HIDDEN not in told
    assert secret.text() == HIDDEN and secret.data() == HIDDEN.encode()
    try:
        raise ValueError(SETTINGS, secret)
    except ValueError as error:
        assert HIDDEN not in "".join(traceback.format_exception(error))


def test_settings_survive_pickling_and_are_a_key() -> None:
    again = pickle.loads(pickle.dumps(SETTINGS))
    assert again == SETTINGS and hash(again) == hash(SETTINGS)
    assert Secret("a") != Secret("b") and Secret("a") != "a"
    assert Secret("a") == Secret(b"a")
    other = ConnectionSettings(bootstrap=SETTINGS.bootstrap, tls=SETTINGS.tls, sasl=Plain("me", Secret("other")))
    assert other != SETTINGS


def test_the_security_protocol_follows_from_what_is_set() -> None:
    servers = parse_addresses("a:1")
    assert ConnectionSettings(servers).security_protocol == "PLAINTEXT"
    assert ConnectionSettings(servers, tls=Tls()).security_protocol == "SSL"
    assert ConnectionSettings(servers, sasl=Scram("a", Secret("b"), 512)).security_protocol == "SASL_PLAINTEXT"
    bearer = OAuthBearer(StaticToken(Secret("t")))
    assert ConnectionSettings(servers, tls=Tls(), sasl=bearer).security_protocol == "SASL_SSL"
    assert [bearer.mechanism, Scram("a", Secret("b")).mechanism] == ["OAUTHBEARER", "SCRAM-SHA-256"]


def test_contradictions_are_refused() -> None:
    with pytest.raises(ValueError, match="either"):
        Store()
    with pytest.raises(ValueError, match="either"):
        Store(path="a", content=Secret("b"))
    with pytest.raises(ValueError, match="SHA-1 "):
        Scram("a", Secret("b"), 1)
