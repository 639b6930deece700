"""`cleaner-offset-checkpoint`: up to where logs are compacted. A log may only believe what was said of itself."""

from __future__ import annotations

from tapelog.base.timers import Timers
from tapelog.log.config import LogConfig
from tapelog.log.log import Log
from tapelog.log.manager import LogDirectory, NewLog
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.record_batch import Record, build_batch

PATH, KEY = "/data", ("tables", 0)
FILE = f"{PATH}/cleaner-offset-checkpoint"


class Place:
    """A log directory with one log of ten records."""

    def __init__(self) -> None:
        self.clock, self.chance = SimClock(), SimEntropy(1)
        self.timers = Timers(self.clock)
        self.disk = SimDisk(self.chance.fork(), self.timers)
        self.directory = self.open()
        self.log = self.create()

    def open(self) -> LogDirectory:
        return LogDirectory.open(
            self.disk, PATH, clock=self.clock, entropy=self.chance, cluster_id="simulated-cluster-id00", node_id=1
        )

    def create(self) -> Log:
        (log,) = self.directory.create_many([NewLog(*KEY, b"\x07" * 16, LogConfig({"cleanup.policy": "compact"}))])
        for number in range(10):
            batch = build_batch([Record(0, 1, b"k", b"%d" % number)])
            log.append(batch, 0, len(batch), 0)
        log.write()
        log.flush()
        return log

    def restart(self) -> None:
        self.disk = self.disk.crash(self.timers)
        self.directory = self.open()

    def let_jobs_end(self) -> None:
        while (due_ms := self.timers.next_due_ms()) is not None:
            self.clock.advance(max(0, due_ms - self.clock.monotonic_ms()))
            self.timers.run_due()


def test_it_survives_a_power_cut_once_a_checkpoint_was_written() -> None:
    place = Place()
    place.directory.cleaned_offsets[KEY] = 7
    assert place.directory.cleaned_offsets_moved()
    place.directory.start_checkpoint({}, lambda failure: None)
    place.let_jobs_end()
    assert not place.directory.cleaned_offsets_moved()
    assert place.disk.read_file(FILE) == b"0\n1\ntables 0 7\n"
    place.restart()
    assert place.directory.cleaned_offsets == {KEY: 7}
    assert not place.directory.cleaned_offsets_moved()


def test_a_log_made_anew_under_the_same_name_does_not_inherit_it() -> None:
    place = Place()
    place.directory.cleaned_offsets[KEY] = 7
    place.directory.write_checkpoints({})
    place.directory.delete(*KEY)
    place.create()
    place.restart()
    assert place.directory.cleaned_offsets == {}


def test_a_log_deleted_while_a_checkpoint_is_under_way_leaves_none_behind() -> None:
    place = Place()
    place.directory.cleaned_offsets[KEY] = 7
    place.directory.start_checkpoint({}, lambda failure: None)
    while not place.disk.exists(FILE):
        place.clock.advance(1)
        place.timers.run_due()
        if (
            KEY in place.directory.logs
            and place.directory._round is not None
            and place.directory._round.cleaned_offsets
        ):
            place.directory.delete(*KEY)
    place.let_jobs_end()
    assert place.disk.read_file(FILE) == b"0\n0\n"


def test_what_is_said_of_a_log_that_is_gone_is_forgotten_at_a_start() -> None:
    place = Place()
    place.directory.cleaned_offsets[KEY] = 7
    place.directory.write_checkpoints({})
    place.disk.remove_tree(f"{PATH}/tables-0")
    place.disk.sync_dir(PATH)
    place.restart()
    assert place.directory.cleaned_offsets == {}
    assert place.disk.read_file(FILE) == b"0\n0\n"


def test_a_truncation_lowers_it_before_anything_is_cut() -> None:
    place = Place()
    place.directory.cleaned_offsets[KEY] = 7
    place.directory.write_checkpoints({})
    place.directory.truncate(place.log, 4, lambda: None)
    place.restart()
    assert place.directory.cleaned_offsets == {KEY: 4}


def test_a_truncation_above_it_leaves_it_alone() -> None:
    place = Place()
    place.directory.cleaned_offsets[KEY] = 3
    place.directory.write_checkpoints({})
    place.directory.truncate(place.log, 4, lambda: None)
    assert place.directory.cleaned_offsets == {KEY: 3}


def test_what_is_said_of_more_than_is_there_is_not_believed() -> None:
    place = Place()
    place.directory.cleaned_offsets[KEY] = 11
    place.directory.write_checkpoints({})
    place.restart()
    place.directory.open_log(*KEY, LogConfig({"cleanup.policy": "compact"}))
    assert place.directory.cleaned_offsets == {}


def test_a_damaged_file_counts_as_absent() -> None:
    place = Place()
    place.disk.replace_file(FILE, b"0\n2\ntables 0 7\n")
    place.restart()
    assert place.directory.cleaned_offsets == {}
