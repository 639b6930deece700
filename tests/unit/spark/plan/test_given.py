"""Options as they were given: values are shown only where no secret can hide."""

from __future__ import annotations

import pytest

from tapelog.spark.plan.given import SHOWN_CHARS_MAX, Given

HIDDEN = "hunter2"


@pytest.mark.parametrize(
    "name",
    [
        "kafka.sasl.jaas.config",
        "kafka.sasl.oauthbearer.client.credentials.client.secret",
        "kafka.sasl.something.new",
        "kafka.ssl.keystore.key",
        "kafka.ssl.key.password",
        "KAFKA.SSL.Truststore.Password",
        "my.password",
        "apiToken",
        "clientSecret",
    ],
)
def test_what_may_be_a_secret_is_not_shown(name: str) -> None:
    given = Given({name: HIDDEN})
    assert HIDDEN not in given.shown(name) and HIDDEN not in str(given.wrong(name, "something else"))


def test_what_is_no_secret_is_shown_but_not_at_length() -> None:
    assert Given({"minPartitions": "many"}).shown("minpartitions") == "'many'"
    assert Given({"kafka.sasl.mechanism": "X"}).shown("kafka.sasl.mechanism") == "'X'"
    assert len(Given({"subscribe": "a" * 1000}).shown("subscribe")) < SHOWN_CHARS_MAX + 5
    assert HIDDEN not in Given({"kafka.bootstrap.servers": f"me:{HIDDEN}@host:1"}).shown("kafka.bootstrap.servers")
