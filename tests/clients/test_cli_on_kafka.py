"""`tape` on Apache Kafka with TLS and logins: librdkafka's connections and ours, from the same -X properties."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapelog.cli.connect import Connection
from tapelog.cli.output import EXIT_FAILED, EXIT_UNREACHABLE, CliError
from tapelog.cli.raw import Wire
from tapelog.client.settings import UnsecuredToken
from tapelog.client.tokens import unsecured
from tests.support.certificates import Authority
from tests.support.kafka_dumper import NEEDS_DUMPER
from tests.support.kafka_server import PASSWORD, SCRAM_PASSWORD, USER, KafkaServer
from tests.unit.client.test_tokens import Endpoint

pytestmark = NEEDS_DUMPER

PLAIN = ["sasl.mechanism=PLAIN", f"sasl.username={USER}", f"sasl.password={PASSWORD}"]
UNSECURED = ["enable.sasl.oauthbearer.unsecure.jwt=true", f"sasl.oauthbearer.config=principal={USER}"]


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaServer]:
    with KafkaServer() as server:
        yield server


@pytest.fixture
def trust(kafka: KafkaServer, tmp_path: Path) -> str:
    (tmp_path / "ca.pem").write_bytes(kafka.authority.pem)
    return f"ssl.ca.location={tmp_path / 'ca.pem'}"


def works(where: str, *properties: str) -> None:
    """Both kinds of connections of one command see the one broker."""
    connection = Connection(where, properties, 20)
    with Wire(connection) as wire:
        assert [node.id for node in wire.nodes()] == [1]
        assert wire.nodes() == wire.nodes()
    assert list(connection.metadata().brokers) == [1]


def refused(where: str, *properties: str) -> CliError:
    with pytest.raises(CliError) as told, Wire(Connection(where, properties, 20)) as wire:
        wire.nodes()
    assert told.value.hint and "kafka." not in told.value.hint
    assert not any(secret in told.value.message + told.value.hint for secret in (PASSWORD, SCRAM_PASSWORD, "wrong"))
    return told.value


def scram(bits: int, password: str = SCRAM_PASSWORD) -> list[str]:
    return [f"sasl.mechanism=SCRAM-SHA-{bits}", f"sasl.username={USER}", f"sasl.password={password}"]


@pytest.mark.parametrize(
    "login",
    [PLAIN, scram(256), scram(512), ["sasl.mechanism=OAUTHBEARER", *UNSECURED]],
    ids=["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"],
)
def test_logins_are_taken_with_and_without_tls(kafka: KafkaServer, trust: str, login: list[str]) -> None:
    works(kafka.on.sasl, "security.protocol=SASL_PLAINTEXT", *login)
    works(kafka.on.sasl_tls, "security.protocol=SASL_SSL", trust, *login)


def test_without_any_and_with_tls_alone(kafka: KafkaServer, trust: str) -> None:
    works(kafka.on.plain)
    works(kafka.on.tls, "security.protocol=SSL", trust)
    other_name = kafka.on.tls.replace("localhost", "127.0.0.1")
    works(other_name, "security.protocol=SSL", trust, "ssl.endpoint.identification.algorithm=none")
    works(kafka.on.tls, "security.protocol=SSL", "enable.ssl.certificate.verification=false")


def test_mutual_tls_with_two_files_an_encrypted_key_and_pkcs12(kafka: KafkaServer, trust: str, tmp_path: Path) -> None:
    me = kafka.authority.sign("me")
    (tmp_path / "me.pem").write_bytes(me.certificate_pem)
    (tmp_path / "key.pem").write_bytes(me.key_pem())
    (tmp_path / "locked.pem").write_bytes(me.key_pem(b"secret-key"))
    (tmp_path / "me.p12").write_bytes(me.pkcs12(b"secret-store"))
    common = ["security.protocol=SSL", trust]
    certificate = f"ssl.certificate.location={tmp_path / 'me.pem'}"
    works(kafka.on.mutual, *common, certificate, f"ssl.key.location={tmp_path / 'key.pem'}")
    locked = [certificate, f"ssl.key.location={tmp_path / 'locked.pem'}"]
    works(kafka.on.mutual, *common, *locked, "ssl.key.password=secret-key")
    works(
        kafka.on.mutual, *common, f"ssl.keystore.location={tmp_path / 'me.p12'}", "ssl.keystore.password=secret-store"
    )
    assert "ssl.certificate.location" in refused(kafka.on.mutual, *common).hint


def test_a_certificate_that_is_not_believed_and_a_wrong_name(kafka: KafkaServer, trust: str, tmp_path: Path) -> None:
    (tmp_path / "other.pem").write_bytes(Authority("Somebody").pem)
    error = refused(kafka.on.tls, "security.protocol=SSL", f"ssl.ca.location={tmp_path / 'other.pem'}")
    assert "not trusted" in error.message and "-X ssl.ca.location" in error.hint
    other_name = kafka.on.tls.replace("localhost", "127.0.0.1")
    assert "127.0.0.1" in refused(other_name, "security.protocol=SSL", trust).message


@pytest.mark.parametrize(
    "login", [["sasl.mechanism=PLAIN", f"sasl.username={USER}", "sasl.password=wrong"], scram(512, "wrong")]
)
def test_a_wrong_password_is_told_as_such(kafka: KafkaServer, login: list[str]) -> None:
    error = refused(kafka.on.sasl, "security.protocol=SASL_PLAINTEXT", *login)
    assert USER in error.message and "-X sasl.username" in error.hint and error.exit_code == EXIT_FAILED


def test_tokens_from_a_file_from_the_command_line_and_from_an_endpoint(kafka: KafkaServer, tmp_path: Path) -> None:
    made = unsecured(UnsecuredToken((("sub", USER),)), time.time())
    (tmp_path / "token").write_text(made)
    common = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=OAUTHBEARER"]
    works(kafka.on.sasl, *common, f"sasl.oauthbearer.token.endpoint.url=file://{tmp_path / 'token'}")
    works(kafka.on.sasl, *common, f"sasl.oauthbearer.config=token={made}")
    endpoint = Endpoint()
    endpoint.answers = [(200, b'{"access_token":"%s","expires_in":60}' % made.encode())]
    try:
        works(
            kafka.on.sasl,
            *common,
            "sasl.oauthbearer.method=oidc",
            f"sasl.oauthbearer.token.endpoint.url={endpoint.source.url}",
            "sasl.oauthbearer.client.id=me",
            "sasl.oauthbearer.client.secret=hush",
        )
    finally:
        endpoint.server.shutdown()
        endpoint.server.server_close()


def test_ports_that_want_something_else_say_so(kafka: KafkaServer, trust: str) -> None:
    for where, words, hint, properties in (
        (kafka.on.tls, "only with TLS", "security.protocol=SSL", []),
        (kafka.on.mutual, "only with TLS", "security.protocol=SSL", []),
        (kafka.on.plain, "not with TLS", "leave security.protocol out", ["security.protocol=SSL", trust]),
        (kafka.on.sasl_tls, "only with TLS", "SASL_SSL", ["security.protocol=SASL_PLAINTEXT", *PLAIN]),
    ):
        error = refused(where, *properties)
        assert words in error.message and hint in error.hint and error.exit_code == EXIT_UNREACHABLE
    error = refused(kafka.on.plain, "security.protocol=SASL_PLAINTEXT", *PLAIN)
    assert "expects no login" in error.message and "-X security.protocol" in error.hint
    error = refused(kafka.on.sasl)
    assert "-X security.protocol" in error.hint, "it wants a login"
