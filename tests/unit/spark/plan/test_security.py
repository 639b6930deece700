"""Java's security options become the client's settings; what only Java could do is told apart, and nothing leaks."""

from __future__ import annotations

import pytest

from tapelog.client.secret import Secret
from tapelog.client.settings import (
    ConnectionSettings,
    OAuthBearer,
    Plain,
    Scram,
    Store,
    Tls,
    TokenEndpoint,
    TokenFile,
    UnsecuredToken,
)
from tapelog.spark.plan.connection import connection_settings
from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.given import Given

HIDDEN = "hunter2"
PLAIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{HIDDEN}";'
SCRAM = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="{HIDDEN}"'
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def settings_of(options: dict[str, str]) -> ConnectionSettings:
    given = {"bootstrap.servers": "a:1"} | options
    return connection_settings(Given({f"kafka.{name}": value for name, value in given.items()}))[0]


def tls_of(options: dict[str, str]) -> Tls:
    found = settings_of({"security.protocol": "SSL"} | options).tls
    assert found is not None
    return found


def refused(options: dict[str, str]) -> str:
    with pytest.raises(OptionError) as raised:
        settings_of(options)
    text = str(raised.value)
    assert HIDDEN not in text and text.count("\n") <= 2
    return text


def test_without_a_protocol_connections_are_plain_and_unused_options_are_told() -> None:
    found, warnings = connection_settings(
        Given(
            {"kafka.bootstrap.servers": "a:1", "kafka.ssl.truststore.location": "/x", "kafka.sasl.mechanism": "PLAIN"}
        )
    )
    assert found.security_protocol == "PLAINTEXT"
    assert len(warnings) == 2 and "PLAINTEXT" in warnings[0]


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_each_protocol_is_translated(protocol: str) -> None:
    options = {"security.protocol": protocol.lower(), "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}
    assert settings_of(options).security_protocol == protocol


def test_plain_and_scram() -> None:
    base = {"security.protocol": "SASL_SSL"}
    plain = settings_of(base | {"sasl.mechanism": "plain", "sasl.jaas.config": PLAIN})
    assert plain.sasl == Plain("u", Secret(HIDDEN))
    for bits in (256, 512):
        scram = settings_of(base | {"sasl.mechanism": f"SCRAM-SHA-{bits}", "sasl.jaas.config": SCRAM + ";"})
        assert scram.sasl == Scram("u", Secret(HIDDEN), bits=bits)
    token = settings_of(base | {"sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": SCRAM + ' tokenauth="true";'})
    assert token.sasl == Scram("u", Secret(HIDDEN), bits=256, delegation_token=True)


def test_a_password_keeps_its_blanks() -> None:
    jaas = PLAIN.replace(HIDDEN, "  x ")
    found = settings_of({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas})
    assert isinstance(found.sasl, Plain) and found.sasl.password.text() == "  x "


def test_logins_that_cannot_work_are_refused() -> None:
    sasl = {"security.protocol": "SASL_SSL"}
    assert "GSSAPI (Kafka's default)" in refused(sasl | {"sasl.jaas.config": PLAIN})
    assert "AWS_MSK_IAM" in refused(sasl | {"sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": PLAIN})
    assert "sasl.jaas.config is missing" in refused(sasl | {"sasl.mechanism": "PLAIN"})
    assert "ScramLoginModule" in refused(sasl | {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": PLAIN})
    no_user = PLAIN.replace("username", "user")
    assert "no username" in refused(sasl | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": no_user})


def oauth(jaas: str, **more: str) -> OAuthBearer:
    options = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": jaas}
    found = settings_of(options | {name.replace("__", "."): value for name, value in more.items()}).sasl
    assert isinstance(found, OAuthBearer)
    return found


def test_oauth_by_client_credentials() -> None:
    jaas = (
        f'{OAUTH} clientId="c" clientSecret="{HIDDEN}" scope="s" extension_logicalCluster="lkc"'
        ' ssl.truststore.location="/ca.pem";'
    )
    found = oauth(
        jaas,
        sasl__oauthbearer__token__endpoint__url="https://idp/token",
        sasl__login__callback__handler__class="org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
        sasl__login__connect__timeout__ms="7",
        sasl__oauthbearer__header__urlencode="true",
    )
    assert found.extensions == (("logicalCluster", "lkc"),)
    assert found.source == TokenEndpoint(
        "https://idp/token",
        "c",
        Secret(HIDDEN),
        scope="s",
        tls=Tls(trust=Store(path="/ca.pem")),
        url_encode_header=True,
        connect_timeout_ms=7,
    )


def test_oauth_credentials_in_options_win_over_the_jaas_entry() -> None:
    found = oauth(
        f'{OAUTH} clientId="c" clientSecret="old";',
        sasl__oauthbearer__token__endpoint__url="https://idp/token",
        sasl__oauthbearer__client__credentials__client__id="new",
        sasl__oauthbearer__client__credentials__client__secret=HIDDEN,
        sasl__oauthbearer__scope="s2",
    )
    assert found.source == TokenEndpoint("https://idp/token", "new", Secret(HIDDEN), scope="s2")


def test_oauth_by_a_file_or_unsecured() -> None:
    file = oauth(f"{OAUTH};", sasl__oauthbearer__token__endpoint__url="file:///etc/token.jwt")
    assert file.source == TokenFile("/etc/token.jwt")
    jaas = (
        f'{OAUTH} unsecuredLoginStringClaim_sub="me" unsecuredLoginListClaim_scope="|a|b"'
        ' unsecuredLoginNumberClaim_n="1.5" unsecuredLoginLifetimeSeconds="60" unsecuredLoginExtension_traceId="1";'
    )
    found = oauth(jaas)
    assert isinstance(found.source, UnsecuredToken)
    assert dict(found.source.claims) == {"sub": "me", "scope": ("a", "b"), "n": 1.5}
    assert found.source.lifetime_seconds == 60 and found.extensions == (("traceId", "1"),)


def test_oauth_that_cannot_work_is_refused() -> None:
    base = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": f"{OAUTH};"}
    assert "token.endpoint.url" in refused(base)
    url = {"sasl.oauthbearer.token.endpoint.url": "https://idp"}
    assert "clientId" in refused(base | url)
    assert "https://" in refused(base | {"sasl.oauthbearer.token.endpoint.url": "ftp://x"})
    assert "IAMHandler" in refused(base | {"sasl.login.callback.handler.class": "com.x.IAMHandler"})
    bad = f'{OAUTH} unsecuredLoginStringClaim_sub="me" unsecuredLoginNumberClaim_n="{HIDDEN}";'
    assert "no number" in refused(base | {"sasl.jaas.config": bad})


def test_pem_and_pkcs12_files() -> None:
    assert tls_of({}) == Tls()
    pem = tls_of({"ssl.truststore.location": "/ca.pem", "ssl.keystore.location": "/me.pem", "ssl.key.password": HIDDEN})
    assert pem == Tls(trust=Store(path="/ca.pem"), identity=Store(path="/me.pem", password=Secret(HIDDEN)))
    p12 = {
        "ssl.truststore.location": "/ca",
        "ssl.truststore.type": "pkcs12",
        "ssl.truststore.password": HIDDEN,
        "ssl.keystore.location": "/me.p12",
        "ssl.keystore.password": HIDDEN,
        "ssl.key.password": HIDDEN,
    }
    secret = Secret(HIDDEN)
    assert tls_of(p12) == Tls(
        trust=Store(path="/ca", pkcs12=True, password=secret),
        identity=Store(path="/me.p12", pkcs12=True, password=secret),
    )


def test_java_takes_pkcs12_files_under_the_name_of_jks() -> None:
    found = tls_of({"ssl.truststore.location": "/ca.p12", "ssl.truststore.type": "JKS"})
    assert found.trust == Store(path="/ca.p12", pkcs12=True)


def test_inline_pem() -> None:
    found = tls_of(
        {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": "CA",
            "ssl.keystore.key": "KEY",
            "ssl.keystore.certificate.chain": "CHAIN",
            "ssl.key.password": HIDDEN,
        }
    )
    assert found.trust == Store(content=Secret("CA"))
    assert found.identity == Store(content=Secret("KEY\nCHAIN"), password=Secret(HIDDEN))


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_a_java_keystore_is_answered_with_how_to_convert_it(store: str) -> None:
    for more in ({}, {f"ssl.{store}.type": "JKS"}):
        text = refused({"security.protocol": "SSL", f"ssl.{store}.location": "/etc/my.jks", **more})
        assert (
            "keytool -importkeystore -srckeystore /etc/my.jks -destkeystore /etc/my.p12 -deststoretype PKCS12" in text
        )
        assert f"kafka.ssl.{store}.type" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ssl.truststore.location": "/a.pem", "ssl.truststore.certificates": HIDDEN}, "ssl.truststore.location"),
        ({"ssl.truststore.location": "/a.pem", "ssl.truststore.password": HIDDEN}, "PEM"),
        ({"ssl.keystore.key": HIDDEN}, "ssl.keystore.certificate.chain is missing"),
        ({"ssl.keystore.certificate.chain": HIDDEN}, "ssl.keystore.key is missing"),
        ({"ssl.keystore.location": "/a.p12"}, "ssl.keystore.password is missing"),
        ({"ssl.keystore.location": "/a.p12", "ssl.keystore.password": "x", "ssl.key.password": HIDDEN}, "differs"),
        ({"ssl.keystore.location": "/a.pem", "ssl.keystore.password": HIDDEN}, "ssl.key.password"),
        ({"ssl.truststore.location": "/a", "ssl.truststore.type": "BCFKS"}, "PEM or PKCS12"),
        ({"ssl.endpoint.identification.algorithm": "LDAPS"}, "https"),
        ({"ssl.enabled.protocols": "TLSv1"}, "TLSv1.2"),
        ({"ssl.cipher.suites": "NULL"}, "ssl.cipher.suites"),
    ],
)
def test_options_of_tls_that_do_not_go_together_are_refused(options: dict[str, str], said: str) -> None:
    assert said in refused({"security.protocol": "SSL"} | options)


def test_hosts_are_verified_unless_the_algorithm_is_empty() -> None:
    assert tls_of({"ssl.endpoint.identification.algorithm": "HTTPS"}).verify_host
    assert not tls_of({"ssl.endpoint.identification.algorithm": ""}).verify_host


def test_versions_and_ciphers_in_the_words_of_openssl() -> None:
    found = tls_of(
        {
            "ssl.enabled.protocols": "TLSv1.1,TLSv1.2",
            "ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_256_CBC_SHA256,"
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_AES_256_GCM_SHA384",
        }
    )
    assert (found.version_min, found.version_max) == ("TLSv1.2", "TLSv1.2")
    assert found.ciphers == "ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305"


def test_time_limits_and_buffers_are_passed_on() -> None:
    found = settings_of(
        {"request.timeout.ms": "5", "receive.buffer.bytes": "65536", "client.rack": "r", "client.id": ""}
    )
    assert (found.request_timeout_ms, found.receive_buffer_bytes, found.client_rack) == (5, 65536, "r")
    assert found.client_id == "tapelog"


def test_a_password_in_an_address_is_not_repeated() -> None:
    assert "not shown" in refused({"bootstrap.servers": f"user:{HIDDEN}@host"})
