"""Decoding in a task: Arrow batches with keys and values as bytes in, batches with keys and values as columns out.

Records that cannot be decoded stop the query, or are seen in a column of their own, or go to a dead-letter topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import pyarrow as pa

from tapelog.spark.decode.columns import schema_of
from tapelog.spark.formats.decoders import ColumnDecoder, decoder_of
from tapelog.spark.formats.errors import CorruptRecordError
from tapelog.spark.formats.headers import keys_in
from tapelog.spark.plan.formats import CORRUPT, Chosen, ReadFormats
from tapelog.spark.plan.options import ReadOptions
from tapelog.spark.plan.values import Range

CORRUPT_TYPE: Final = pa.struct(
    [pa.field("reason", pa.string()), pa.field("key", pa.binary()), pa.field("value", pa.binary())]
)
"""Of the column _corrupt: why, and the bytes of what could not be decoded; null for records that could."""


def decoded(options: ReadOptions, piece: Range, batches: Iterator[Any]) -> Iterator[Any]:
    """The same rows, decoded; CorruptRecordError, RegistryError, FormatError."""
    assert options.formats is not None
    decoding = Decoding(options.formats, options.chosen, options.columns, piece.topic, piece.partition)
    with ExitStack() as stack:
        if options.formats.dead_letter_topic is not None:
            from tapelog.spark.formats.dead_letters import DeadLetters

            decoding.letters = DeadLetters(options.connection, options.formats.dead_letter_topic, stack)
        for batch in batches:
            made = decoding.apply(batch)
            if made.num_rows:
                yield made


def types_of(chosen: tuple[Chosen, ...], formats: ReadFormats) -> dict[str, Any]:
    """The Arrow types of the columns that are decoded, and of `_corrupt` where it is asked for."""
    found = {one.part.column: decoder_of(one, formats.registry).kind for one in chosen}
    return found | ({CORRUPT: CORRUPT_TYPE} if formats.on_corrupt == "column" else {})


class Decoding:
    """What a task does to each batch of one partition."""

    def __init__(
        self, formats: ReadFormats, chosen: tuple[Chosen, ...], columns: tuple[str, ...], topic: str, partition: int
    ) -> None:
        self._formats = formats
        self._columns = columns
        self._topic = topic
        self._partition = partition
        self._decoders: list[tuple[str, ColumnDecoder]] = [
            (one.part.column, decoder_of(one, formats.registry)) for one in chosen if one.part.column in columns
        ]
        kinds: dict[str, Any] = {name: decoder.kind for name, decoder in self._decoders}
        fields = [pa.field(field.name, kinds.get(field.name, field.type)) for field in schema_of(columns)]
        if formats.on_corrupt == "column":
            fields.append(pa.field(CORRUPT, CORRUPT_TYPE))
        self._schema = pa.schema(fields)
        self.letters: Any = None
        """Where corrupt records go with onCorrupt=deadLetter."""

    def apply(self, batch: Any) -> Any:
        """One batch, decoded."""
        found: dict[str, Any] = {}
        bad: dict[int, dict[str, str]] = {}
        headers = batch.column("headers") if self._formats.ids_in_headers else None
        for name, decoder in self._decoders:
            keys = None if headers is None else keys_in(headers, name)
            found[name], wrong = decoder.decode(batch.column(name), keys)
            for row, reason in wrong.items():
                bad.setdefault(row, {})[name] = reason
        if bad and self._formats.on_corrupt == "fail":
            self._fail(batch, bad)
        arrays = [found[name] if name in found else batch.column(name) for name in self._columns]
        if self._formats.on_corrupt == "column":
            arrays.append(_corrupt(batch, bad))
        made = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if bad and self.letters is not None:
            self.letters.send(batch, self._topic, self._partition, bad)
            made = made.filter(pa.array([row not in bad for row in range(len(made))]))
        return made

    def _fail(self, batch: Any, bad: dict[int, dict[str, str]]) -> None:
        row = min(bad)
        column, reason = next(iter(bad[row].items()))
        raise CorruptRecordError(self._topic, self._partition, batch.column("offset")[row].as_py(), column, reason)


def _corrupt(batch: Any, bad: dict[int, dict[str, str]]) -> Any:
    if not bad:
        return pa.nulls(len(batch), CORRUPT_TYPE)
    rows: list[dict[str, Any] | None] = [None] * len(batch)
    for row, reasons in bad.items():
        rows[row] = {"reason": "; ".join(f"{name}: {reason}" for name, reason in reasons.items())} | {
            name: batch.column(name)[row].as_py() for name in reasons
        }
    return pa.array(rows, CORRUPT_TYPE)
