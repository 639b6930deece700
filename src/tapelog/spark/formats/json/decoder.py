"""JSON into columns: all values of a batch at once by Arrow's parser, and one by one where that does not take them.

For the parser each value is wrapped, one to a line: `{"v":…}`. A value that is cut short, or that is more than one,
cannot pass for something else: either a line does not parse, or the lines are not as many as the values. Then each is
read on its own, and the corrupt ones are told apart.

As to from_json, the JSON literal `null` is a struct of nulls; a record without a value is null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as paj

from tapelog.spark.formats.json.schemas import json_type
from tapelog.spark.formats.json.values import Digits, Unfit, converter, has_decimals
from tapelog.spark.formats.run import PREFIX
from tapelog.spark.plan.formats import Reference
from tapelog.spark.registry.client import SchemaKey


def json_decoder(text: str, references: Sequence[Reference] = ()) -> JsonDecoder:
    """A decoder into the type that this schema describes; SchemaError."""
    return JsonDecoder(json_type(text, references))


class JsonDecoder:
    """Decodes one column. Values that carry a schema id have it taken off: JSON tells its fields itself."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self._convert = converter(kind)
        self._parse_float = Digits if has_decimals(kind) else None
        self._is_struct = bool(pa.types.is_struct(kind))
        wire = _wire(kind)
        self._parse = None
        if wire is not None:
            self._parse = paj.ParseOptions(
                explicit_schema=pa.schema([pa.field("v", wire)]), unexpected_field_behavior="ignore"
            )

    def decode(self, values: Any, keys: Sequence[SchemaKey | None] | None = None) -> tuple[Any, dict[int, str]]:
        """The array, and the reason for each row that is corrupt, and null in it."""
        values = _without_ids(values)
        found = None if self._parse is None or not len(values) else self._at_once(values)
        return (found, {}) if found is not None else self._one_by_one(values.to_pylist())

    def _at_once(self, values: Any) -> Any:
        """All of them; None: something is wrong with one of them, or the parser cannot tell."""
        try:
            texts = values.cast(pa.string()).fill_null("null")
            lines = pc.binary_join_element_wise('{"v":', texts, "}\n", "")
            _, offsets, data = lines.buffers()
            size = int.from_bytes(offsets[4 * len(lines) : 4 * len(lines) + 4].to_pybytes(), "little")
            options = paj.ReadOptions(use_threads=False, block_size=size + 1)
            table = paj.read_json(pa.BufferReader(data.slice(0, size)), options, self._parse)
            if table.num_rows != len(values):
                return None
            column = table.column("v").combine_chunks()
            if self._is_struct and column.null_count > values.null_count:
                column = pa.StructArray.from_arrays(column.flatten(), fields=list(column.type), mask=values.is_null())
            return column if column.type == self.kind else column.cast(self.kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None

    def _one_by_one(self, values: list[bytes | None]) -> tuple[Any, dict[int, str]]:
        rows: list[Any] = []
        bad: dict[int, str] = {}
        for number, value in enumerate(values):
            try:
                rows.append(None if value is None else self._one(value))
            except Unfit as error:
                rows.append(None)
                bad[number] = str(error)
        return pa.array(rows, self.kind), bad

    def _one(self, value: bytes) -> Any:
        parsed = _loads(value, self._parse_float)
        return self._convert({} if parsed is None and self._is_struct else parsed)


def _loads(value: bytes, parse_float: Callable[[str], float] | None = None) -> Any:
    try:
        return json.loads(
            value.decode(), parse_float=parse_float
        )  # NaN and Infinity are numbers, as to Spark and to Arrow's parser
    except UnicodeDecodeError:
        raise Unfit("it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, json.JSONDecodeError) else "it lies too deep"
        raise Unfit(f"it is not JSON: {why}") from None


def _without_ids(values: Any) -> Any:
    """Without the zero byte and schema id in front: no JSON begins with a zero byte."""
    first = pc.binary_slice(values, 0, 1)
    marked = pc.equal(first, pa.scalar(b"\0"))
    if not pc.any(marked).as_py():
        return values
    return pc.if_else(marked, pc.binary_slice(values, PREFIX), values)


def _wire(kind: Any) -> Any:
    """The type that Arrow's parser reads and that casts to `kind`; None: leave it to the slow way."""
    types = pa.types
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_string(kind):
        return kind
    if types.is_struct(kind):
        fields = [(field.name, _wire(field.type)) for field in kind]
        if not fields or any(one is None for _, one in fields):
            return None
        return pa.struct([pa.field(name, one) for name, one in fields])
    if types.is_list(kind):
        item = _wire(kind.value_type)
        return None if item is None else pa.list_(pa.field("element", item))
    if types.is_timestamp(kind) and kind.tz is not None:
        return pa.string()
    return None
