"""A topic of a simulated cluster whose oldest records are deleted now and then, whoever leads it and whoever is away.

What was acknowledged is there from the start of the log on, and the log never begins behind what somebody asked for.
A replica that was away, or lost its power, may bring back what was deleted: that is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tapelog.sim.cluster import Cluster
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.producer import Ledger, SimProducer
from tapelog.sim.reading import EARLIEST, ask_end, read
from tapelog.sim.routing import Session
from tapelog.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)

TOPIC: Final = "events"
NUMBER: Final = 9
TIMEOUT_MS: Final = 1000


class Events:
    """One producer of one partition, and somebody who deletes."""

    def __init__(self, cluster: Cluster, entropy: SimEntropy, note: Callable[[str], None]) -> None:
        self.cluster = cluster
        self.entropy = entropy
        self.note = note
        self.ledger = Ledger()
        # a follower that came when everything was deleted knows no producers, and takes any sequence as the first
        self.producer = SimProducer(NUMBER, TOPIC, 0, self.ledger, -1, patient=True)
        self.asked = 0
        self.deleted = 0
        self._busy = False
        self._written = 0

    def act(self) -> None:
        """Write, or delete."""
        if self.entropy.chance(65) or self._busy:
            values = [b"%d:" % (self._written + n) + b"y" * self.entropy.below(200) for n in range(3)]
            self._written += len(values)
            self.producer.add(values)
        else:
            self._delete(self.entropy.below(self.cluster.promises.committed_end(TOPIC, 0) + 1))

    def push(self) -> None:
        """Send what may be sent."""
        if self.producer.client is None or self.producer.client.closed:
            self.producer.connected(self.cluster.session("events"))
        self.producer.push()

    def check(self, client: Session) -> None:
        """Compare what is there with what was promised."""
        promised, safe = self.deleted, self.ledger.acknowledged.get(NUMBER, 0)
        start = int(client.call(ask_end(TOPIC, 0, EARLIEST), 5).topics[0].partitions[0].offset)
        assert start <= self.asked, f"{TOPIC} begins at {start}, deleted is up to {self.asked}"
        self.cluster.rare.count("deleted records are back", start < promised)
        found = [(offset, value) for offset, value in read(client, TOPIC, 0, start=start).records if offset >= start]
        sent = self.ledger.sent[NUMBER]
        for offset, value in found:
            assert value == sent[offset], f"{TOPIC}: {value[:9]!r} is at {offset}"
        end = found[-1][0] + 1 if found else start
        assert end >= safe and len(found) == end - start, f"{TOPIC}: {safe} acknowledged, [{start}, {end}) is there"

    def _delete(self, offset: int) -> None:
        self.note(f"delete {TOPIC} below {offset}")
        self._busy = True
        self.asked = max(self.asked, offset)

        def done(response: Any) -> None:
            self._busy = False
            if response is not None and response.topics[0].partitions[0].error_code == 0:
                self.deleted = max(self.deleted, offset)
                self.cluster.rare.count("records deleted")

        request = DeleteRecordsRequest([DeleteRecordsTopic(TOPIC, [DeleteRecordsPartition(0, offset)])], TIMEOUT_MS)
        self.cluster.router("janitor").send(request, 2, done, ("leader", TOPIC, 0))
