"""Record types against Apache Kafka's own encoding: kafka_records.txt holds its bytes and its reading of them.

The file is made by codegen/vectors.py.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from codegen.model import Field, Struct
from tapelog.wire.message import Message
from tapelog.wire.primitives import Reader
from tests.properties.wire_values import DEFINITIONS, RECORDS, our_class

LINES = (Path(__file__).parent / "kafka_records.txt").read_text().splitlines()


def as_kafka_prints(message: Message, struct: Struct, version: int) -> dict[str, Any]:
    """Our value in the shape of Kafka's JSON, which leaves out tagged fields that have their default."""
    made = {}
    default = type(message)()
    for field in struct.fields:
        value = getattr(message, field.attribute)
        if version not in field.versions:
            continue
        if version in field.tagged and value == getattr(default, field.attribute):
            continue
        made[field.name[0].lower() + field.name[1:]] = _value(field, value, version)
    return made


def _value(field: Field, value: Any, version: int) -> Any:
    if isinstance(value, list):
        return [_value(field, item, version) for item in value]
    if isinstance(value, Message):
        assert field.struct is not None
        return as_kafka_prints(value, field.struct, version)
    if field.type == "uuid":
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def test_every_record_type_is_in_the_file() -> None:
    assert sorted({line.split(" ")[0] for line in LINES}) == RECORDS


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_read_and_written_as_kafka_does(name: str) -> None:
    versions = set()
    for line in LINES:
        found, number, text, printed = line.split(" ", 3)
        if found != name:
            continue
        version, data = int(number), bytes.fromhex(text)
        versions.add(version)
        r = Reader(data)
        message = our_class(name).decode(r, version)
        r.expect_end()
        assert as_kafka_prints(message, DEFINITIONS[name].root, version) == json.loads(printed)
        assert message.tobytes(version) == data
    assert versions == set(DEFINITIONS[name].versions)
