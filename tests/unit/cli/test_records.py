"""How a consumed record is shown."""

from __future__ import annotations

import pytest

from tapelog.cli.produce import Outgoing, from_json
from tapelog.cli.records import Incoming, as_document, by_template, check_template, for_people, plain

RECORD = Incoming("orders", 2, 41, 1_700_000_000_123, b"k", b'{"a": [1, 2]}', (("trace", b"x1"), ("empty", None)))
BINARY = Incoming("orders", 0, 0, -1, None, b"\xff\x00", ())


def test_a_document_has_the_value_parsed() -> None:
    document = as_document(RECORD)
    assert document["value"] == {"a": [1, 2]}
    assert document["key"] == "k"
    assert document["headers"] == [["trace", "x1"], ["empty", None]]
    assert document["timestamp"] == "2023-11-14T22:13:20.123Z"


def test_bytes_that_are_no_text_become_base64() -> None:
    assert as_document(BINARY)["value"] == {"base64": "/wA="}


def test_only_objects_and_arrays_are_parsed_so_that_other_text_stays_exact() -> None:
    assert plain(b"12.50") == "12.50"
    assert plain(b"{broken") == "{broken"
    assert plain(b"[1]") == [1]
    assert plain(None) is None


@pytest.mark.parametrize("record", [RECORD, BINARY])
def test_what_consume_prints_as_json_produce_takes_back(record: Incoming) -> None:
    import json

    taken = from_json(json.dumps(as_document(record)), Outgoing(None))
    assert taken.key == record.key
    assert taken.headers == record.headers
    assert (
        json.loads(taken.value or b"0") == json.loads(record.value or b"0")
        if record is RECORD
        else taken.value == record.value
    )


def test_a_template_fills_fields_and_escapes() -> None:
    text = by_template(RECORD, r"{topic}[{partition}]@{offset}\t{key}={value}|{headers}|{size}\n")
    assert text == 'orders[2]@41\tk={"a": [1, 2]}|trace=x1,empty=|13\n'


def test_a_template_with_an_unknown_field_is_refused() -> None:
    check_template("{key} and {value}")
    with pytest.raises(ValueError, match="there is no field"):
        check_template("{colour}")


def test_people_see_indented_json_and_tombstones_by_name() -> None:
    head, body = for_people(RECORD)
    assert "orders[2]@41" in head.plain and "trace: x1" in head.plain
    assert body.plain == '{\n  "a": [\n    1,\n    2\n  ]\n}'
    assert "tombstone" in for_people(Incoming("t", 0, 0, 0, b"k", None))[1].plain


def test_people_see_binary_values_in_hexadecimal() -> None:
    assert for_people(BINARY)[1].plain == "0xff00"
