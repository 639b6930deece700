"""What a replay sends, in which order and how fast: fixed before the first row is sent, so that a repetition sends
the same.

No Spark and no clock here: the time comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tapelog.spark.lake.reading import Piece, pieces_from_json, pieces_to_json
from tapelog.spark.lake.values import DataFile

CHUNK_ROWS: Final = 500_000
"""Rows of one transaction without a rate."""
CHUNK_SECONDS: Final = 5
"""With a rate a chunk is what may be sent in this time: shorter is smoother, and costs more transactions."""
CHUNK_ROWS_MIN: Final = 100

Chunk = tuple[tuple[Piece, ...], ...]
"""What each task sends."""


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """A replay: its name in the topic's markers, and its chunks, numbered from 0."""

    app: str
    source: str
    schema: str
    chunks: tuple[Chunk, ...]
    rows: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "app": self.app,
            "source": self.source,
            "schema": self.schema,
            "chunks": [[pieces_to_json(task) for task in chunk] for chunk in self.chunks],
            "rows": list(self.rows),
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> ReplayPlan:
        """And back."""
        chunks = tuple(tuple(pieces_from_json(task) for task in chunk) for chunk in given["chunks"])
        return cls(given["app"], given["source"], given["schema"], chunks, tuple(given["rows"]))


def chunk_rows(rows_per_second: float | None) -> int:
    """How many rows go into one transaction."""
    return CHUNK_ROWS if rows_per_second is None else max(CHUNK_ROWS_MIN, int(rows_per_second * CHUNK_SECONDS))


def cut(files: Iterable[DataFile], rows_max: int, tasks: int) -> list[tuple[Chunk, int]]:
    """Files, in this order, as chunks of at most so many rows, each shared among so many tasks; and the rows of
    each."""
    chunks: list[tuple[Chunk, int]] = []
    taken: list[tuple[Piece, int]] = []
    room = rows_max
    for file in files:
        first = 0
        while first < file.rows:
            size = min(room, file.rows - first)
            taken.append((Piece(file.path, first, first + size), size))
            first, room = first + size, room - size
            if room == 0:
                chunks.append(_shared(taken, tasks))
                taken, room = [], rows_max
    if taken:
        chunks.append(_shared(taken, tasks))
    return chunks


def _shared(pieces: list[tuple[Piece, int]], tasks: int) -> tuple[Chunk, int]:
    """Consecutive rows for each task, about equally many; always the same number of tasks, some may have nothing."""
    total = sum(size for _, size in pieces)
    each = -(-total // tasks)
    shares: list[list[Piece]] = [[] for _ in range(tasks)]
    sent = 0
    for piece, size in pieces:
        first = piece.first
        while size:
            task = min(sent // each, tasks - 1)
            part = min(size, each * (task + 1) - sent)
            shares[task].append(Piece(piece.path, first, first + part))
            first, size, sent = first + part, size - part, sent + part
    return tuple(tuple(share) for share in shares), total


def wait_s(sent: int, begun_s: float, now_s: float, rows_per_second: float | None) -> float:
    """How long to wait after so many rows, so that no more than the rate is sent since the beginning."""
    if rows_per_second is None:
        return 0.0
    return max(0.0, begun_s + sent / rows_per_second - now_s)
