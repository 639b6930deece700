"""A log on a simulated disk, and batches to put into it: what the tests of this room share."""

from __future__ import annotations

from tapelog.log.config import LogConfig
from tapelog.log.log import CLIENT, COORDINATOR, Appended, Log
from tapelog.sim.clock import SimClock
from tapelog.sim.disk import SimDisk
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.record_batch import Record, build_batch, iterate

DIRECTORY = "/data/orders-0"


class Bench:
    """One log and everything around it."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.clock = SimClock()
        self.disk = SimDisk(SimEntropy(1))
        self.config = LogConfig(settings)
        self.log = self.open()
        self.disk.sync_all()  # as LogDirectory.create_many does

    def open(self, recovery_point: int = 0, *, clean: bool = False, start_offset: int = 0) -> Log:
        """Open the log (again); it replaces the one before."""
        self.log = Log.open(
            self.disk,
            DIRECTORY,
            topic="orders",
            partition=0,
            config=self.config,
            clock=self.clock,
            recovery_point=recovery_point,
            start_offset=start_offset,
            clean=clean,
            topic_id=b"\x01" * 16,
        )
        return self.log

    def reconfigure(self, settings: dict[str, str]) -> None:
        """Change the topic's configuration."""
        self.config = LogConfig(settings)
        self.log.update_config(self.config)

    def batch(
        self, *values: bytes, key: bytes | None = b"key", at_ms: int | None = None, compression: int = 0
    ) -> bytes:
        """A producer's batch with one record per value."""
        stamp = self.clock.wall_ms() if at_ms is None else at_ms
        return build_batch([Record(0, stamp, key, value) for value in values], compression=compression)

    def idempotent(
        self, sequence: int, count: int = 1, *, producer_id: int = 7, epoch: int = 0, transactional: bool = False
    ) -> bytes:
        """A batch of an idempotent producer."""
        records = [Record(0, self.clock.wall_ms(), b"key", b"value") for _ in range(count)]
        return build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )

    def append(self, batch: bytes, *, epoch: int = 0, origin: int = CLIENT, write: bool = True) -> Appended:
        """Append one batch, from the middle of a larger buffer, as handlers do."""
        appended = self.log.append(b"head" + batch + b"tail", 4, 4 + len(batch), epoch, origin)
        if write:
            self.log.write()
        return appended

    def fill(self, count: int, value: bytes = b"v" * 30) -> None:
        """That many batches of one record each, a millisecond apart."""
        for _ in range(count):
            self.clock.advance(1)
            self.append(self.batch(value))

    def marker(
        self, *, abort: bool, producer_id: int = 7, epoch: int = 0, coordinator_epoch: int = 3, write: bool = True
    ) -> Appended:
        """The coordinator ends a transaction."""
        key = b"\x00\x00\x00" + (b"\x00" if abort else b"\x01")
        value = b"\x00\x00" + coordinator_epoch.to_bytes(4, "big")
        batch = build_batch(
            [Record(0, self.clock.wall_ms(), key, value)],
            producer_id=producer_id,
            producer_epoch=epoch,
            transactional=True,
            control=True,
        )
        return self.append(batch, origin=COORDINATOR, write=write)

    def records(self, offset: int | None = None, max_bytes: int = 1 << 20) -> list[Record]:
        """Everything that can be read from offset (the start, if not given) on."""
        at, found = self.log.start_offset if offset is None else offset, []
        while (region := self.log.read(at, max_bytes, self.log.written_end, True)) is not None:
            data = region.read()
            got = list(iterate(data, 0, len(data)))
            found += [record for record in got if record.offset >= at]
            at = got[-1].offset + 1
        return found

    def offsets(self) -> list[int]:
        """Offsets of all records that can be read."""
        return [record.offset for record in self.records()]

    def kill(self, recovery_point: int = 0) -> Log:
        """The process dies, the machine does not; open again."""
        self.disk = self.disk.kill()
        return self.open(recovery_point)

    def power_cut(self, recovery_point: int = 0) -> Log:
        """The machine dies; open again."""
        self.disk = self.disk.crash()
        return self.open(recovery_point)

    def files(self) -> list[str]:
        """Names in the log's directory."""
        return self.disk.listdir(DIRECTORY)
