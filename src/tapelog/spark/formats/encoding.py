"""Encoding for the sink: columns of any type in, bytes out, with a schema id where there is a registry.

    encoding = prepare(formats, schema, topic)    # driver: asks the registry, once
    encode = encoding.encoder()                    # task
    batch = encode(batch)                          # key and value are binary now

Where rows name their topic and the subject depends on it, the registry is asked by the tasks, once per topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tapelog.spark.formats.columns import Corrupt
from tapelog.spark.formats.encoders import Prepared, prepared_part, writer_of
from tapelog.spark.formats.errors import FormatError
from tapelog.spark.plan.formats import Part, WriteFormats


@dataclass(frozen=True, slots=True)
class Encoding:
    """What is pickled to the tasks."""

    formats: WriteFormats
    kinds: tuple[Any, ...]
    """The Arrow types of the columns that are encoded."""
    prepared: tuple[Prepared | None, ...]
    """None: it depends on the topic of a row."""

    def encoder(self) -> Callable[[Any], Any]:
        """What encodes a batch; for one task, since it keeps what it learns."""
        return _Encoder(self)


def prepare(formats: WriteFormats, schema: Any, topic: str | None) -> Encoding:
    """What encodes rows of this Arrow schema; `topic`: None where rows name their own. FormatError, RegistryError."""
    kinds: list[Any] = []
    prepared: list[Prepared | None] = []
    for part in formats.parts:
        at = schema.get_field_index(part.column)
        if at < 0:
            raise FormatError(f"There is no column {part.column} to encode.", f"Leave {part.column}Format out.")
        kind = schema.field(at).type
        kinds.append(kind)
        if topic is None and _by_topic(part, formats):
            prepared.append(None)
            continue
        made = prepared_part(part, formats, kind, topic)
        writer_of(made, kind)  # what does not fit is told here
        prepared.append(made)
    return Encoding(formats, tuple(kinds), tuple(prepared))


def _by_topic(part: Part, formats: WriteFormats) -> bool:
    return (
        formats.registry is not None
        and part.format in ("avro", "protobuf", "json")
        and part.subject is None
        and part.schema_id is None
        and part.strategy != "record"
    )


class _Encoder:
    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._writers: dict[tuple[str, str], Callable[[Any], Any]] = {}

    def __call__(self, batch: Any) -> Any:
        arrays, fields = list(batch.columns), list(batch.schema)
        for part, kind, prepared in zip(
            self._encoding.formats.parts, self._encoding.kinds, self._encoding.prepared, strict=True
        ):
            at = batch.schema.get_field_index(part.column)
            if prepared is None:
                arrays[at] = self._by_topic(batch, part, kind, arrays[at])
            else:
                arrays[at] = self._writer(part, kind, "", prepared)(arrays[at])
            fields[at] = pa.field(part.column, pa.binary())
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _by_topic(self, batch: Any, part: Part, kind: Any, array: Any) -> Any:
        topics = batch.column(batch.schema.get_field_index("topic")).to_pylist()
        found: list[bytes | None] = [None] * len(topics)
        for topic in dict.fromkeys(topics):
            if topic is None:
                continue
            rows = [row for row, one in enumerate(topics) if one == topic]
            writer = self._writer(part, kind, topic, None)
            for row, data in zip(rows, writer(array.take(pa.array(rows, pa.int64()))).to_pylist(), strict=True):
                found[row] = data
        return pa.array(found, pa.binary())

    def _writer(self, part: Part, kind: Any, topic: str, prepared: Prepared | None) -> Callable[[Any], Any]:
        found = self._writers.get((part.column, topic))
        if found is None:
            made = prepared or prepared_part(part, self._encoding.formats, kind, topic)
            writer = writer_of(made, kind)

            def found(array: Any) -> Any:
                try:
                    return writer(array)
                except Corrupt as error:
                    raise FormatError(
                        f"A row cannot be written as {part.format}: {error}.",
                        f"Mend the column {part.column}, or the schema by which it is written.",
                    ) from None

            self._writers[part.column, topic] = found
        return found
