"""The steps of the write protocol, performed on a cluster: what the driver and the tasks have in common."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, TypeVar, assert_never

from tapelog.client.cluster import Cluster
from tapelog.client.errors import RefusedError
from tapelog.client.groups import committed_in
from tapelog.client.settings import ConnectionSettings
from tapelog.client.transactions import end_transactions, init_transactional, ongoing
from tapelog.spark.plan.write_protocol import (
    Begin,
    CountRows,
    End,
    FindOpen,
    ReadMarkers,
    Step,
    Take,
    WriteMarker,
    WriteRows,
)
from tapelog.spark.plan.write_values import Marker
from tapelog.wire.errors import ErrorCode

R = TypeVar("R")

_NOT_OFFERED: Final = frozenset({ErrorCode.UNSUPPORTED_VERSION, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED})
_OFFERED: Final[dict[ConnectionSettings, bool]] = {}
"""Clusters of this process that were asked whether they have two-phase commit."""


def drive(steps: Generator[Step, Any, R], perform: Callable[[Step], Any]) -> R:
    """Perform one step after the other; what the steps return."""
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as over:
            result: R = over.value
            return result
        answer = perform(step)


class Asking:
    """Performs what needs no rows: taking ids, reading markers, ending transactions."""

    def __init__(self, cluster: Cluster, timeout_ms: int, two_phase: bool) -> None:
        self.cluster = cluster
        self.timeout_ms = timeout_ms
        self.two_phase = two_phase

    def __call__(self, step: Step) -> Any:
        """The answer to one step."""
        match step:
            case Take(ids):
                init_transactional(self.cluster, ids, timeout_ms=self.timeout_ms, two_phase=self.two_phase)
                return None
            case ReadMarkers(ids, settled):
                return read_markers(self.cluster, ids, settled=settled)
            case End(transactions, commit):
                failed = end_transactions(self.cluster, transactions, commit=commit)
                return {transaction: error.what for transaction, error in failed.items()}
            case FindOpen(ids):
                return ongoing(self.cluster, ids)
            case Begin() | WriteRows() | CountRows() | WriteMarker():
                raise AssertionError(f"the driver has no rows: {step}")
            case _:
                assert_never(step)


def read_markers(cluster: Cluster, ids: Sequence[str], *, settled: bool) -> dict[str, Marker]:
    """The marker in the group of each id, where there is one."""
    found: dict[str, Marker] = {}
    for name, told in committed_in(cluster, ids, require_stable=settled).items():
        last = max(told.values(), key=lambda one: one.offset, default=None)
        marker = None if last is None else Marker.read(last.offset, last.metadata)
        if marker is not None:
            found[name] = marker
    return found


def two_phase_offered(cluster: Cluster, name: str, asked: bool | None) -> bool:
    """Whether transactions of this cluster shall not time out: as asked, or, if nothing was, where that is offered.

    To find out, the id is taken, which its owner does anyway.
    """
    if asked is not None:
        return asked
    known = _OFFERED.get(cluster.settings)
    if known is None:
        try:
            init_transactional(cluster, [name], two_phase=True)
            known = True
        except RefusedError as error:
            if error.code not in _NOT_OFFERED:
                raise
            known = False
        _OFFERED[cluster.settings] = known
    return known
