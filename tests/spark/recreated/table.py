"""The cases of the matrix, and the table that is made of their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.spark.recreated.cases import Outcome

SOURCES: Final = ("kafka", "tapelog")
WORSE: Final = "WORSE"
BRIEF: Final = {
    "kafka.max.block.ms": "20000",
    "kafka.request.timeout.ms": "10000",
    "kafka.delivery.timeout.ms": "40000",
}
"""So that the connector's writer ends within the time of a case."""


@dataclass(frozen=True)
class Case:
    """What is run: a function of `cases`, how many partitions there were and are, and how many new records."""

    name: str
    run: str
    loss: str = ""
    """failOnDataLoss."""
    before: int = 2
    after: int = 2
    count: int = 100
    delivery: str = ""
    more: tuple[tuple[str, Any], ...] = field(default=())

    def options_of(self, source: str) -> dict[str, Any] | None:
        """What the source is told; None: the case is not for it."""
        if self.run != "write":
            return {"failOnDataLoss": self.loss}
        if source == "kafka":
            return None if self.delivery == "exactlyOnce" else dict(BRIEF)
        return {"delivery": self.delivery}


def _cases() -> tuple[Case, ...]:
    made: list[Case] = []
    for loss in ("true", "false"):
        made += [
            Case("batch", "batch", loss),
            Case("new stream", "new_stream", loss),
            Case("restarted, 60 new records", "restarted", loss, count=60),
            Case("restarted, 1 partition of 2, 30 new", "restarted", loss, after=1, count=30),
            Case("restarted, 300 new records", "restarted", loss, count=300),
            Case("running, 60 new records", "running", loss, count=60),
            Case("running, 100 new records", "running", loss, count=100),
            Case("running, 300 new records", "running", loss, count=300),
        ]
    for delivery in ("atLeastOnce", "exactlyOnce"):
        made += [
            Case(f"write {delivery}, 4 to 2 partitions", "write", before=4, after=2, delivery=delivery),
            Case(f"write {delivery}, 2 to 4 partitions", "write", before=2, after=4, delivery=delivery),
        ]
    return tuple(made)


CASES: Final = _cases()


def verdict(connector: Outcome | None, ours: Outcome | None) -> str:
    """How ours compares: every row, or an error, is better than rows that are passed over."""
    if connector is None or ours is None:
        return "–"
    ranks = [_rank(connector), _rank(ours)]
    if ranks[0] == ranks[1]:
        return "same" if connector.got == ours.got or ours.error else WORSE if ours.got < connector.got else "safer"
    return "safer" if ranks[1] < ranks[0] else WORSE


def _rank(one: Outcome) -> int:
    if one.got == one.wanted and not (one.twice or one.misplaced or one.error):
        return 0
    return 1 if one.error else 2


def table(broker: str, outcomes: Mapping[Case, Mapping[str, Outcome]]) -> str:
    """As Markdown."""
    lines = [f"### {broker}", "", "| case | failOnDataLoss | connector | tapelog | |", "|---|---|---|---|---|"]
    for case, found in outcomes.items():
        told = [str(found.get(source, "–")).replace("|", "/") for source in SOURCES]
        judged = verdict(*(found.get(source) for source in SOURCES))
        lines.append(f"| {case.name} | {case.loss or '–'} | {' | '.join(told)} | {judged} |")
    return "\n".join(lines)
