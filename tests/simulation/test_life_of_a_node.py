"""The node core on the simulated disk: power cuts, kills, full and failing disks, transactions and zombies, from seeds.

TAPELOG_SEEDS sets how many (500 by default); a failing seed is named, and `python -m tapelog.sim --seed N --trace`
repeats it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tapelog.coordinators.transactions.marker import TxnMarker
from tapelog.log.producer_state import ProducerState
from tapelog.node.markers import LocalMarkers, PendingMarkers
from tapelog.server.handlers import produce_transactional
from tapelog.sim.workload import Life
from tapelog.wire.errors import ErrorCode

SEEDS = int(os.environ.get("TAPELOG_SEEDS", "500"))
CHUNK = 25
TRACE = "from tapelog.sim.workload import Life; print('\\n'.join(life.trace) if (life := Life({seed})).run() else '')"


@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_acknowledged_is_lost_repeated_or_reordered(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEEDS)):
        life = Life(seed)
        try:
            life.run()
        except AssertionError as broken:
            raise AssertionError(f"seed {seed}: {broken}; last events: {life.trace[-5:]}") from broken


def test_a_disk_that_only_claims_to_sync_is_found_out() -> None:
    caught = 0
    for seed in range(10):
        try:
            Life(seed, skip_syncs=True).run()
        except Exception:  # what is lost may be a record, the metadata, or the directory's own identity
            caught += 1
    assert caught >= 9


def test_the_faults_that_matter_do_happen() -> None:
    events: dict[str, int] = {}
    for seed in range(20):
        life = Life(seed)
        life.run()
        for name, count in life.events.items():
            events[name] = events.get(name, 0) + count
    for name in ("power cut", "kill", "clean stop", "the disk is almost full", "a sync will fail", "the disk failed"):
        assert events.get(name, 0) > 0, f"{name} never happened: {events}"
    for number in range(3):
        for what in ("begins", "crashes", "is replaced", "stalls", "is late"):
            assert events.get(f"payer-{number} {what}", 0) > 0, f"payer-{number} never {what}: {events}"


def test_every_way_in_which_a_transaction_can_end_is_lived_through() -> None:
    wanted = {(True, True), (False, False), (None, False), (None, True)}
    ends: dict[tuple[bool | None, bool], int] = {}
    for seed in range(100):
        life = Life(seed)
        life.run()
        for txn in life.payments.ledger:
            ends[txn.told, txn.asked] = ends.get((txn.told, txn.asked), 0) + 1
        if wanted <= ends.keys():
            return
    raise AssertionError(f"some transactions never ended so: {ends}")


def caught(seeds: int) -> int:
    """How many lives notice that something is wrong."""
    found = 0
    for seed in range(seeds):
        try:
            Life(seed).run()
        except AssertionError:
            found += 1
    return found


def test_a_marker_that_never_reached_its_partition_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    write, count = LocalMarkers._write_one, 0

    def lossy(self: LocalMarkers, marker: TxnMarker, key: tuple[str, int], pending: PendingMarkers, index: int) -> None:
        nonlocal count
        count += 1
        if count % 7 == 0:
            pending.tell(index, ErrorCode.NONE)
        else:
            write(self, marker, key, pending, index)

    monkeypatch.setattr(LocalMarkers, "_write_one", lossy)
    assert caught(6) >= 4


def test_a_batch_that_nobody_was_asked_about_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce_transactional, "_guard_for", lambda *_: None)
    assert caught(4) == 4


def test_showing_what_may_yet_be_lost_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProducerState, "first_unstable_offset", lambda self, _: self.first_open_offset())
    assert caught(13) >= 2


def test_a_seed_gives_the_same_trace_under_any_hash_seed() -> None:
    traces = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", TRACE.format(seed=11)]
        traces.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert traces[0] == traces[1]
    assert len(traces[0].splitlines()) > 50
