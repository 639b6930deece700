"""Random schemas that evolve: what we read is what fastavro reads."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tapelog.spark.formats.avro.growing import avro_decoder
from tapelog.spark.formats.avro.schema import parse_avro
from tapelog.spark.registry.client import Registered

INT, LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
FLOAT = st.floats(allow_nan=False, width=32)
VALUES: dict[str, Any] = {
    "boolean": st.booleans(),
    "int": INT,
    "long": LONG,
    "float": FLOAT,
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=20),
    "bytes": st.binary(max_size=20),
}
WIDER = {"int": ["long", "double"], "long": ["double"], "float": ["double"], "string": ["bytes"]}


class Names:
    """Names that nobody has yet."""

    def __init__(self) -> None:
        self.count = 0

    def new(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"


def schemas(draw: Any, names: Names, depth: int) -> Any:
    kinds = ["primitive", "primitive", "enum", "fixed"] + (["array", "map", "record", "maybe"] if depth else [])
    match draw(st.sampled_from(kinds)):
        case "enum":
            return {"type": "enum", "name": names.new("E"), "symbols": ["A", "B", "LONGER_THAN_A_VIEW"]}
        case "fixed":
            return {"type": "fixed", "name": names.new("F"), "size": draw(st.integers(0, 20))}
        case "array":
            return {"type": "array", "items": schemas(draw, names, depth - 1)}
        case "map":
            return {"type": "map", "values": schemas(draw, names, depth - 1)}
        case "maybe":
            inner = schemas(draw, names, depth - 1)
            return inner if isinstance(inner, list) else draw(st.sampled_from([["null", inner], [inner, "null"]]))
        case "record":
            return records(draw, names, depth - 1)
    return draw(st.sampled_from(list(VALUES)))


def records(draw: Any, names: Names, depth: int) -> Any:
    count = draw(st.integers(0, 3))
    fields = [{"name": names.new("f"), "type": schemas(draw, names, depth)} for _ in range(count)]
    return {"type": "record", "name": names.new("R"), "fields": fields}


def evolved(draw: Any, schema: Any, names: Names) -> Any:
    """A schema that reads what this one wrote."""
    if isinstance(schema, str):
        return draw(st.sampled_from([schema, *WIDER.get(schema, [])]))
    if isinstance(schema, list):
        return [one if one == "null" else evolved(draw, one, names) for one in schema]
    match schema["type"]:
        case "array":
            return schema | {"items": evolved(draw, schema["items"], names)}
        case "map":
            return schema | {"values": evolved(draw, schema["values"], names)}
        case "enum":
            return schema | {"symbols": draw(st.permutations(schema["symbols"]))}
        case "record":
            kept = [one for one in schema["fields"] if draw(st.integers(0, 3))]
            fields = [one | {"type": evolved(draw, one["type"], names)} for one in kept]
            if draw(st.booleans()):
                kind = schemas(draw, names, 0)
                fields.append({"name": names.new("f"), "type": kind, "default": as_json(draw(values(kind)))})
            if draw(st.booleans()):
                fields.append({"name": names.new("f"), "type": ["null", "long"], "default": None})
            return schema | {"fields": draw(st.permutations(fields))}
    return schema


def as_json(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def values(schema: Any) -> Any:
    if isinstance(schema, str):
        return st.none() if schema == "null" else VALUES[schema]
    if isinstance(schema, list):
        return st.one_of([values(one) for one in schema])
    match schema["type"]:
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
        case "map":
            return st.dictionaries(st.text(max_size=5), values(schema["values"]), max_size=3)
        case "enum":
            return st.sampled_from(schema["symbols"])
        case "fixed":
            return st.binary(min_size=schema["size"], max_size=schema["size"])
    return st.fixed_dictionaries({one["name"]: values(one["type"]) for one in schema["fields"]})


def shown(schema: Any, value: Any) -> Any:
    """As Arrow shows what fastavro read."""
    if value is None:
        return None
    if (schema == "bytes" or (isinstance(schema, dict) and schema["type"] == "fixed")) and isinstance(value, str):
        return value.encode("latin-1")  # fastavro gives defaults as the schema's JSON has them
    if isinstance(schema, str):
        return value
    if isinstance(schema, list):
        return shown(next(one for one in schema if one != "null"), value)
    match schema["type"]:
        case "array":
            return [shown(schema["items"], one) for one in value]
        case "map":
            return [(name, shown(schema["values"], one)) for name, one in value.items()]
        case "record":
            return {one["name"]: shown(one["type"], value[one["name"]]) for one in schema["fields"]}
    return value


@st.composite
def lives(draw: Any) -> tuple[Any, Any, list[Any]]:
    """A writer's schema, a reader's, and records."""
    names = Names()
    writer = records(draw, names, 2)
    return writer, evolved(draw, writer, names), draw(st.lists(values(writer), min_size=1, max_size=3))


@settings(max_examples=80, deadline=None)
@given(lives())
def test_whatever_evolves_is_read_as_fastavro_reads_it(life: tuple[Any, Any, list[Any]]) -> None:
    writer, reader, rows = life
    parsed = fastavro.parse_schema(json.loads(json.dumps(writer)))
    wanted = fastavro.parse_schema(json.loads(json.dumps(reader)))
    data, expected = [], []
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, row)
        data.append(b"\0\0\0\0\1" + out.getvalue())
        expected.append(shown(reader, fastavro.schemaless_reader(io.BytesIO(out.getvalue()), parsed, wanted)))
    made = avro_decoder(parse_avro(json.dumps(reader)), lambda key: Registered(1, "avro", json.dumps(writer)))
    array, bad = made.decode(pa.array(data, pa.binary()))
    array.validate(full=True)
    assert not bad and array.to_pylist() == expected


@settings(max_examples=60, deadline=None)
@given(lives(), st.binary(max_size=30), st.integers(0, 40))
def test_no_bytes_whatever_do_worse_than_be_corrupt(life: tuple[Any, Any, list[Any]], noise: bytes, cut: int) -> None:
    writer, reader, rows = life
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(writer))), rows[0])
    good = b"\0\0\0\0\1" + out.getvalue()
    made = avro_decoder(parse_avro(json.dumps(reader)), lambda key: Registered(1, "avro", json.dumps(writer)))
    alone = made.decode(pa.array([good], pa.binary()))[0].to_pylist()
    array, bad = made.decode(pa.array([noise, good, good[:cut], b"\0\0\0\0\1" + noise, good], pa.binary()))
    array.validate(full=True)
    assert [array.to_pylist()[row] for row in (1, 4)] == alone * 2 and not {1, 4} & bad.keys()
