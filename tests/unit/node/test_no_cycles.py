"""Requests leave no reference cycles behind: what they made is gone when they are answered.

What a cycle holds waits for Python's collector, which takes all of it at once and stops the loop meanwhile: parked
fetches alone once cost a pause of 20 ms every few seconds. Compiled modules have cycles of their own (a nested
function), so this runs both ways.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tapelog.sim.cluster import Cluster
from tapelog.wire.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tapelog.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.fetch_request import FetchPartition
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.heartbeat_request import HeartbeatRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from tapelog.wire.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from tapelog.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tapelog.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tapelog.wire.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from tapelog.wire.record_batch import Record, build_batch
from tests.support.house import Client, House
from tests.support.rig import fetch_request, produce_request, wants

TOPIC = "orders"
REQUESTS = 1_000
STRAY_MAX = 50
"""What timers and the interpreter itself may leave meanwhile; one object a request would be twenty times as much."""
BATCH = build_batch([Record(0, 1_700_000_000_000, b"k", b"v")])


class Asker:
    """Two clients of one node, and what they can ask."""

    def __init__(self, directory: Path) -> None:
        settings = {
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "tapelog.flush": "page-cache",
        }
        self.house = House(directory, settings)
        self.one, self.other = self.house.connect(), self.house.connect()
        wanted = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
        assert self.one.call(CreateTopicsRequest(topics=[wanted], timeout_ms=5000), 7).topics[0].error_code == 0
        self.end = 0
        self.session = 0
        self.epoch = 0
        for kind, key in ((0, "group"), (1, "txn")):
            self.coordinator(kind, key)

    def coordinator(self, kind: int, key: str) -> None:
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        found = [False]

        def asked() -> bool:
            found[0] = found[0] or self.one.call(request, 4).coordinators[0].error_code == 0
            return found[0]

        self.house.turn_until(asked, f"a coordinator for {key}")

    def find_coordinator(self) -> None:
        self.one.call(FindCoordinatorRequest(key_type=0, coordinator_keys=["group"]), 4)

    def produce(self, acks: int = -1) -> None:
        part = self.one.call(produce_request((TOPIC, 0, BATCH), acks=acks), 9).responses[0].partition_responses[0]
        assert part.error_code == 0
        self.end = part.base_offset + 1

    def produce_refused(self) -> None:
        part = self.one.call(produce_request(("nosuch", 0, BATCH)), 9).responses[0].partition_responses[0]
        assert part.error_code == 3

    def produce_damaged(self) -> None:
        bad = BATCH[:-1] + bytes([BATCH[-1] ^ 1])
        part = self.one.call(produce_request((TOPIC, 0, bad)), 9).responses[0].partition_responses[0]
        assert part.error_code == 2

    def fetch_parked(self) -> None:
        self.other.send(self.other.frame(fetch_request(wants(0, self.end), max_wait_ms=60_000), 12))
        self.house.turn()
        self.produce()
        self.other.take_frame()

    def fetch_expired(self) -> None:
        self.one.call(fetch_request(wants(0, self.end), max_wait_ms=1), 12)

    def fetch_at_once(self) -> None:
        self.one.call(fetch_request(wants(0, 0), max_wait_ms=0), 12)

    def fetch_out_of_range(self) -> None:
        self.one.call(fetch_request(wants(0, 1 << 40), max_wait_ms=0), 12)

    def fetch_in_session(self) -> None:
        parts = [FetchPartition(partition=0, fetch_offset=self.end, partition_max_bytes=1 << 20)]
        request = fetch_request(*parts, max_wait_ms=1, session_id=self.session, session_epoch=self.epoch)
        answer = self.one.call(request, 12)
        assert answer.error_code == 0
        self.session, self.epoch = answer.session_id, self.epoch + 1

    def fetch_abandoned(self) -> None:
        client = self.house.connect()
        client.send(client.frame(fetch_request(wants(0, self.end), max_wait_ms=60_000), 12))
        self.house.turn()
        client.sock.close()
        self.house.turn()

    def list_offsets(self) -> None:
        part = ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=1_600_000_000_000)
        topics = [ListOffsetsTopic(name=TOPIC, partitions=[part])]
        self.one.call(ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics), 9)

    def delete_records(self) -> None:
        topics = [DeleteRecordsTopic(name=TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])]
        self.one.call(DeleteRecordsRequest(topics=topics, timeout_ms=1000), 2)

    def metadata(self) -> None:
        self.one.call(MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]), 12)

    def api_versions(self) -> None:
        self.one.call(ApiVersionsRequest(), 3)

    def describe_configs(self) -> None:
        asked = DescribeConfigsResource(resource_type=2, resource_name=TOPIC, configuration_keys=None)
        self.one.call(DescribeConfigsRequest(resources=[asked]), 4)

    def join(self) -> tuple[str, int]:
        """A classic member, alone in its group."""
        protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
        request = JoinGroupRequest(
            group_id="group", session_timeout_ms=30_000, rebalance_timeout_ms=30_000, protocol_type="consumer"
        )
        request.protocols = protocols
        request.member_id = self.one.call(request, 5).member_id
        joined = self.one.call(request, 5)
        assert joined.error_code == 0, joined
        assignment = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"x")]
        synced = self.one.call(
            SyncGroupRequest(
                group_id="group",
                generation_id=joined.generation_id,
                member_id=joined.member_id,
                assignments=assignment,
            ),
            3,
        )
        assert synced.error_code == 0, synced
        return joined.member_id, joined.generation_id

    def join_and_leave(self) -> None:
        member, _ = self.join()
        self.one.call(LeaveGroupRequest(group_id="group", members=[MemberIdentity(member_id=member)]), 4)

    def heartbeat(self, member: str, generation: int) -> None:
        request = HeartbeatRequest(group_id="group", generation_id=generation, member_id=member)
        assert self.one.call(request, 4).error_code == 0

    def consumer_heartbeat(self, member: str, epoch: int) -> int:
        """Of a group of the newer protocol; the member's epoch."""
        request = ConsumerGroupHeartbeatRequest(group_id="newer", member_id=member, member_epoch=epoch)
        if epoch == 0:
            request.rebalance_timeout_ms = 60_000
            request.subscribed_topic_names = [TOPIC]
            request.topic_partitions = []
        answer = self.one.call(request, 1)
        assert answer.error_code == 0, answer
        return int(answer.member_epoch)

    def commit(self, index: int = 0) -> None:
        parts = [OffsetCommitRequestPartition(partition_index=index, committed_offset=1)]
        request = OffsetCommitRequest(
            group_id="simple", topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=parts)]
        )
        code = self.one.call(request, 8).topics[0].partitions[0].error_code
        assert code == (0 if index == 0 else 3)

    def commit_refused(self) -> None:
        self.commit(99)

    def committed(self, stable: bool = False) -> None:
        topics = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])]
        groups = [OffsetFetchRequestGroup(group_id="simple", topics=topics)]
        assert self.one.call(OffsetFetchRequest(groups=groups, require_stable=stable), 8).groups[0].error_code == 0

    def committed_stable(self) -> None:
        self.committed(stable=True)

    def offsets_deleted(self) -> None:
        self.commit()
        parts = [OffsetDeleteRequestPartition(partition_index=0)]
        topics = [OffsetDeleteRequestTopic(name=TOPIC, partitions=parts)]
        assert self.one.call(OffsetDeleteRequest(group_id="simple", topics=topics), 0).error_code == 0

    def transaction(self) -> None:
        """Its id anew, one batch, and its end."""
        begun = self.one.call(InitProducerIdRequest(transactional_id="txn", transaction_timeout_ms=60_000), 4)
        if begun.error_code:  # the one before is still being completed
            self.house.turn()
            return
        producer, epoch = begun.producer_id, begun.producer_epoch
        topics = [AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])]
        added = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="txn",
            v3_and_below_producer_id=producer,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=topics,
        )
        self.one.call(added, 3)
        batch = build_batch(
            [Record(0, 1_700_000_000_000, b"k", b"v")],
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=0,
            transactional=True,
        )
        request = produce_request((TOPIC, 0, batch))
        request.transactional_id = "txn"
        assert self.one.call(request, 9).responses[0].partition_responses[0].error_code == 0
        end = EndTxnRequest(transactional_id="txn", producer_id=producer, producer_epoch=epoch, committed=True)
        assert self.one.call(end, 3).error_code == 0

    def connection(self) -> None:
        client: Client = self.house.connect()
        client.call(ApiVersionsRequest(), 3)
        client.sock.close()
        self.house.turn()


