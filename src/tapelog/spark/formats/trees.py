"""Decoding a column of bytes by trees: Avro and Protobuf alike.

The fast way reads all values of a batch one after the other. If one of them turns out to be corrupt, the batch is read
again, slowly: each value on its own, and what a corrupt one has written is taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import pyarrow as pa

from tapelog.spark.formats.arrays import Spoilt, array_of, column_of
from tapelog.spark.formats.columns import Column, Corrupt
from tapelog.spark.formats.run import NO_PREFIX, Constants, Node, id_at, run
from tapelog.spark.registry.client import Registered, SchemaKey

TREES_MAX: Final = 1000
"""Trees of writers' schemas that are kept."""
NO_ID: Final = "it does not begin with a zero byte and a schema id: was it written without a registry?"


class Grower(Protocol):
    """What a format brings: columns, and trees that fill them."""

    constants: Constants

    def tree(self, writer: Registered | None, prefixed: bool) -> Node:
        """What reads values by this writer's schema, None: by the reader's own; Corrupt if they do not go together."""
        ...

    def reset(self) -> None:
        """After an error: forget what was under way."""
        ...


class TreeDecoder:
    """Decodes one column, batch by batch."""

    def __init__(
        self,
        kind: Any,
        grow: Callable[[Column], Grower],
        lookup: Callable[[SchemaKey], Registered | None] | None,
    ) -> None:
        """`lookup` finds writers' schemas by id; None: values carry no id, and are written by the reader's schema."""
        self.kind = kind
        self._column = column_of(kind)
        self._grower = grow(self._column)
        self._lookup = lookup
        self._trees: dict[tuple[SchemaKey, bool], Node | Corrupt] = {}

    def decode(self, values: Any, keys: Sequence[SchemaKey | None] | None = None) -> tuple[Any, dict[int, str]]:
        """The array, and for each row that is corrupt, and null in the array, the reason.

        `keys`: schema ids that came with the rows by other ways than in the value; None in it: look into the value.
        """
        buf, bounds, valid = _bytes_of(values)
        try:
            try:
                self._fast(buf, bounds, valid, len(values), keys)
                return self._array(buf), {}
            except (Corrupt, Spoilt):
                self._column.clear()
                self._column.check(True)
                bad = self._slow(buf, bounds, valid, len(values), keys)
                return self._array(buf), bad
        finally:
            self._column.clear()
            self._column.check(False)
            self._grower.reset()

    def _array(self, buf: bytes) -> Any:
        return array_of(self._column, self.kind, [pa.py_buffer(buf), pa.py_buffer(self._grower.constants.data)])

    def _fast(
        self, buf: bytes, bounds: bytes, valid: bytes, count: int, keys: Sequence[SchemaKey | None] | None
    ) -> None:
        row = 0
        while row < count:
            if valid and not valid[row]:
                self._column.add_null()
                row += 1
                continue
            tree, schema = self._tree_at(buf, bounds, row, keys)
            stop = count if keys is None else row + 1
            row = int(run(self._column, tree, buf, bounds, valid, row, stop, schema))

    def _slow(
        self, buf: bytes, bounds: bytes, valid: bytes, count: int, keys: Sequence[SchemaKey | None] | None
    ) -> dict[int, str]:
        bad: dict[int, str] = {}
        column = self._column
        for row in range(count):
            if valid and not valid[row]:
                column.add_null()
                continue
            column.mark()
            try:
                tree, schema = self._tree_at(buf, bounds, row, keys)
                run(column, tree, buf, bounds, valid, row, row + 1, schema)
            except Corrupt as error:
                column.rollback()
                self._grower.reset()
                column.add_null()
                bad[row] = str(error)
        return bad

    def _tree_at(
        self, buf: bytes, bounds: bytes, row: int, keys: Sequence[SchemaKey | None] | None
    ) -> tuple[Node, int]:
        if self._lookup is None:
            return self._tree(-1, prefixed=False), NO_PREFIX
        key = keys[row] if keys is not None else None
        if key is not None:
            return self._tree(key, prefixed=False), NO_PREFIX
        number = int(id_at(buf, bounds, row))
        if number < 0:
            raise Corrupt(NO_ID)
        return self._tree(number, prefixed=True), number

    def _tree(self, key: SchemaKey, *, prefixed: bool) -> Node:
        found = self._trees.get((key, prefixed))
        if found is None:
            try:
                found = self._made(key, prefixed)
            except Corrupt as error:
                found = error
            while len(self._trees) >= TREES_MAX:
                del self._trees[next(iter(self._trees))]
            self._trees[key, prefixed] = found
        if isinstance(found, Corrupt):
            raise Corrupt(str(found))
        return found

    def _made(self, key: SchemaKey, prefixed: bool) -> Node:
        if self._lookup is None:
            return self._grower.tree(None, prefixed)
        writer = self._lookup(key)
        if writer is None:
            raise Corrupt(f"the registry has no schema {key}")
        return self._grower.tree(writer, prefixed)


def _bytes_of(values: Any) -> tuple[bytes, bytes, bytes]:
    """The bytes of a binary array, where each value begins and the last ends (i32), and which are not null."""
    count = len(values)
    _, offsets, data = values.buffers()
    if count == 0:
        return b"", bytes(4), b""
    if values.offset or int.from_bytes(offsets[:4].to_pybytes(), "little"):
        values = pa.array(values.to_pylist(), pa.binary())
        _, offsets, data = values.buffers()
    bounds = offsets.slice(0, 4 * (count + 1)).to_pybytes()
    end = int.from_bytes(bounds[-4:], "little")
    buf = data.slice(0, end).to_pybytes() if data is not None and end else b""
    valid = b""
    if values.null_count:
        valid = values.is_valid().cast(pa.uint8()).buffers()[1].to_pybytes()[:count]
    return buf, bounds, valid
