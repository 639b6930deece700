"""Options about formats, schemas and the registry."""

from __future__ import annotations

import pickle

import pytest

from tapelog.client.secret import Secret
from tapelog.spark.plan import OptionError, read_options
from tapelog.spark.plan.formats import WriteFormats, read_formats, write_formats
from tapelog.spark.plan.given import Given

BASE = {"kafka.bootstrap.servers": "b:9092", "subscribe": "orders"}
REGISTRY = {"schemaRegistry.url": "http://r:8081"}


def refused(**given: str) -> str:
    with pytest.raises(OptionError) as error:
        read_formats(Given({name.replace("__", "."): value for name, value in given.items()}))
    assert len(str(error.value).splitlines()) <= 3
    return str(error.value)


def test_without_a_format_keys_and_values_stay_bytes() -> None:
    assert read_formats(Given(BASE)) is None
    assert read_formats(Given(BASE | {"valueFormat": "binary"})) is None
    options = read_options(BASE, streaming=True)
    assert options.formats is None and options.needed == options.shown == options.columns


def test_formats_are_read_in_any_case_and_travel_with_their_secrets_hidden() -> None:
    given = REGISTRY | {
        "VALUEFORMAT": "Avro",
        "keyFormat": "string",
        "schemaRegistry.basic.auth.user.info": "me:pass:word",
        "schemaRegistry.ssl.truststore.certificates": "PEM",
        "valueSubject": "s",
        "valueSchemaVersion": "3",
        "onCorrupt": "COLUMN",
    }
    options = read_options(BASE | given, streaming=False)
    formats = options.formats
    assert formats is not None and formats.registry is not None
    assert [(part.column, part.format, part.subject, part.version) for part in formats.parts] == [
        ("key", "string", None, None),
        ("value", "avro", "s", 3),
    ]
    assert (formats.registry.user, formats.registry.password) == ("me", Secret("pass:word"))
    assert options.shown[-1] == "_corrupt" and "pass:" not in repr(options) and "PEM" not in repr(options)
    assert pickle.loads(pickle.dumps(options)) == options


def test_several_registries_and_a_login_in_the_address() -> None:
    urls = "https://us%40er:p%3Aw@r1/path/,http://[::1]:8081"
    formats = read_formats(Given({"valueFormat": "avro", "schemaRegistry.url": urls}))
    assert formats is not None and formats.registry is not None
    assert formats.registry.urls == ("https://r1/path", "http://[::1]:8081")
    assert (formats.registry.user, formats.registry.password) == ("us@er", Secret("p:w"))


def test_dead_letters_need_what_a_row_may_not_have() -> None:
    more = {"valueFormat": "string", "onCorrupt": "deadLetter", "deadLetterTopic": "dead", "columns": "value"}
    options = read_options(BASE | more, streaming=False)
    assert options.columns == ("value",) and options.needed == ("key", "value", "offset", "timestamp", "headers")


@pytest.mark.parametrize("name", ["topic", "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy", "RECORD"])
def test_strategies_are_known_by_their_own_and_by_confluents_names(name: str) -> None:
    formats = read_formats(Given(REGISTRY | {"valueFormat": "avro", "valueSubjectStrategy": name}))
    assert formats is not None and formats.parts[0].strategy.lower() in name.lower().replace("name", "")


def test_what_does_not_go_together_is_told() -> None:
    assert "schemaRegistry.url" in refused(valueFormat="avro")
    assert "valueFormat" in refused(valueSchema="x")
    assert "onCorrupt" in refused(valueFormat="string", deadLetterTopic="d")
    assert "deadLetterTopic" in refused(valueFormat="string", onCorrupt="deadLetter")
    assert "without valueFormat" in refused(schemaRegistry__url="http://r")
    assert "leave one" in refused(valueFormat="avro", valueSchema="x", valueSchemaFile="y")
    assert "gives one" in refused(valueFormat="avro", valueSchema="x", valueSchemaId="3")
    assert "strings" in refused(valueFormat="string", valueSchema="x")
    assert "topicRecord" in refused(valueFormat="avro", schemaRegistry__url="http://r", valueSubjectStrategy="x")
    for url in ("r:8081", "ftp://r", "http://", "http://r?x=secret"):
        assert "secret" not in refused(valueFormat="avro", schemaRegistry__url=url)
    assert "user:password" in refused(
        valueFormat="avro", schemaRegistry__url="http://r", schemaRegistry__basic__auth__user__info="x"
    )


def test_a_secret_of_the_registry_is_never_shown() -> None:
    more = {"schemaRegistry__bearer__auth__token": "tok", "schemaRegistry__basic__auth__user__info": "u:hidden"}
    text = refused(valueFormat="avro", schemaRegistry__url="http://me:hidden@r", **more)
    assert "hidden" not in text and "tok" not in text.replace("token", "")
    assert "hidden" not in Given({"schemaRegistry.basic.auth.user.info": "u:hidden"}).shown(
        "schemaRegistry.basic.auth.user.info"
    )


def test_writing_registers_only_when_told() -> None:
    given = Given(REGISTRY | {"valueFormat": "avro"})
    found = write_formats(given)
    assert isinstance(found, WriteFormats) and (found.auto_register, found.use_latest) == (False, False)
    both = {"schemaRegistry.auto.register.schemas": "true", "schemaRegistry.use.latest.version": "true"}
    with pytest.raises(OptionError, match="do not go together"):
        write_formats(Given(REGISTRY | {"valueFormat": "avro"} | both))
