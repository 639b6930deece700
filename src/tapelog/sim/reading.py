"""Reading partitions in the simulator: to their end, as consumers of either isolation level do, and all the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.sim.client import Client
from tapelog.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tapelog.wire.messages.fetch_response import FetchResponse, PartitionData
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.record_batch import batches, iterate

FETCH_BYTES: Final = 5000
WAIT_MS: Final = 30
READ_COMMITTED: Final = 1
LATEST: Final = -1
EARLIEST: Final = -2


class Reading:
    """What was found: (offset, value) of the data records, and the two ends the broker named."""

    def __init__(self) -> None:
        self.records: list[tuple[int, bytes]] = []
        self.high_watermark = 0
        self.last_stable_offset = 0


def read(client: Client, topic: str, index: int, *, committed: bool = False, start: int = 0) -> Reading:
    """Everything up to the high watermark; committed: up to the last stable offset, without what was aborted."""
    found = Reading()
    offset, end = start, end_of(client, topic, index)
    while True:
        part = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
        request = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=1 << 20, session_epoch=-1)
        request.isolation_level = READ_COMMITTED if committed else 0
        request.topics = [FetchTopic(topic=topic, partitions=[part])]
        data: PartitionData = client.call(request, 12).responses[0].partitions[0]
        assert data.error_code == 0, f"fetch failed with {data.error_code}"
        found.high_watermark, found.last_stable_offset = data.high_watermark, data.last_stable_offset
        raw = data.records.tobytes() if data.records is not None else b""  # type: ignore[union-attr]
        if not raw:
            assert data.high_watermark >= end, f"the end of {topic}-{index} was {end} and is {data.high_watermark}"
            readable = data.last_stable_offset if committed else data.high_watermark
            assert offset >= readable, "a hole below what may be read"
            return found
        offset = take(raw, offset, data, found.records)


def end_of(client: Client, topic: str, index: int) -> int:
    """The high watermark by ListOffsets, which a new leader does not answer before it knows it."""
    return int(client.call(ask_end(topic, index), 5).topics[0].partitions[0].offset)


def ask_end(topic: str, index: int, which: int = LATEST) -> ListOffsetsRequest:
    """The request for it; or for the start."""
    part = ListOffsetsPartition(partition_index=index, timestamp=which)
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[part])])


def take(raw: bytes, offset: int, data: PartitionData, found: list[tuple[int, bytes]]) -> int:
    """The records of one fetch that an application would see (tombstones as empty values); returns where the next one
    begins."""
    begun = sorted((one.first_offset, one.producer_id) for one in data.aborted_transactions or [])
    aborted: set[int] = set()
    for header in batches(raw, 0, len(raw)):
        assert header.last_offset >= offset, "offsets must grow"
        offset = header.last_offset + 1
        while begun and begun[0][0] <= header.last_offset:
            aborted.add(begun.pop(0)[1])
        if header.is_control:
            aborted.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborted):
            for record in iterate(raw, header.position, header.end):
                found.append((record.offset, record.value or b""))
    return offset


class SimConsumer:
    """A read_committed consumer that follows a topic all its life, and remembers what it has seen."""

    def __init__(self, topic: str, partitions: int, connect: Callable[[], Client | None]) -> None:
        self.topic = topic
        self.connect = connect
        self.seen: list[list[tuple[int, bytes]]] = [[] for _ in range(partitions)]
        self.positions = [0] * partitions
        self._client: Client | None = None
        self._busy = False

    def disconnected(self) -> None:
        """The node is gone; it goes on where it was once there is one again."""
        self._client = None
        self._busy = False

    def push(self) -> None:
        """Ask for more, unless that is under way."""
        if self._client is None:
            self._client = self.connect()
        client = self._client
        if client is None or self._busy:
            return
        self._busy = True
        request = FetchRequest(max_wait_ms=WAIT_MS, min_bytes=1, max_bytes=1 << 20, session_epoch=-1)
        request.isolation_level = READ_COMMITTED
        parts = [
            FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
            for index, offset in enumerate(self.positions)
        ]
        request.topics = [FetchTopic(topic=self.topic, partitions=parts)]
        client.send(request, 12, lambda response: self._answered(client, response))

    def _answered(self, client: Client, response: FetchResponse) -> None:
        if client is not self._client:
            return
        self._busy = False
        for data in response.responses[0].partitions if response.responses else []:
            if data.error_code == 0 and data.records is not None:
                raw = data.records.tobytes()  # type: ignore[union-attr]
                index = data.partition_index
                self.positions[index] = take(raw, self.positions[index], data, self.seen[index])