@pytest.fixture
def asker(tmp_path: Path) -> Iterator[Asker]:
    made = Asker(tmp_path)
    yield made
    made.house.close()


@contextmanager
def left_behind(what: str, stray_max: int) -> Iterator[None]:
    """Nothing in here leaves cycles."""
    gc.collect()
    gc.disable()
    try:
        yield
        gc.set_debug(gc.DEBUG_SAVEALL)
        found = gc.collect()
        kinds = Counter(type(one).__qualname__ for one in gc.garbage).most_common(8)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert found < stray_max, f"{what}: {found} objects in cycles, of {kinds}"


def no_cycles(what: Callable[[], Any], times: int = REQUESTS, stray_max: int = STRAY_MAX) -> None:
    """Ask until nothing is made for the first time any more, then count."""
    for _ in range(10):
        what()
    with left_behind(what.__name__, stray_max):
        for _ in range(times):
            what()


ONCE = [
    Asker.produce,
    Asker.produce_refused,
    Asker.produce_damaged,
    Asker.fetch_parked,
    Asker.fetch_expired,
    Asker.fetch_at_once,
    Asker.fetch_out_of_range,
    Asker.fetch_in_session,
    Asker.list_offsets,
    Asker.delete_records,
    Asker.metadata,
    Asker.api_versions,
    Asker.describe_configs,
    Asker.find_coordinator,
    Asker.commit,
    Asker.commit_refused,
    Asker.committed,
    Asker.committed_stable,
    Asker.offsets_deleted,
]
SLOW = [Asker.fetch_abandoned, Asker.connection, Asker.join_and_leave, Asker.transaction]


