"""TLS over a link, and stores that are unusable: told with the option, never with what is in them."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from tapelog.client.errors import LinkError, TlsError
from tapelog.client.handshake import open_link
from tapelog.client.pace import Deadline, SystemPace
from tapelog.client.secret import Secret
from tapelog.client.settings import ConnectionSettings, Store, Tls
from tapelog.client.tls import context
from tapelog.wire.messages.fetch_request import FetchRequest
from tapelog.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tests.support.certificates import Authority
from tests.unit.client.fake_broker import FakeBroker


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def server_context(authority: Authority, path: Path) -> ssl.SSLContext:
    (path / "server.pem").write_bytes(authority.sign("broker", "127.0.0.1").pem())
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(path / "server.pem")
    return made


def test_large_answers_and_idle_links_work_with_tls(authority: Authority, tmp_path: Path) -> None:
    records = bytes(range(256)) * 8000
    answer = FetchResponse(responses=[FetchableTopicResponse("t", b"\0" * 16, [PartitionData(records=records)])])
    pace = SystemPace()
    tls = Tls(Store(content=Secret(authority.pem)))
    with FakeBroker(lambda request, version: answer, server_context(authority, tmp_path)) as broker:
        settings = ConnectionSettings((broker.address,), tls)
        link = open_link(broker.address, settings, context(tls), Deadline(pace, 10), pace)
        for _ in range(2):
            assert link.usable
            ticket = link.send(FetchRequest(), FetchResponse, 13, Deadline(pace, 10))
            limit = Deadline(pace, 10)
            while not link.ready:
                assert limit.left()
            assert link.receive(ticket, Deadline(pace, 10)).responses[0].partitions[0].records == records
        broker.drop()
        while link.usable:
            assert limit.left()


def test_a_broker_without_tls_does_not_hang_us() -> None:
    pace = SystemPace()
    with FakeBroker(lambda request, version: None) as broker:
        settings = ConnectionSettings((broker.address,), Tls())
        with pytest.raises((LinkError, TlsError), match="TLS"):
            open_link(broker.address, settings, context(Tls()), Deadline(pace, 0.5), pace)


def told(tls: Tls) -> str:
    with pytest.raises(TlsError) as caught:
        context(tls)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3, lines
    return "\n".join(lines)


def test_stores_that_cannot_be_used_are_named_with_their_option(authority: Authority, tmp_path: Path) -> None:
    assert "ssl.truststore.location: /no/such" in told(Tls(Store(path="/no/such")))
    assert "ssl.keystore.location: /no/such" in told(Tls(identity=Store(path="/no/such")))
    java = tmp_path / "store.jks"
    java.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    assert "keytool" in told(Tls(Store(path=str(java))))
    assert "truststore" in told(Tls(Store(content=Secret("hunter2 is no PEM"))))
    assert "hunter2" not in told(Tls(Store(content=Secret("hunter2 is no PEM"))))
    assert "PKCS12" in told(Tls(Store(content=Secret(b"junk"), pkcs12=True)))
    only_certificates = Store(content=Secret(authority.pkcs12(b"x")), pkcs12=True, password=Secret("x"))
    assert "no key" in told(Tls(identity=only_certificates))
    me = authority.sign("me")
    assert "keystore" in told(Tls(identity=Store(content=Secret(me.certificate_pem))))
    other = authority.sign("other")
    mismatch = Store(content=Secret(me.key_pem() + other.certificate_pem))
    assert "keystore" in told(Tls(identity=mismatch))
    # an encrypted key without its password fails at once: nobody is asked on a terminal
    assert "keystore" in told(Tls(identity=Store(content=Secret(me.pem(b"secret")))))


def test_versions_and_ciphers(authority: Authority) -> None:
    trust = Store(content=Secret(authority.pem))
    assert context(Tls(trust, version_min="TLSv1.3")).minimum_version == ssl.TLSVersion.TLSv1_3
    assert "TLSv1.2 or TLSv1.3" in told(Tls(trust, version_min="TLSv1.1"))
    assert "ssl.cipher.suites" in told(Tls(trust, ciphers="TLS_RSA_WITH_NULL"))
    made = context(Tls(trust, verify_host=False, ciphers="ECDHE-ECDSA-AES128-GCM-SHA256"))
    assert not made.check_hostname and made.verify_mode == ssl.CERT_REQUIRED
    usual = context(Tls(trust))
    assert usual.check_hostname and usual.verify_mode == ssl.CERT_REQUIRED
