"""A transactional producer and a read_committed reader on a rig, in both transaction versions."""

from __future__ import annotations

from typing import Any

from tapelog.sim.client import SimClient
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tapelog.wire.messages.describe_transactions_request import DescribeTransactionsRequest
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tapelog.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tapelog.wire.record_batch import batches
from tests.support.rig import TOPIC, Rig, produce_request, raw_records, values_of

COMMITTED = 1


class TxnProducer:
    """A client with a transactional id. Its own connection; answers are error codes, by name."""

    def __init__(self, rig: Rig, transactional_id: str = "t", version: int = 2, timeout_ms: int = 60_000) -> None:
        self.rig = rig
        self.client = SimClient(rig.node)
        self.transactional_id = transactional_id
        self.version = version
        self.timeout_ms = timeout_ms
        self.producer_id = self.epoch = -1
        self.prepared = (-1, -1)
        self.sequences: dict[tuple[str, int], int] = {}

    def reconnect(self) -> None:
        """The node was restarted."""
        self.client = SimClient(self.rig.node)

    def init(self, tries: int = 100, two_phase: bool = False, keep: bool = False) -> str:
        """Find the coordinator and take the id, asking again while it is busy."""
        for _ in range(tries):
            self.client.call(FindCoordinatorRequest(key_type=1, coordinator_keys=[self.transactional_id]), 6)
            request = InitProducerIdRequest(
                transactional_id=self.transactional_id,
                transaction_timeout_ms=self.timeout_ms,
                enable2_pc=two_phase,
                keep_prepared_txn=keep,
            )
            answer = self.client.call(request, 6 if two_phase or keep else 5)
            self.prepared = (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)
            code = ErrorCode(answer.error_code)
            if code == ErrorCode.NONE:
                self.took(answer.producer_id, answer.producer_epoch)
            if code not in (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
                return code.name
            self.rig.node.pass_time(10)
        return code.name

    def took(self, producer_id: int, epoch: int) -> None:
        """Go on with this id and epoch: sequences begin anew."""
        self.producer_id, self.epoch = producer_id, epoch
        self.sequences.clear()

    def add(self, *indexes: int, topic: str = TOPIC) -> str:
        """AddPartitionsToTxn, version 3; the first code that is not NONE."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(indexes))],
        )
        parts = self.client.call(request, 3).results_by_topic_v3_and_below[0].results_by_partition
        return next((ErrorCode(p.partition_error_code).name for p in parts if p.partition_error_code), "NONE")

    def batch(self, *values: bytes, index: int = 0, topic: str = TOPIC) -> bytes:
        """The next batch for a partition."""
        sequence = self.sequences.get((topic, index), 0)
        return self.rig.batch(*values, producer=(self.producer_id, self.epoch, sequence), transactional=True)

    def write(self, *values: bytes, index: int = 0, topic: str = TOPIC) -> str:
        """Produce into the transaction."""
        request = produce_request((topic, index, self.batch(*values, index=index, topic=topic)))
        request.transactional_id = self.transactional_id
        answer = self.client.call(request, 12 if self.version >= 2 else 11).responses[0].partition_responses[0]
        if answer.error_code == 0:
            self.sequences[topic, index] = self.sequences.get((topic, index), 0) + len(values)
        return ErrorCode(answer.error_code).name

    def send_offset(self, offset: int, group: str = "g", topic: str = TOPIC) -> str:
        """Commit an offset of a group within the transaction."""
        if self.version < 2:
            named = AddOffsetsToTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                group_id=group,
            )
            code = self.client.call(named, 3).error_code
            if code:
                return ErrorCode(code).name
        part = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[part])],
        )
        answer = self.client.call(request, 5 if self.version >= 2 else 3).topics[0].partitions[0]
        return ErrorCode(answer.error_code).name

    def end_request(self, commit: bool) -> EndTxnRequest:
        """What ends the transaction."""
        return EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )

    def end(self, commit: bool) -> str:
        """EndTxn; with transaction version 2 the next epoch comes with the answer."""
        answer = self.client.call(self.end_request(commit), 5 if self.version >= 2 else 3)
        if answer.error_code == 0 and self.version >= 2:
            self.took(answer.producer_id, answer.producer_epoch)
        return ErrorCode(answer.error_code).name

    def commit(self) -> str:
        """EndTxn."""
        return self.end(True)

    def abort(self) -> str:
        """EndTxn."""
        return self.end(False)

    def state(self) -> str:
        """What DescribeTransactions says."""
        request = DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        one = SimClient(self.rig.node).call(request, 0).transaction_states[0]
        return one.transaction_state if one.error_code == 0 else ErrorCode(one.error_code).name


def visible(rig: Rig, index: int = 0, topic: str = TOPIC) -> list[bytes]:
    """What a read_committed consumer shows its application, from one fetch, by Kafka's rule."""
    return shown(rig.fetch(isolation_level=COMMITTED, index=index, topic=topic))


def shown(data: Any) -> list[bytes]:
    """The same, of a fetched partition."""
    raw = raw_records(data)
    begun = sorted((one.first_offset, one.producer_id) for one in data.aborted_transactions or [])
    aborted: set[int] = set()
    found: list[bytes] = []
    for header in batches(raw, 0, len(raw)):
        while begun and begun[0][0] <= header.last_offset:
            aborted.add(begun.pop(0)[1])
        if header.is_control:
            aborted.discard(header.producer_id)
        elif header.producer_id not in aborted or not header.is_transactional:
            found += [value or b"" for value in values_of(type(data)(records=raw[header.position : header.end]))]
    return found


def committed_offset(rig: Rig, group: str = "g") -> int | str:
    """The group's offset of the first partition; -1 if there is none, or why it cannot be told."""
    asked = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=[asked])], require_stable=True)
    answer = rig.client.call(request, 9).groups[0]
    code = answer.error_code or answer.topics[0].partitions[0].error_code
    return ErrorCode(code).name if code else int(answer.topics[0].partitions[0].committed_offset)
