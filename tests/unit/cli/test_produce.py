"""Records from arguments, lines and JSON lines."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from tapelog.cli.output import CliError
from tapelog.cli.produce import Delivered, Outgoing, _conclude, from_json, from_line

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


@pytest.mark.parametrize(("topic", "code", "hint"), [("orders", 1, "`tape broker disks`"), ("ordres", 4, "`orders`")])
def test_a_record_that_timed_out_although_the_cluster_answers_is_told_so(topic: str, code: int, hint: str) -> None:
    delivered = Delivered()
    delivered.first_error = KafkaError(KafkaError._MSG_TIMED_OUT)
    answering: Any = SimpleNamespace(timeout_s=10.0, metadata=lambda: SimpleNamespace(topics={"orders": None}))
    with pytest.raises(CliError) as caught:
        _conclude(answering, topic, ["orders"], delivered)
    assert caught.value.exit_code == code and hint in caught.value.hint
    assert code != 1 or "`tape cluster describe --check`" in caught.value.hint
