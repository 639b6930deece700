"""Leaders, coordinators and trying again: what moved is found, what is gone is told, in time."""

from __future__ import annotations

import pytest

from tapelog.client.cluster import GROUP, TRANSACTION
from tapelog.client.errors import DeadlineError, LinkError, RefusedError, UnknownTopicError
from tapelog.client.metadata import TopicPartition
from tapelog.client.offsets import READ_COMMITTED, earliest, for_times, latest, list_offsets
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.list_offsets_request import ListOffsetsRequest
from tapelog.wire.messages.metadata_request import MetadataRequest
from tests.unit.client.fake_broker import versions
from tests.unit.client.fake_cluster import TOPIC, TOPIC_ID, FakeCluster

ZERO = TopicPartition(TOPIC, 0)
ONE = TopicPartition(TOPIC, 1)


def test_a_topic_is_asked_for_once_while_it_is_fresh() -> None:
    with FakeCluster(partitions=2) as fake:
        cluster = fake.connect()
        info = cluster.topic(TOPIC)
        assert (info.name, info.topic_id, len(info.partitions)) == (TOPIC, TOPIC_ID, 2)
        assert cluster.topics([TOPIC, TOPIC]) == {TOPIC: info}
        assert len(fake.asked(MetadataRequest)) == 1
        fake.pace.seconds += 301
        cluster.topic(TOPIC)
        assert len(fake.asked(MetadataRequest)) == 2
        assert all(not one.allow_auto_topic_creation for one in fake.asked(MetadataRequest))  # type: ignore[attr-defined]


def test_all_topics_and_topics_by_id() -> None:
    with FakeCluster() as fake:
        cluster = fake.connect()
        assert [info.name for info in cluster.all_topics()] == [TOPIC]
        assert fake.asked(MetadataRequest)[-1].topics is None  # type: ignore[attr-defined]
        assert cluster.topic_by_id(TOPIC_ID).name == TOPIC
        with pytest.raises(UnknownTopicError, match="no topic has the id"):
            cluster.topic_by_id(b"x" * 16)


def test_a_topic_that_does_not_exist_is_told_soon_and_a_new_one_is_waited_for() -> None:
    with FakeCluster() as fake:
        cluster = fake.connect()
        with pytest.raises(UnknownTopicError, match="nowhere does not exist") as caught:
            cluster.topic("nowhere")
        assert "create it" in caught.value.do
        assert 1 < sum(fake.pace.slept) <= 2
        fake.errors = [(MetadataRequest, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)] * 2
        assert cluster.topic(TOPIC).name == TOPIC