@pytest.mark.parametrize("ask", ONCE, ids=lambda ask: str(ask.__name__))
def test_a_thousand_requests_leave_no_cycles(asker: Asker, ask: Callable[[Asker], None]) -> None:
    asker.produce()
    no_cycles(ask.__get__(asker))


@pytest.mark.parametrize("ask", SLOW, ids=lambda ask: str(ask.__name__))
def test_connections_members_and_transactions_leave_no_cycles(asker: Asker, ask: Callable[[Asker], None]) -> None:
    asker.produce()
    no_cycles(ask.__get__(asker), REQUESTS // 5)


def test_a_thousand_heartbeats_leave_no_cycles(asker: Asker) -> None:
    member, generation = asker.join()

    def heartbeat() -> None:
        asker.heartbeat(member, generation)

    no_cycles(heartbeat)


def test_a_thousand_heartbeats_of_the_newer_protocol_leave_no_cycles(asker: Asker) -> None:
    epoch = asker.consumer_heartbeat("m", 0)

    def heartbeat() -> None:
        nonlocal epoch
        epoch = asker.consumer_heartbeat("m", epoch)

    no_cycles(heartbeat)


def test_replicated_produces_leave_no_cycles() -> None:
    cluster = Cluster(1, 3)
    cluster.boot()
    session = cluster.session("app")
    wanted = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=3)
    assert session.call(CreateTopicsRequest(topics=[wanted], timeout_ms=5000), 7).topics[0].error_code == 0
    assert cluster.world.run_until(cluster.whole, 10_000)

    def produce() -> None:
        answer = session.call(produce_request((TOPIC, 0, BATCH)), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0

    no_cycles(produce, REQUESTS // 4, stray_max=REQUESTS // 4)  # the simulator's own streams leave some


def test_acks_from_the_leader_alone_leave_no_cycles(asker: Asker) -> None:
    def produce() -> None:
        asker.produce(acks=1)

    no_cycles(produce)
