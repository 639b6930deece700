"""The table of configurations, values and broker settings."""

from __future__ import annotations

import pytest

from tapelog.base import kafka_configs
from tapelog.base.config import (
    BROKER_ROWS,
    TOPIC_ROWS,
    BrokerSettings,
    UnknownSettingError,
)
from tapelog.base.config_refusals import check_static
from tapelog.base.config_values import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    STRING,
    ConfigValueError,
    canonical,
    check,
    java_double,
    split_list,
)


def test_every_default_passes_its_own_bounds() -> None:
    for table in (
        kafka_configs.TOPIC,
        kafka_configs.BROKER,
        kafka_configs.BROKER_QUOTA,
        kafka_configs.GROUP,
        kafka_configs.CLIENT_METRICS,
    ):
        for row in table:
            if row[2] is not None:
                check(row, row[2])
                assert canonical(row[1], row[2]) == row[2], row


def test_synonyms_name_things_that_exist() -> None:
    for name, behind in kafka_configs.TOPIC_SYNONYMS.items():
        assert name in TOPIC_ROWS
        assert all(broker in BROKER_ROWS for broker, _ in behind)
    for names in kafka_configs.BROKER_SYNONYMS.values():
        assert all(name in BROKER_ROWS for name in names)
    assert all(name in BROKER_ROWS for name in kafka_configs.GROUP_SYNONYMS.values())


def test_every_topic_default_agrees_with_the_brokers() -> None:
    settings = BrokerSettings()
    for name, behind in kafka_configs.TOPIC_SYNONYMS.items():
        texts = [(settings.text(broker), factor) for broker, factor in behind]
        text, factor = next((text, factor) for text, factor in texts if text is not None)
        assert TOPIC_ROWS[name][2] == (str(int(text) * factor) if factor != 1 else text), name


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        (BOOLEAN, " TRUE ", "true"),
        (INT, " +7 ", "7"),
        (LONG, "-9223372036854775808", "-9223372036854775808"),
        (DOUBLE, "2", "2.0"),
        (DOUBLE, "1e8", "1.0E8"),
        (DOUBLE, "0.0001", "1.0E-4"),
        (LIST, " a , b,", "a,b,"),
        (LIST, "", ""),
        (STRING, " x ", "x"),
    ],
)
def test_values_are_shown_as_kafka_shows_them(kind: int, text: str, shown: str) -> None:
    assert canonical(kind, text) == shown


@pytest.mark.parametrize(
    ("kind", "text"),
    [(BOOLEAN, "yes"), (INT, "2147483648"), (INT, ""), (INT, "1.0"), (INT, "٣"), (DOUBLE, "nan"), (LONG, "x")],
)
def test_what_does_not_parse_is_refused(kind: int, text: str) -> None:
    with pytest.raises(ValueError):
        canonical(kind, text)


def test_doubles_in_javas_notation() -> None:
    shown = {0.5: "0.5", 1.7976931348623157e308: "1.7976931348623157E308", 1e7: "1.0E7", 123456789.0: "1.23456789E8"}
    assert {value: java_double(value) for value in shown} == shown


def test_a_null_is_refused_where_there_is_a_default() -> None:
    check(TOPIC_ROWS["internal.segment.bytes"], None)
    with pytest.raises(ConfigValueError):
        check(TOPIC_ROWS["retention.ms"], None)


def test_a_refused_secret_is_not_repeated() -> None:
    row = ("x.password", 9, None, 0, "in:a")
    with pytest.raises(ConfigValueError) as caught:
        check(row, "swordfish")
    assert "swordfish" not in str(caught.value)


def test_lists_ignore_blanks() -> None:
    assert split_list(" a, b ,c ") == ["a", "b", "c"]
    assert split_list("  ") == []


def test_settings_fall_back_to_kafkas_defaults() -> None:
    settings = BrokerSettings({"num.partitions": "7", "auto.create.topics.enable": "False"})
    assert settings.whole("num.partitions") == 7
    assert settings.flag("auto.create.topics.enable") is False
    assert settings.whole("message.max.bytes") == 1048588
    assert settings.items("sasl.enabled.mechanisms") == ["GSSAPI"]
    assert settings.number("log.cleaner.min.cleanable.ratio") == 0.5
    assert settings.string("broker.rack") == ""
    with pytest.raises(KeyError):
        settings.text("no.such.name")


@pytest.mark.parametrize(
    ("static", "millis"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "1"}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, 120_000),
        ({"log.retention.hours": "1", "log.retention.ms": "3"}, 3),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_the_finest_unit_wins(static: dict[str, str], millis: int) -> None:
    assert BrokerSettings(static).millis("log.retention.ms") == millis


def test_bad_static_settings_are_refused_by_name() -> None:
    check_static({"num.partitions": "3", "listener.name.x.num.network.threads": "9", "tapelog.flush": "page-cache"})
    with pytest.raises(UnknownSettingError, match=r"did you mean 'log\.retention\.hours'"):
        check_static({"log.retention.hour": "3"})
    with pytest.raises(ConfigValueError, match=r"num\.partitions"):
        check_static({"num.partitions": "many"})