def test_a_topic_we_may_not_see_is_no_reason_to_wait() -> None:
    with FakeCluster() as fake:
        fake.errors = [(MetadataRequest, ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
        with pytest.raises(RefusedError, match="TOPIC_AUTHORIZATION_FAILED") as caught:
            fake.connect().topic(TOPIC)
        assert "grant" in caught.value.do and fake.pace.slept == []


def test_offsets_come_from_all_leaders() -> None:
    with FakeCluster(brokers=2, partitions=2) as fake:
        fake.leaders[1] = 2
        fake.start, fake.end, fake.stable = 5, 50, 40
        cluster = fake.connect()
        assert earliest(cluster, [ZERO, ONE]) == {ZERO: 5, ONE: 5}
        assert latest(cluster, [ZERO, ONE]) == {ZERO: 50, ONE: 50}
        assert latest(cluster, [ZERO], READ_COMMITTED) == {ZERO: 40}
        assert for_times(cluster, {ZERO: 123}) == {ZERO: None}
        assert list_offsets(cluster, {}) == {}
        for broker in fake.brokers.values():
            assert any(isinstance(one, ListOffsetsRequest) for one, _ in broker.asked)


def test_a_leader_that_moved_is_found_and_only_what_is_missing_is_asked_again() -> None:
    with FakeCluster(brokers=2, partitions=2) as fake:
        fake.end = 9
        cluster = fake.connect()
        cluster.topic(TOPIC)
        fake.leaders[1] = 2
        assert latest(cluster, [ZERO, ONE]) == {ZERO: 9, ONE: 9}
        again = fake.asked(ListOffsetsRequest)[-1]
        assert isinstance(again, ListOffsetsRequest)
        assert [part.partition_index for part in again.topics[0].partitions] == [1]
        assert len(fake.asked(MetadataRequest)) == 2


def test_a_broker_that_died_is_replaced_by_another() -> None:
    with FakeCluster(brokers=2) as fake:
        fake.end = 9
        cluster = fake.connect()
        assert latest(cluster, [ZERO]) == {ZERO: 9}
        fake.brokers[1].stop()
        fake.leaders[0] = 2
        assert latest(cluster, [ZERO]) == {ZERO: 9}


def test_a_partition_without_a_leader_is_waited_for_until_the_deadline_and_named() -> None:
    with FakeCluster() as fake:
        fake.leaders[0] = -1
        with pytest.raises(DeadlineError, match="orders-0 has no leader") as caught:
            latest(fake.connect(), [ZERO])
        assert "60 s" in caught.value.what and caught.value.do
        assert 55 < sum(fake.pace.slept) <= 60
        assert max(fake.pace.slept) <= 1.2 and fake.pace.slept[0] == pytest.approx(0.1)


def test_a_partition_that_does_not_exist_is_told_soon() -> None:
    with FakeCluster() as fake:
        with pytest.raises(UnknownTopicError, match="no partition 7"):
            latest(fake.connect(), [TopicPartition(TOPIC, 7)])
        assert 1 < sum(fake.pace.slept) <= 2


def test_a_partition_that_was_added_since_is_found() -> None:
    with FakeCluster() as fake:
        cluster = fake.connect()
        assert len(cluster.topic(TOPIC).partitions) == 1
        fake.leaders[1] = 1
        assert latest(cluster, [ONE]) == {ONE: 0}
        assert not fake.pace.slept


def test_nobody_there_names_all_who_were_asked() -> None:
    with FakeCluster(brokers=2) as fake:
        cluster = fake.connect(api_timeout_ms=500)
        for broker in fake.brokers.values():
            broker.stop()
        with pytest.raises(DeadlineError) as caught:
            cluster.topic(TOPIC)
        assert all(str(broker.address) in str(caught.value) for broker in fake.brokers.values())
        assert isinstance(caught.value.__cause__, LinkError) and len(str(caught.value).splitlines()) <= 3


@pytest.mark.parametrize("newest", [6, 3])
def test_a_coordinator_is_found_kept_and_found_again(newest: int) -> None:
    with FakeCluster(brokers=2) as fake:
        for broker in fake.brokers.values():
            broker.about = versions({3: (0, 12), 10: (0, newest)})
        fake.coordinator = 2
        fake.errors = [(FindCoordinatorRequest, ErrorCode.COORDINATOR_NOT_AVAILABLE)]
        cluster = fake.connect()
        deadline = cluster.deadline()
        link = cluster.retry("find it", lambda: cluster.coordinator(GROUP, "g", deadline), deadline)
        assert link.address == fake.brokers[2].address
        assert cluster.coordinator(GROUP, "g", deadline) is link
        assert len(fake.asked(FindCoordinatorRequest)) == 2
        cluster.forget()
        fake.coordinator = 1
        assert cluster.coordinator(TRANSACTION, "g", deadline).address == fake.brokers[1].address


def test_one_link_per_broker_serves_everything() -> None:
    with FakeCluster() as fake:
        cluster = fake.connect()
        latest(cluster, [ZERO])
        deadline = cluster.deadline()
        cluster.coordinator(GROUP, "g", deadline)
        assert fake.brokers[1].connections == 1 and len(cluster.links) == 1
        assert cluster.tidy()
        cluster.close()
        assert cluster.links == [] and not cluster.tidy()
