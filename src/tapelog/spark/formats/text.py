"""Text: UTF-8 as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tapelog.spark.registry.client import SchemaKey

NOT_UTF8 = "it is not UTF-8"


class TextDecoder:
    """Bytes as strings."""

    kind = pa.string()

    def decode(self, values: Any, keys: Sequence[SchemaKey | None] | None = None) -> tuple[Any, dict[int, str]]:
        """The strings; what is not UTF-8 is corrupt."""
        try:
            return values.cast(pa.string()), {}
        except pa.ArrowInvalid:
            return self._one_by_one(values.to_pylist())

    def _one_by_one(self, values: list[bytes | None]) -> tuple[Any, dict[int, str]]:
        texts: list[str | None] = []
        bad: dict[int, str] = {}
        for row, value in enumerate(values):
            try:
                texts.append(None if value is None else value.decode())
            except UnicodeDecodeError:
                texts.append(None)
                bad[row] = NOT_UTF8
        return pa.array(texts, pa.string()), bad
