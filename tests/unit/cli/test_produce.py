"""Records from arguments, lines and JSON lines."""

from __future__ import annotations

import pytest

from tapelog.cli.output import CliError
from tapelog.cli.produce import Outgoing, from_json, from_line

DEFAULTS = Outgoing(None, b"default", (("h", b"1"),), 2, 99)


def test_a_line_is_the_value_and_takes_the_defaults() -> None:
    assert from_line("a:b", DEFAULTS, None) == Outgoing(b"a:b", b"default", (("h", b"1"),), 2, 99)


def test_with_a_separator_the_key_stands_before_it() -> None:
    assert from_line("a:b:c", DEFAULTS, ":").key == b"a"
    assert from_line("a:b:c", DEFAULTS, ":").value == b"b:c"
    assert from_line("no separator", DEFAULTS, ":").key == b"default"


def test_json_values_become_compact_json_and_text_stays_text() -> None:
    assert from_json('{"value": {"a": 1}}', DEFAULTS).value == b'{"a":1}'
    assert from_json('{"value": "plain"}', DEFAULTS).value == b"plain"
    assert from_json('{"value": null, "key": "k"}', DEFAULTS).value is None


def test_json_headers_may_be_an_object_or_pairs() -> None:
    assert from_json('{"value": "v", "headers": {"a": "1"}}', DEFAULTS).headers == (("a", b"1"),)
    assert from_json('{"value": "v", "headers": [["a", "1"], ["a", null]]}', DEFAULTS).headers == (
        ("a", b"1"),
        ("a", None),
    )


@pytest.mark.parametrize("text", ["not json", "[1]", '{"key": "k"}'])
def test_a_bad_json_line_is_an_error_that_shows_how(text: str) -> None:
    with pytest.raises(CliError) as caught:
        from_json(text, DEFAULTS)
    assert caught.value.exit_code == 2
    assert "per line" in caught.value.hint
