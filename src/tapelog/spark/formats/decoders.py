"""A decoder for each format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tapelog.spark.formats.errors import FormatError, SchemaError
from tapelog.spark.formats.text import TextDecoder
from tapelog.spark.plan.formats import Chosen, Registry
from tapelog.spark.registry.client import SchemaKey, client_of


class ColumnDecoder(Protocol):
    """Decodes one column, batch by batch."""

    kind: Any
    """The Arrow type that comes out."""

    def decode(self, values: Any, keys: Sequence[SchemaKey | None] | None = None) -> tuple[Any, dict[int, str]]:
        """The decoded array, and the reason for each row that is corrupt and null in it."""
        ...


def decoder_of(chosen: Chosen, registry: Registry | None) -> ColumnDecoder:
    """What decodes a column with this schema; FormatError if the schema cannot be used."""
    part = chosen.part
    lookup = client_of(registry).by_key if registry is not None and chosen.prefixed else None
    try:
        match part.format:
            case "avro":
                from tapelog.spark.formats.avro.growing import avro_decoder
                from tapelog.spark.formats.avro.schema import parse_avro

                reader = parse_avro(chosen.text, [one.text for one in chosen.references], chosen.message)
                return avro_decoder(reader, lookup)
            case "protobuf":
                from tapelog.spark.formats.protobuf.growing import protobuf_decoder

                return protobuf_decoder(chosen.text, chosen.references, chosen.message, lookup)
            case "json":
                if not chosen.text:
                    return TextDecoder()
                from tapelog.spark.formats.json.decoder import json_decoder

                return json_decoder(chosen.text, chosen.references)
            case _:
                return TextDecoder()
    except SchemaError as error:
        raise FormatError(
            f"The schema of the {part.column} cannot be used: {error}.",
            f"Check {part.column}Schema, {part.column}SchemaFile, or the subject in the registry.",
        ) from None
