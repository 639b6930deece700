"""What clients ask first: FindCoordinator, InitProducerId, and Metadata with its creation of missing topics."""

from __future__ import annotations

import pytest

from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tapelog.wire.messages.metadata_response import MetadataResponse
from tests.support.rig import TOPIC, Rig

OFFSETS = "__consumer_offsets"


@pytest.fixture
def rig() -> Rig:
    return Rig()


# -- FindCoordinator


@pytest.mark.parametrize("version", range(7))
def test_the_first_question_creates_the_offsets_topic(rig: Rig, version: int) -> None:
    if version >= 4:
        response = rig.client.call(FindCoordinatorRequest(coordinator_keys=["a", "b"]), version)
        found = [(one.key, one.error_code, one.node_id, one.host, one.port) for one in response.coordinators]
        assert found == [(key, 0, 1, "127.0.0.1", 9092) for key in ("a", "b")]
    else:
        response = rig.client.call(FindCoordinatorRequest(key="a"), version)
        assert (response.error_code, response.node_id, response.port) == (0, 1, 9092)
    assert rig.node.core is not None
    assert len(rig.node.core.topics[OFFSETS].partitions) == 2


def test_many_at_once_create_it_once_and_all_are_answered(rig: Rig) -> None:
    answers = [rig.later(FindCoordinatorRequest(key=f"g{n}"), 3, rig.connect()) for n in range(30)]
    assert not any(answers), "the topic is not durable yet"
    rig.node.pass_time(100)
    assert [answer[0].error_code for answer in answers] == [0] * 30
    first = rig.topic_id(OFFSETS)
    rig.client.call(FindCoordinatorRequest(key="x"), 3)
    rig.reboot(rig.node.power_cut)
    rig.client.call(FindCoordinatorRequest(key="x"), 3)
    assert rig.topic_id(OFFSETS) == first


@pytest.mark.parametrize("kind", [2, 9])
def test_coordinators_that_are_not_served_are_refused(rig: Rig, kind: int) -> None:
    version = 6 if kind == 2 else 3
    request = FindCoordinatorRequest(key_type=kind)
    if version >= 4:
        request.coordinator_keys = ["a"]
        codes = [one.error_code for one in rig.client.call(request, version).coordinators]
    else:
        request.key = "a"
        codes = [rig.client.call(request, version).error_code]
    assert codes == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("version", [1, 3, 6])
def test_the_first_question_for_transactions_creates_their_topic(version: int) -> None:
    rig = Rig(transaction_state_log_num_partitions="3")
    if version >= 4:
        request = FindCoordinatorRequest(key_type=1, coordinator_keys=["a", "b"])
        found = [(one.error_code, one.node_id) for one in rig.client.call(request, version).coordinators]
        assert found == [(0, 1), (0, 1)]
    else:
        response = rig.client.call(FindCoordinatorRequest(key="a", key_type=1), version)
        assert (response.error_code, response.node_id, response.port) == (0, 1, 9092)
    assert rig.node.core is not None
    assert len(rig.node.core.topics["__transaction_state"].partitions) == 3
    assert OFFSETS not in rig.node.core.topics


# -- InitProducerId


def producer_id(rig: Rig, version: int = 4) -> int:
    """A new id."""
    response = rig.client.call(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), version)
    assert (response.error_code, response.producer_epoch) == (0, 0)
    return int(response.producer_id)


def test_producer_ids_are_never_given_out_twice(rig: Rig) -> None:
    seen: list[int] = []
    for how in (rig.node.stop, rig.node.kill, rig.node.power_cut, rig.node.power_cut):
        seen += [producer_id(rig, version) for version in range(6)]
        rig.reboot(how)
    answers = [
        rig.later(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4, rig.connect())
        for _ in range(1500)
    ]
    rig.node.pass_time(200)
    seen += [answer[0].producer_id for answer in answers]
    assert len(seen) == len(set(seen)) == 24 + 1500
    assert min(seen) >= 0


