"""Our blocking client and the Spark sink on Apache Kafka: all that they do on Tapelog, with TLS and logins."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tapelog.client import handshake
from tapelog.client.cluster import Cluster
from tapelog.client.errors import ClientError, DeadlineError, LoginError, TlsError
from tapelog.client.secret import Secret
from tapelog.client.settings import (
    ConnectionSettings,
    OAuthBearer,
    Plain,
    Sasl,
    Scram,
    StaticToken,
    Store,
    Tls,
    TokenEndpoint,
    TokenFile,
    UnsecuredToken,
    parse_addresses,
)
from tapelog.client.tokens import unsecured
from tests.clients.blocking_client_checks import CHECKS, Check, Place
from tests.clients.sink_checks import CHECKS as SINK_CHECKS
from tests.support.certificates import Authority
from tests.support.kafka_dumper import NEEDS_DUMPER
from tests.support.kafka_server import PASSWORD, REAUTH_MS, SCRAM_PASSWORD, USER, KafkaServer
from tests.unit.client.test_tokens import Endpoint

pytestmark = NEEDS_DUMPER

PLAIN = Plain(USER, Secret(PASSWORD))
TOKEN = UnsecuredToken((("sub", USER),))
SECRETS = (PASSWORD, SCRAM_PASSWORD, "wrong-secret")


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaServer]:
    with KafkaServer() as server:
        yield server


@pytest.mark.parametrize("check", [*CHECKS, *SINK_CHECKS], ids=lambda check: check.__name__)
def test_on_apache_kafka(kafka: KafkaServer, check: Check) -> None:
    check(Place(kafka.on.plain))


def connect(where: str, tls: Tls | None = None, sasl: Sasl | None = None, seconds: float = 30) -> Cluster:
    return Cluster(ConnectionSettings(parse_addresses(where), tls, sasl, api_timeout_ms=int(seconds * 1000)))


def works(cluster: Cluster) -> bool:
    """The cluster answers a request that needs all rights."""
    try:
        cluster.all_topics()
        return len(cluster.brokers) == 1
    finally:
        cluster.close()


def refused(cluster: Cluster, kind: type[ClientError]) -> ClientError:
    """The error, which has at most three lines and no secret in it."""
    with pytest.raises(kind) as caught:
        cluster.all_topics()
    told = str(caught.value)
    assert len(told.splitlines()) <= 3 and caught.value.which and caught.value.do, told
    assert not any(secret in told for secret in SECRETS)
    return caught.value


@pytest.fixture(scope="module")
def trust(kafka: KafkaServer) -> Store:
    return Store(content=Secret(kafka.authority.pem))


def test_plain_text(kafka: KafkaServer) -> None:
    assert works(connect(kafka.on.plain))


def test_tls_with_the_authority_as_text_as_file_and_as_pkcs12(kafka: KafkaServer, trust: Store, tmp_path: Path) -> None:
    assert works(connect(kafka.on.tls, Tls(trust)))
    (tmp_path / "ca.pem").write_bytes(kafka.authority.pem)
    assert works(connect(kafka.on.tls, Tls(Store(path=str(tmp_path / "ca.pem")))))
    (tmp_path / "ca.p12").write_bytes(kafka.authority.pkcs12(b"changeit"))
    store = Store(path=str(tmp_path / "ca.p12"), pkcs12=True, password=Secret("changeit"))
    assert works(connect(kafka.on.tls, Tls(store, version_max="TLSv1.2")))
    assert "password" in str(refused(connect(kafka.on.tls, Tls(replace(store, password=Secret("x")))), TlsError))


def test_a_broker_that_another_authority_signed_is_not_trusted(kafka: KafkaServer) -> None:
    other = Store(content=Secret(Authority("Somebody").pem))
    assert "not trusted" in str(refused(connect(kafka.on.tls, Tls(other)), TlsError))
    assert "not trusted" in str(refused(connect(kafka.on.tls, Tls()), TlsError))


def test_the_name_in_the_certificate_is_checked_unless_told_not_to(kafka: KafkaServer, trust: Store) -> None:
    other_name = kafka.on.tls.replace("localhost", "127.0.0.1")
    assert "127.0.0.1" in str(refused(connect(other_name, Tls(trust)), TlsError))
    assert works(connect(other_name, Tls(trust, verify_host=False)))


def test_mutual_tls_with_pem_with_an_encrypted_key_and_with_pkcs12(kafka: KafkaServer, trust: Store) -> None:
    me = kafka.authority.sign("me")
    secret = Secret("wrong-secret")
    for identity in (
        Store(content=Secret(me.pem())),
        Store(content=Secret(me.certificate_pem + me.key_pem(secret.data())), password=secret),
        Store(content=Secret(me.pkcs12(secret.data(), kafka.authority)), password=secret, pkcs12=True),
    ):
        assert works(connect(kafka.on.mutual, Tls(trust, identity)))
    locked = Store(content=Secret(me.pem(secret.data())), password=Secret("another"))
    assert "keystore" in str(refused(connect(kafka.on.mutual, Tls(trust, locked)), TlsError))


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_broker_that_wants_a_certificate_says_so_and_one_of_strangers_does_not_help(
    kafka: KafkaServer, trust: Store, version: str
) -> None:
    stranger = Store(content=Secret(Authority("Stranger").sign("me").pem()))
    for identity in (None, stranger):
        error = refused(connect(kafka.on.mutual, Tls(trust, identity, version_max=version)), TlsError)
        assert "keystore" in error.do


def logins() -> list[Sasl]:
    password = Secret(SCRAM_PASSWORD)
    return [PLAIN, Scram(USER, password, 256), Scram(USER, password, 512), OAuthBearer(TOKEN)]


@pytest.mark.parametrize("sasl", logins(), ids=lambda sasl: sasl.mechanism)
def test_logins_are_taken_with_and_without_tls(kafka: KafkaServer, trust: Store, sasl: Sasl) -> None:
    assert works(connect(kafka.on.sasl, None, sasl))
    assert works(connect(kafka.on.sasl_tls, Tls(trust), sasl))


def test_wrong_passwords_and_users_are_told_as_such(kafka: KafkaServer) -> None:
    wrong = Secret("wrong-secret")
    for sasl in (Plain(USER, wrong), Scram(USER, wrong, 256), Scram("nobody", wrong, 512)):
        error = refused(connect(kafka.on.sasl, None, sasl), LoginError)
        assert sasl.username in error.what and "check name and password" in error.do


def test_tokens_from_everywhere(kafka: KafkaServer, tmp_path: Path) -> None:
    made = unsecured(TOKEN, time.time())
    (tmp_path / "token").write_text(made)
    endpoint = Endpoint()
    endpoint.answers = [(200, b'{"access_token":"%s","expires_in":60}' % made.encode())]
    try:
        sources = (StaticToken(Secret(made)), TokenFile(str(tmp_path / "token")), endpoint.source)
        for source in sources:
            assert works(connect(kafka.on.sasl, None, OAuthBearer(source, (("traceId", "123"),))))
        assert len(endpoint.asked) == 1
    finally:
        endpoint.server.shutdown()
        endpoint.server.server_close()


def test_a_token_that_has_expired_is_told(kafka: KafkaServer) -> None:
    old = unsecured(TOKEN, time.time() - 100_000)
    error = refused(connect(kafka.on.sasl, None, OAuthBearer(StaticToken(Secret(old)))), LoginError)
    assert old not in str(error) and "token" in error.what
    nowhere = TokenEndpoint("http://127.0.0.1:1/", "me", Secret("wrong-secret"), retry_backoff_ms=1)
    refused(connect(kafka.on.sasl, None, OAuthBearer(nowhere)), LoginError)


def test_ports_that_want_something_else_say_what_to_check(kafka: KafkaServer, trust: Store) -> None:
    assert "security.protocol" in str(refused(connect(kafka.on.tls, seconds=3), ClientError))
    assert "TLS" in str(refused(connect(kafka.on.plain, Tls(trust), seconds=3), ClientError))
    assert "expects no login" in str(refused(connect(kafka.on.plain, None, PLAIN), LoginError))
    error = refused(connect(kafka.on.sasl, seconds=3), DeadlineError)
    assert "security.protocol" in error.do


def test_a_session_goes_on_for_longer_than_one_login_lasts(kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "_RENEW_FROM", 0.4)  # two seconds before a login ends, on a machine that is busy
    cluster = connect(kafka.on.sasl, None, Scram(USER, Secret(SCRAM_PASSWORD), 512))
    cluster.all_topics()
    (link,) = cluster.links
    assert link.expires_at is not None
    logins, ends = {link.expires_at}, time.monotonic() + REAUTH_MS / 1000
    while time.monotonic() < ends or len(logins) < 3:
        cluster.all_topics()
        assert cluster.links == [link], "it is the same connection"
        logins.add(link.expires_at)
        time.sleep(0.05)
    assert cluster.links == [link], "it is the same connection"
    cluster.close()
