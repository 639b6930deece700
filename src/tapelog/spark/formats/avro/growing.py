"""Avro, as formats/trees wants it: the reader's schema, its columns, and a tree for each writer's schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapelog.spark.formats.avro.resolve import Resolver
from tapelog.spark.formats.avro.schema import Schema, parse_avro
from tapelog.spark.formats.avro.types import arrow_type
from tapelog.spark.formats.columns import Column, Corrupt
from tapelog.spark.formats.errors import SchemaError
from tapelog.spark.formats.run import Node
from tapelog.spark.formats.trees import TreeDecoder
from tapelog.spark.registry.client import Registered, SchemaKey


class AvroGrower:
    """Trees for one reader's schema."""

    def __init__(self, reader: Schema, column: Column) -> None:
        self._reader = reader
        self._resolver = Resolver(reader, column)
        self.constants = self._resolver.constants

    def tree(self, writer: Registered | None, prefixed: bool) -> Node:
        """What reads values by this writer's schema; Corrupt if it cannot be resolved."""
        try:
            if writer is None:
                return self._resolver.tree(self._reader)
            if writer.format != "avro":
                raise SchemaError(f"schema {writer.id} is {writer.format}, not avro")
            return self._resolver.tree(parse_avro(writer.text, [one.text for one in writer.references]))
        except SchemaError as error:
            number = "" if writer is None else f" {writer.id}"
            raise Corrupt(f"the writer's schema{number} cannot be read by ours: {error}") from None

    def reset(self) -> None:
        """Set back what counts how deep it is."""
        for node in self._resolver.resets:
            node.depth = 0


def avro_decoder(reader: Schema, lookup: Callable[[SchemaKey], Registered | None] | None) -> TreeDecoder:
    """A decoder into this schema; SchemaError where Spark cannot show it."""
    kind: Any = arrow_type(reader)
    return TreeDecoder(kind, lambda column: AvroGrower(reader, column), lookup)
