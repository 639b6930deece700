"""sasl.jaas.config is read as Kafka reads it, and never repeated in an error."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.spark.plan.errors import OptionError
from tapelog.spark.plan.jaas import parse_jaas


@pytest.mark.parametrize(
    ("text", "module", "options"),
    [
        (
            'a.b.PlainLoginModule required username="u" password="p";',
            "PlainLoginModule",
            {"username": "u", "password": "p"},
        ),
        (
            "kafkashaded.x.ScramLoginModule REQUIRED username=u-1 password='p p';",
            "ScramLoginModule",
            {"username": "u-1", "password": "p p"},
        ),
        (
            'M required\n  // who\n  username = "u" /* and\n what */ password="p"\n;\n',
            "M",
            {"username": "u", "password": "p"},
        ),
        (r'M required password="a\"b\\c\td\101;=//x";', "M", {"password": 'a"b\\c\tdA;=//x'}),
        ("M optional;", "M", {}),
        (
            'M required ssl.truststore.location="/a b" extension_x="1";',
            "M",
            {"ssl.truststore.location": "/a b", "extension_x": "1"},
        ),
        ('M required password="pä\'ss";', "M", {"password": "pä'ss"}),
        ("M required password=12345;", "M", {"password": "12345"}),
    ],
)
def test_an_entry_is_read(text: str, module: str, options: dict[str, str]) -> None:
    entry = parse_jaas(text)
    assert (entry.module, dict(entry.options)) == (module, options)
    assert "p p" not in repr(entry)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "login module and a flag"),
        ("M;", "login module and a flag"),
        ('M sometimes username="u";', "login module and a flag"),
        ('M required password="hunter2"', "semicolon"),
        ('M required password "hunter2";', "name=value"),
        ("M required hunter2;", "name=value"),
        ("M required password=;", "name=value"),
        ('M required password="hunter2;', "quote"),
        ("M required password=hunter2!;", "outside quotes"),
        ('M required password="hunter2"; N required;', "second login module"),
        ('M required password="hun"ter2" x="y";', "quote"),
    ],
)
def test_a_mistake_is_told_by_its_place_without_the_text(text: str, said: str) -> None:
    with pytest.raises(OptionError) as raised:
        parse_jaas(text)
    assert said in str(raised.value) and "sasl.jaas.config" in str(raised.value)
    assert "hunter2" not in str(raised.value) and "ter2" not in str(raised.value)
    assert str(raised.value).count("\n") <= 2


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_.]{0,8}", fullmatch=True), st.text(max_size=12), max_size=4))
def test_any_value_survives_its_quotes(options: dict[str, str]) -> None:
    def quoted(value: str) -> str:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + value.replace("\n", "\\n").replace("\r", "\\r") + '"'

    text = "x.M required " + " ".join(f"{name}={quoted(value)}" for name, value in options.items()) + ";"
    assert dict(parse_jaas(text).options) == options


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="aM =;\"'\\/*\n0", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_jaas(text)
    except OptionError:
        pass
