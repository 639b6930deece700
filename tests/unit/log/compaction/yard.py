"""A log to clean, on a simulated disk: what the tests of this room share."""

from __future__ import annotations

from tapelog.log.compaction.cleaning import Cleaned, Cleaning, job_of
from tapelog.log.compaction.keymap import SLOT_BYTES, KeyMap
from tapelog.log.compaction.plan import Bounds, CleaningPlan, plan, sources
from tapelog.log.compaction.swap import install
from tapelog.wire.record_batch import BatchHeader, Record, batches, build_batch, iterate
from tests.unit.log.bench import DIRECTORY, Bench

SETTINGS = {"min.cleanable.dirty.ratio": "0", "delete.retention.ms": "1000", "segment.bytes": "100000"}


class Yard(Bench):
    """A log to clean."""

    def __init__(self, **settings: str) -> None:
        super().__init__({**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}})
        self.keys = KeyMap(1000 * SLOT_BYTES)
        self.cleaned_to: int | None = None

    def put(self, *pairs: tuple[bytes | None, bytes | None], codec: int = 0, **header: int) -> None:
        """One batch; its records a millisecond apart."""
        stamp = self.clock.wall_ms()
        records = [Record(0, stamp + number, key, value) for number, (key, value) in enumerate(pairs)]
        self.append(build_batch(records, compression=codec, **header))  # type: ignore[arg-type]

    def planned(self) -> CleaningPlan | None:
        """What may be cleaned now, all that is written being durable."""
        self.log.flush()
        end = self.log.written_end
        stable = self.log.last_stable_offset(end)
        bounds = Bounds(self.log.start_offset, end, stable, end)
        return plan(sources(self.log, brief=True), self.config, bounds, self.cleaned_to, self.clock.wall_ms())

    def begin(self) -> Cleaning:
        """A cleaning of everything before a new active segment."""
        self.log.roll()
        found = self.planned()
        assert found is not None
        return Cleaning(self.disk, job_of(self.log, found), self.config, self.keys, self.clock.wall_ms())

    def clean(self) -> Cleaning:
        """Such a cleaning, done and in place."""
        cleaning = self.begin()
        while not cleaning.finished:
            for cleaned in cleaning.step():
                install(self.log, cleaned)
        self.cleaned_to = cleaning.end_offset
        self.log.invariants()
        return cleaning

    def headers(self) -> list[BatchHeader]:
        """Of all batches before the active segment."""
        data = b"".join(segment.file().read(0, segment.size) for segment in self.log.segments.items[:-1])
        return list(batches(data, 0, len(data)))

    def left(self) -> list[tuple[int, bytes | None, bytes | None]]:
        """Offset, key and value of all records before the active segment."""
        data = b"".join(segment.file().read(0, segment.size) for segment in self.log.segments.items[:-1])
        return [(record.offset, record.key, record.value) for record in iterate(data, 0, len(data))]

    def files(self, *suffixes: str) -> list[str]:
        """Names of the log's files that end so."""
        return [name for name in self.disk.listdir(DIRECTORY) if name.endswith(suffixes)]


def one_group(yard: Yard) -> Cleaned:
    """The only group of a cleaning, not yet in place."""
    cleaning, done = yard.begin(), []
    while not cleaning.finished:
        done.extend(cleaning.step())
    (group,) = done
    return group