def test_no_id_leaves_before_its_block_is_durable(rig: Rig) -> None:
    flushes = rig.hold_flushes()
    answers = rig.later(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
    rig.node.pass_time(1000)
    assert not answers
    flushes.release()
    assert answers[0].error_code == 0


def test_a_transactional_id_needs_a_coordinator_first(rig: Rig) -> None:
    for name, code in (("", ErrorCode.INVALID_REQUEST), ("t", ErrorCode.NOT_COORDINATOR)):
        response = rig.client.call(InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000), 4)
        assert (response.error_code, response.producer_id) == (code, -1)


# -- Metadata


def metadata(rig: Rig, *names: str, version: int = 9, create: bool = True) -> MetadataResponse:
    """Metadata of topics by name."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    if version >= 4:
        request.allow_auto_topic_creation = create
    response: MetadataResponse = rig.client.call(request, version)
    return response


@pytest.mark.parametrize("version", range(14))
def test_missing_topics_are_created_when_the_client_allows_it(rig: Rig, version: int) -> None:
    answer = metadata(rig, TOPIC, version=version).topics[0]
    assert (answer.error_code, answer.name) == (0, TOPIC)
    assert [part.leader_id for part in answer.partitions] == [1]
    assert rig.produce().error_code == 0


@pytest.mark.parametrize("version", range(4, 14))
def test_missing_topics_are_not_created_when_the_client_forbids_it(rig: Rig, version: int) -> None:
    answer = metadata(rig, TOPIC, version=version, create=False).topics[0]
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert rig.node.core is not None
    assert TOPIC not in rig.node.core.topics


def test_missing_topics_are_not_created_when_the_broker_forbids_it() -> None:
    rig = Rig(auto_create_topics_enable="false")
    assert metadata(rig, TOPIC).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_bad_names_are_refused_and_good_ones_beside_them_created(rig: Rig) -> None:
    answers = {topic.name: topic.error_code for topic in metadata(rig, "good", "b/ad", "..").topics}
    assert answers == {"good": 0, "b/ad": ErrorCode.INVALID_TOPIC_EXCEPTION, "..": ErrorCode.INVALID_TOPIC_EXCEPTION}


@pytest.mark.parametrize("version", [10, 11, 12, 13])
def test_a_topic_is_never_created_by_id(rig: Rig, version: int) -> None:
    topic = MetadataRequestTopic(topic_id=b"\3" * 16, name=None)
    answer = rig.client.call(MetadataRequest(topics=[topic]), version).topics[0]
    assert answer.error_code == (ErrorCode.UNKNOWN_TOPIC_ID if version >= 12 else ErrorCode.INVALID_REQUEST)
    assert rig.node.core is not None
    assert not rig.node.core.topics


@pytest.mark.parametrize("version", [12, 13])
def test_a_topic_is_found_by_id(rig: Rig, version: int) -> None:
    rig.create(partitions=3)
    topic = MetadataRequestTopic(topic_id=rig.topic_id(), name=None)
    answer = rig.client.call(MetadataRequest(topics=[topic]), version).topics[0]
    assert (answer.error_code, answer.name, len(answer.partitions)) == (0, TOPIC, 3)


def test_all_topics_and_no_topics(rig: Rig) -> None:
    rig.create("a")
    rig.create("b")
    assert sorted(topic.name for topic in rig.client.call(MetadataRequest(topics=None), 9).topics) == ["a", "b"]
    assert rig.client.call(MetadataRequest(topics=[]), 9).topics == []
    assert len(rig.client.call(MetadataRequest(topics=[]), 0).topics) == 2, "version 0 has no null"


def test_many_clients_asking_for_one_missing_topic_get_the_same_one(rig: Rig) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=True)
    answers = [rig.later(request, 10, rig.connect()) for _ in range(20)]
    rig.node.pass_time(100)
    assert {answer[0].topics[0].topic_id for answer in answers} == {rig.topic_id()}


def test_the_coordinators_topic_made_by_metadata_is_internal(rig: Rig) -> None:
    answer = metadata(rig, OFFSETS).topics[0]
    assert answer.is_internal
    assert len(answer.partitions) == 2


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 3)])
def test_a_producer_id_without_its_epoch_is_an_invalid_request(rig: Rig, producer_id: int, epoch: int) -> None:
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=1000, producer_id=producer_id, producer_epoch=epoch
    )
    response = rig.client.call(request, 4)
    assert (response.error_code, response.producer_id) == (ErrorCode.INVALID_REQUEST, -1)
