"""The commit as a machine: random lives of several drivers on a model table, killed anywhere; each batch comes once."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from tapelog.spark.lake.protocol import CONFLICTS_MAX, Batch, Step, doomed
from tapelog.spark.lake.values import DataFile, Marker

BATCHES = 4


@dataclass
class Model:
    """A table, its storage, and who announced what."""

    version: int = 0
    marker: Marker | None = None
    table: list[str] = field(default_factory=list)
    """Files in it: their rows are their batch."""
    storage: dict[str, int] = field(default_factory=dict)
    intents: list[tuple[int, str]] = field(default_factory=list)


class Driver:
    """One process that works through batches, and may stop for ever after any step."""

    def __init__(self, model: Model, name: int, first: int) -> None:
        self.model, self.name = model, name
        self.at, self.seen = first, -1
        self.batch = Batch(first, f"{name}.{first}")

    def done(self) -> bool:
        return self.at >= BATCHES

    def turn(self) -> None:
        model, batch = self.model, self.batch
        match batch.step:
            case Step.LOOK | Step.LOOK_AGAIN:
                self.seen = model.version
                batch.looked(model.marker)
            case Step.ANNOUNCE:
                model.intents.append((batch.version, batch.attempt))
                batch.announced()
            case Step.WRITE:
                path = f"{batch.attempt}.parquet"
                model.storage[path] = batch.version
                batch.written((DataFile(path, None, 1, 1),))
            case Step.COMMIT:
                if model.version == self.seen:
                    model.version += 1
                    model.marker = Marker(batch.version, batch.attempt)
                    model.table += [file.path for file in batch.files]
                    batch.committed()
                else:
                    batch.conflicted()
            case Step.SWEEP:
                files, forgotten = doomed(list(model.intents), batch)
                for _, attempt in files:
                    model.storage.pop(f"{attempt}.parquet", None)
                gone = [*files, *forgotten]
                model.intents = [each for each in model.intents if each not in gone]
                batch.swept()
            case Step.DONE:
                self.at += 1
                self.batch = Batch(self.at, f"{self.name}.{self.at}")


def check(model: Model) -> None:
    """What must hold after every step."""
    rows = [model.storage.get(path) for path in model.table]
    assert None not in rows, "a file of the table is gone"
    assert rows == sorted({row for row in rows if row is not None}), "a batch is there twice"


@pytest.mark.parametrize("seed", range(0, 300, 50))
def test_whoever_dies_or_comes_back_each_batch_is_in_the_table_once(seed: int) -> None:
    for each in range(seed, seed + 50):
        live(each)


def live(seed: int) -> None:
    """A life: drivers begin, take turns, die."""
    chance = random.Random(seed)
    model = Model()
    drivers = [Driver(model, 0, 0)]
    started = 1
    for _ in range(400):
        alive = [driver for driver in drivers if not driver.done()]
        if not alive:
            break
        if started < 6 and chance.random() < 0.05:
            # a new driver begins where Spark's checkpoint is: at a batch that is done, or the next; old ones live on
            committed = -1 if model.marker is None else model.marker.version
            first = min(driver.at for driver in drivers) if chance.random() < 0.5 else max(committed, 0)
            drivers.append(Driver(model, started, first))
            started += 1
        elif len(alive) > 1 and chance.random() < 0.02:
            drivers.remove(alive[0])  # killed for good
            continue
        chance.choice(alive).turn()
        check(model)
    while any(not driver.done() for driver in drivers):
        next(driver for driver in drivers if not driver.done()).turn()
        check(model)
    assert [model.storage[path] for path in model.table] == list(range(BATCHES))


def test_a_commit_whose_answer_was_lost_counts_as_done() -> None:
    batch = Batch(3, "mine", Step.COMMIT, (DataFile("f", None, 1, 1),))
    assert batch.conflicted()
    batch.looked(Marker(3, "mine"))
    assert batch.step is Step.SWEEP and not batch.skipped
    assert doomed([(3, "mine")], batch) == ([], [(3, "mine")])


def test_a_batch_without_rows_commits_nothing() -> None:
    batch = Batch(0, "mine", Step.WRITE)
    batch.written(())
    assert batch.step is Step.SWEEP
    assert doomed([(0, "mine"), (1, "younger")], batch) == ([(0, "mine")], [])


def test_an_attempt_at_a_younger_batch_is_never_swept() -> None:
    batch = Batch(3, "mine", Step.SWEEP, (DataFile("f", None, 1, 1),), Marker(3, "mine"))
    intents = [(2, "dead"), (3, "mine"), (3, "dead too"), (4, "may be alive")]
    assert doomed(intents, batch) == ([(2, "dead"), (3, "dead too")], [(3, "mine")])


def test_a_driver_that_loses_every_race_gives_up() -> None:
    batch = Batch(0, "mine", Step.COMMIT)
    for _ in range(CONFLICTS_MAX):
        assert batch.conflicted()
        batch.looked(None)
    assert not batch.conflicted()


def test_steps_out_of_order_are_refused() -> None:
    with pytest.raises(AssertionError, match="LOOK does not lead to DONE"):
        Batch(0, "mine").swept()
