"""Secrets are referred to, resolved when a run begins, and never shown."""

from __future__ import annotations

import pytest

from tapelog.spark.pipeline.problems import DocumentError
from tapelog.spark.pipeline.references import DOTS, References, shown


def reader(path: str) -> str:
    """A file system with one file."""
    if path != "there":
        raise FileNotFoundError(2, "No such file or directory", path)
    return "from a file\n"


REFERENCES = References("p.toml", {"USER": "ann"}, reader)


def test_references_are_resolved() -> None:
    text = REFERENCES.text("${env:USER}-${env:NO:-nobody}-${file:there}", "x")
    assert text == "ann-nobody-from a file"


@pytest.mark.parametrize(("value", "words"), [("${env:GONE}", "GONE"), ("${file:gone}", "No such file")])
def test_what_is_missing_is_named_with_the_option_that_wants_it(value: str, words: str) -> None:
    with pytest.raises(DocumentError) as error:
        REFERENCES.options({"kafka.sasl.jaas.config": value})
    assert words in str(error.value) and "kafka.sasl.jaas.config" in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("kafka.bootstrap.servers", "h:1", False),
        ("kafka.sasl.jaas.config", 'x required password="p";', True),
        ("kafka.sasl.jaas.config", "${env:JAAS}", False),
        ("kafka.ssl.key.password", "p", True),
        ("schemaRegistry.basic.auth.user.info", "u:p", True),
        ("schemaRegistry.url", "https://u:p@host", True),
        ("dsn", "postgresql://u:p@h/d", True),
        ("dsn", "${env:DSN}", False),
        ("s3.secret-access-key", "k", True),
        ("subscribe", "orders", False),
        ("keyFormat", "avro", False),
    ],
)
def test_secrets_are_dots_and_references_are_as_written(name: str, value: str, hidden: bool) -> None:
    assert (shown({name: value})[name] == DOTS) is hidden
