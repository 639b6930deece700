"""A broker without sockets, some of whose partitions begin in a simulated tier."""

from __future__ import annotations

from tapelog.log.config import LogConfig
from tapelog.log.log import Log
from tapelog.node.tier_reads import TierReads
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.objects import Bucket, SimStore
from tapelog.wire.messages.fetch_response import FetchResponse, PartitionData
from tests.support.rig import TOPIC, Rig, fetch_request, values_of, wants
from tests.support.tiered import Copies, let_go

TIERED = {"remote.storage.enable": "true", "segment.bytes": "1000", "index.interval.bytes": "200"}


class TierRig(Rig):
    """A node with a tier, and a topic in it."""

    def __init__(self, partitions: int = 1, delay_ms: int = 5) -> None:
        super().__init__(log_retention_check_interval_ms="1000000")
        core = self.node.core
        assert core is not None
        self.core = core
        self.bucket = Bucket()
        self.store = SimStore(self.bucket, self.node.timers, SimEntropy(1))
        self.store.weather.delay_ms_max = delay_ms
        core.tier_reads = self.reads = TierReads(core, self.store, lambda *_: None)
        self.create(partitions=partitions)
        for index in range(partitions):
            self.log(index).update_config(LogConfig(TIERED))
        self.copies = [Copies(self.bucket, self.topic_id(), index) for index in range(partitions)]

    def log(self, index: int = 0) -> Log:
        return self.partition(index=index).log

    def fill(self, count: int, index: int = 0, start: int = 0) -> list[bytes]:
        """Produce so many records, one batch each, ten milliseconds apart."""
        values = [b"%06d" % number + b"x" * 60 for number in range(start, start + count)]
        for value in values:
            self.node.pass_time(10)
            assert self.produce(self.batch(value), index=index).error_code == 0
        return values

    def move(self, index: int = 0) -> int:
        """Everything that can be is in the tier alone; returns where the local log begins."""
        self.copies[index].copy(self.log(index), self.partition(index=index).high_watermark)
        let_go(self.log(index))
        return self.log(index).local_start_offset

    def read(self, offset: int, index: int = 0, **fields: int) -> PartitionData:
        """Fetch from one partition, waiting up to half a second."""
        request = fetch_request(wants(index, offset, fields.pop("part_bytes", 1 << 20)), max_wait_ms=500, **fields)
        response: FetchResponse = self.client.call(request, 12)
        return response.responses[0].partitions[0]

    def read_all(self, index: int = 0) -> list[bytes | None]:
        """All values from the log's start on."""
        offset, found = self.log(index).start_offset, []
        while offset < self.partition(index=index).high_watermark:
            data = self.read(offset, index)
            assert data.error_code == 0, data
            values = values_of(data)
            found += values
            offset += len(values)
        return found


__all__ = ["TOPIC", "TierRig"]
