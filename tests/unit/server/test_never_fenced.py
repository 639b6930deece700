"""Who alone uses a transactional id is never fenced, whatever is lost: answers, connections, the broker."""

from __future__ import annotations

import random

import pytest

from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tests.support.rig import Rig
from tests.support.transactions import TxnProducer

WAITING = {ErrorCode.CONCURRENT_TRANSACTIONS.name, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.name}
LIVES = 6


class Story:
    """Producers with the same id, one after the other; each ends somewhere before its transaction does, or after."""

    def __init__(self, seed: int, version: int) -> None:
        self.chance = random.Random(f"{version} {seed}")
        self.rig = Rig(seed, transaction_state_log_num_partitions="3")
        self.rig.create(partitions=3)
        self.version = version

    def mishap(self, producer: TxnProducer) -> None:
        """The connection goes, or the broker dies, or nothing happens."""
        what = self.chance.choice(["nothing", "hang_up", "kill", "power_cut"])
        if what == "hang_up":
            producer.client.hang_up()
            producer.reconnect()
        elif what != "nothing":
            self.rig.reboot(getattr(self.rig.node, what))
            producer.reconnect()

    def lose_an_answer(self, producer: TxnProducer) -> None:
        """InitProducerId whose answer, if there is one, does not arrive."""
        producer.client.call(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 6)
        request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000)
        producer.client.send(request, self.chance.randint(0, 5), lambda _: None)
        self.rig.node.pass_time(self.chance.randint(0, 12))

    def life(self) -> None:
        producer = TxnProducer(self.rig, version=self.version)
        for _ in range(self.chance.randint(0, 2)):
            self.lose_an_answer(producer)
            self.mishap(producer)
        assert producer.init() == "NONE"
        self.mishap(producer)
        self.rig.client.call(FindCoordinatorRequest(key="g"), 3)
        for offset in range(self.chance.randint(1, 3)):
            assert self.patiently(producer, offset) == "NONE"
            self.mishap(producer)
            if self.chance.random() < 0.3:
                return  # it dies with its transaction open
            answers = self.rig.later(producer.end_request(True), 5 if self.version >= 2 else 3, producer.client)
            self.rig.node.pass_time(self.chance.randint(0, 30))
            if not answers:
                return
            assert answers[0].error_code == 0
            if self.version >= 2:
                producer.took(answers[0].producer_id, answers[0].producer_epoch)

    def patiently(self, producer: TxnProducer, offset: int) -> str:
        """Offsets into the transaction, asked again while the coordinator is busy. AddOffsetsToTxn in any version."""
        for _ in range(100):
            code = self.add_offsets(producer) if self.version < 2 else "NONE"
            code = producer.send_offset(offset) if code == "NONE" else code
            if code not in WAITING:
                break
            self.rig.node.pass_time(10)
        return code

    def add_offsets(self, producer: TxnProducer) -> str:
        who = (producer.producer_id, producer.epoch)
        request = AddOffsetsToTxnRequest(transactional_id="t", producer_id=who[0], producer_epoch=who[1], group_id="g")
        return ErrorCode(producer.client.call(request, self.chance.randint(0, 3)).error_code).name


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", range(10))
def test_a_producer_that_is_alone_is_never_fenced(seed: int, version: int) -> None:
    story = Story(seed, version)
    for _ in range(LIVES):
        story.life()
