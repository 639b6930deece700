"""A metadata log in memory, seeded chance and a clock one sets: what the metadata tests stand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapelog.base.config import BrokerSettings
from tapelog.metadata import records
from tapelog.metadata.brokers import BrokerRegistration
from tapelog.metadata.controller import Controller
from tapelog.metadata.delta import ImageDelta
from tapelog.metadata.image import Endpoint, MetadataImage, invariants
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.quorum import MetadataLog
from tapelog.metadata.snapshot import SnapshotId
from tapelog.wire import record_batch
from tests.support.chance import FakeClock, SeededEntropy

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
DIRECTORY = bytes(range(16))


class MemoryLog:
    """MetadataLogPort over a list of batches."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.start_offset = 0
        self.end_offset = 0
        self.fail: Exception | None = None

    def append(self, batch: bytes, leader_epoch: int) -> int:
        if self.fail is not None:
            raise self.fail
        placed = self.end_offset.to_bytes(8, "big") + batch[8:12] + leader_epoch.to_bytes(4, "big") + batch[16:]
        self.batches.append(placed)
        self.end_offset += record_batch.last_offset_delta(batch, 0) + 1
        return self.end_offset

    def read(self, offset: int, max_bytes: int) -> bytes:
        data = b""
        for batch in self.batches:
            if record_batch.last_offset(batch, 0) >= max(offset, self.start_offset):
                if data and len(data) + len(batch) > max_bytes:
                    break
                data += batch
        return data

    def advance_start(self, offset: int) -> None:
        self.start_offset = offset
        self.batches = [batch for batch in self.batches if record_batch.last_offset(batch, 0) >= offset]

    def cut(self, end_offset: int) -> None:
        """Lose everything from end_offset on."""
        self.batches = [batch for batch in self.batches if record_batch.last_offset(batch, 0) < end_offset]
        self.end_offset = end_offset


class MemorySnapshots:
    """SnapshotStore in a dict."""

    def __init__(self) -> None:
        self.files: dict[SnapshotId, bytes] = {}

    def list(self) -> list[SnapshotId]:
        return sorted(self.files)

    def read(self, id: SnapshotId) -> bytes:
        return self.files[id]

    def write(self, id: SnapshotId, data: bytes, done: Callable[[Exception | None], None]) -> None:
        self.files[id] = data
        done(None)

    def remove(self, id: SnapshotId) -> None:
        self.files.pop(id, None)

    def set_aside(self, id: SnapshotId) -> None:
        del self.files[id]


class Cluster:
    """A controller on a metadata log in memory, committed after each call."""

    def __init__(
        self,
        brokers: int = 1,
        settings: dict[str, str] | None = None,
        seed: int = 1,
        port: MemoryLog | None = None,
        snapshots: MemorySnapshots | None = None,
        lead: bool = True,
    ) -> None:
        self.settings = BrokerSettings(settings)
        self.clock = FakeClock()
        self.entropy = SeededEntropy(seed)
        self.controller = Controller(self.settings, self.entropy, self.clock)
        self.port = port if port is not None else MemoryLog()
        self.snapshots = snapshots if snapshots is not None else MemorySnapshots()
        self.published: list[tuple[MetadataImage, ImageDelta]] = []
        self.checked = True
        self.log = MetadataLog(
            self.port,
            self.snapshots,
            node_id=1,
            cluster_id=CLUSTER_ID,
            clock=self.clock,
            publish=lambda image, delta: self.published.append((image, delta)),
        )
        self.last_epoch = self.log.load()
        if lead:
            self.lead(self.last_epoch + 1)
            self.commit()
            for id in range(1, brokers + 1):
                self.register(id)

    def lead(self, epoch: int) -> None:
        """Begin an epoch, as the quorum does."""
        start = self.port.end_offset
        self.port.append(records.leader_change_batch(1, self.clock.wall_ms(), epoch), epoch)
        self.log.elected(epoch, start)

    @property
    def image(self) -> MetadataImage:
        return self.log.image

    def commit(self) -> None:
        """Everything appended becomes durable."""
        self.log.on_commit(self.port.end_offset)
        if self.checked:
            invariants(self.log.image)

    def register(self, id: int, fenced: bool = False) -> int:
        registration = BrokerRegistration(
            id,
            CLUSTER_ID,
            self.entropy.token(16),
            [Endpoint("PLAINTEXT", "127.0.0.1", 9091 + id)],
            [bytes([id]) * 16],
            fenced=fenced,
        )
        return self.run(lambda image: self.controller.register_broker(image, registration))

    def run(self, operation: Callable[[MetadataImage], Outcome[Any]]) -> Any:
        """Propose, commit, and give back the response; what the operation raises is raised."""
        answers: list[Any] = []
        errors: list[Exception] = []
        self.log.propose(operation, answers.append, errors.append)
        self.commit()
        if errors:
            raise errors[0]
        assert len(answers) == 1
        return answers[0]

    def reopened(self) -> Cluster:
        """Another incarnation over the same log and snapshots, loaded but not leading."""
        return Cluster(port=self.port, snapshots=self.snapshots, lead=False)
