"""Requests to the active controller find it wherever it is, until their time is over."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.base.timers import Timers
from tapelog.client.peers import Peers
from tapelog.metadata.image import BrokerImage, Endpoint, MetadataImage
from tapelog.node.forwarding import RETRY_MS, WATCH_MS
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from tapelog.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from tapelog.wire.messages.api_versions_request import ApiVersionsRequest
from tapelog.wire.messages.api_versions_response import ApiVersionsResponse
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from tapelog.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from tapelog.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.support.rig import Rig
from tests.unit.client.fake_net import FakeChannel, FakeNet

NOT_CONTROLLER = AllocateProducerIdsResponse(error_code=int(ErrorCode.NOT_CONTROLLER))
BLOCK = AllocateProducerIdsResponse(producer_id_start=7, producer_id_len=1)


class Elsewhere:
    """A node whose controller is on other machines: which, the test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rig = Rig()
        assert self.rig.node.core is not None
        self.core = self.rig.node.core
        self.net = FakeNet()
        timers: Timers = self.core.timers
        self.core.peers = Peers(self.net, timers, self.core.clock, "node-1")
        self.core.controls = False
        self.monkeypatch = monkeypatch
        self.outcomes: list[Message | KafkaError] = []
        self.led_by("c", 9093)

    def led_by(self, host: str, port: int | None) -> None:
        """The controller is there; nowhere without a port."""
        where = None if port is None else (host, port)
        self.monkeypatch.setattr(type(self.core.metadata), "controller_endpoint", property(lambda _: where))

    def ask(self, request: Message | None = None, timeout_ms: int = 5000) -> None:
        self.core.to_controller(request or AllocateProducerIdsRequest(), 0, timeout_ms, self.outcomes.append)
        assert self.outcomes == [], "told before the call returned"

    def answer(self, response: Message, channel: FakeChannel | None = None) -> None:
        channel = channel or self.net.channels[-1]
        ((_, version, correlation, _, _),) = channel.requests()
        channel.answer(correlation, response, version)

    def wait(self, by_ms: int) -> None:
        self.rig.node.pass_time(by_ms)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    return Elsewhere(monkeypatch)


def test_the_controller_is_asked_where_it_is(elsewhere: Elsewhere) -> None:
    elsewhere.ask()
    assert elsewhere.net.channels[0].address == ("c", 9093)
    elsewhere.answer(BLOCK)
    assert elsewhere.outcomes == [BLOCK]


def test_one_that_is_none_any_more_is_asked_again_and_then_the_new_one(elsewhere: Elsewhere) -> None:
    elsewhere.ask()
    elsewhere.answer(NOT_CONTROLLER)
    elsewhere.led_by("d", 9093)
    elsewhere.wait(RETRY_MS)
    assert elsewhere.net.channels[-1].address == ("d", 9093)
    elsewhere.answer(BLOCK)
    assert elsewhere.outcomes == [BLOCK]


def test_a_lost_connection_is_not_the_end(elsewhere: Elsewhere) -> None:
    elsewhere.ask()
    elsewhere.net.channels[0].events.closed("reset")
    elsewhere.wait(200)
    elsewhere.answer(BLOCK)
    assert elsewhere.outcomes == [BLOCK]


def test_who_hangs_is_left_when_another_takes_over(elsewhere: Elsewhere) -> None:
    elsewhere.ask()
    elsewhere.led_by("d", 9093)
    elsewhere.wait(WATCH_MS)
    assert [channel.address for channel in elsewhere.net.channels] == [("c", 9093), ("d", 9093)]
    elsewhere.answer(BLOCK, elsewhere.net.channels[1])
    assert elsewhere.outcomes == [BLOCK]
    elsewhere.answer(BLOCK, elsewhere.net.channels[0])
    elsewhere.wait(10_000)
    assert elsewhere.outcomes == [BLOCK], "answered once"


def test_nobody_there_is_told_when_the_time_is_over(elsewhere: Elsewhere) -> None:
    elsewhere.led_by("", None)
    elsewhere.ask(timeout_ms=1000)
    elsewhere.wait(900)
    assert elsewhere.outcomes == []
    elsewhere.wait(200)
    (outcome,) = elsewhere.outcomes
    assert isinstance(outcome, KafkaError)
    assert outcome.code == ErrorCode.REQUEST_TIMED_OUT


def test_a_controller_found_late_is_in_time(elsewhere: Elsewhere) -> None:
    elsewhere.led_by("", None)
    elsewhere.ask(timeout_ms=1000)
    elsewhere.wait(500)
    elsewhere.led_by("c", 9093)
    elsewhere.wait(RETRY_MS)
    elsewhere.answer(BLOCK)
    assert elsewhere.outcomes == [BLOCK]


def test_when_this_node_takes_over_it_asks_itself(elsewhere: Elsewhere) -> None:
    elsewhere.ask(AllocateProducerIdsRequest(broker_id=1, broker_epoch=elsewhere.core.metadata.broker_epoch))
    elsewhere.core.controls = True
    elsewhere.wait(WATCH_MS + 50)
    (outcome,) = elsewhere.outcomes
    assert isinstance(outcome, AllocateProducerIdsResponse)
    assert outcome.error_code == 0
    assert outcome.producer_id_len > 0


def test_heartbeats_do_not_wait_behind_what_clients_want(elsewhere: Elsewhere) -> None:
    elsewhere.ask()
    elsewhere.core.to_controller(BrokerHeartbeatRequest(), 1, 1000, elsewhere.outcomes.append)
    assert len(elsewhere.net.channels) == 2


# -- brokers


def test_a_broker_nobody_knows_gets_nothing(elsewhere: Elsewhere) -> None:
    answers: list[Message | None] = []
    elsewhere.core.to_broker(99, "x", AllocateProducerIdsRequest(), 0, 1000, answers.append)
    assert answers == []
    elsewhere.wait(1)
    assert answers == [None]


def test_a_node_may_ask_itself_as_a_broker(elsewhere: Elsewhere) -> None:
    answers: list[Any] = []
    asked = ApiVersionsRequest(client_software_name="n", client_software_version="1")
    elsewhere.core.to_broker(1, "x", asked, 3, 1000, answers.append)
    assert answers == []
    elsewhere.wait(1)
    assert isinstance(answers[0], ApiVersionsResponse)


# -- topics and producer ids that the controller makes


def test_topics_clients_name_are_created_elsewhere_and_awaited_here(elsewhere: Elsewhere) -> None:
    rig = elsewhere.rig
    answers = rig.later(MetadataRequest(topics=[MetadataRequestTopic(name="new")]), 12)
    told = CreateTopicsResponse(topics=[CreatableTopicResult(name="new")])
    elsewhere.answer(told)
    rig.node.settle()
    assert answers == [], "the image here does not have it yet"
    elsewhere.core.controls = True
    topic = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    rig.connect().call(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7)
    assert answers[0].topics[0].error_code == 0
    assert len(answers[0].topics[0].partitions) == 1


def test_a_topic_that_is_slow_to_arrive_is_told_as_coming(elsewhere: Elsewhere) -> None:
    answers = elsewhere.rig.later(MetadataRequest(topics=[MetadataRequestTopic(name="new")]), 12)
    elsewhere.answer(CreateTopicsResponse(topics=[CreatableTopicResult(name="new")]))
    elsewhere.wait(1100)
    assert answers[0].topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE


def test_ids_come_from_the_controllers_block_and_a_refusal_is_told_as_passing(elsewhere: Elsewhere) -> None:
    told: list[int | KafkaError] = []
    elsewhere.core.next_producer_id(told.append)
    elsewhere.core.next_producer_id(told.append)
    elsewhere.answer(AllocateProducerIdsResponse(producer_id_start=7, producer_id_len=1))
    assert told == [7]
    elsewhere.answer(AllocateProducerIdsResponse(error_code=int(ErrorCode.STALE_BROKER_EPOCH)))
    refusal = told[1]
    assert isinstance(refusal, KafkaError)
    assert refusal.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class Brokers:
    """Images in which broker 2 changes."""

    def __init__(self, world: Elsewhere) -> None:
        self.world = world
        self.listener = world.core.config.inter_broker_listener

    def image(self, epoch: int, fenced: bool = False) -> MetadataImage:
        where = (Endpoint(self.listener, "b", 9092),)
        return MetadataImage(brokers={2: BrokerImage(id=2, epoch=epoch, endpoints=where, fenced=fenced)})

    def become(self, image: MetadataImage) -> None:
        """The image is published."""
        core = self.world.core
        before, core.metadata.image = core.metadata.image, image
        core.remote.brokers_changed(before, [2])


@pytest.mark.parametrize("change", ["back", "silent", "gone", "unfenced", "rack"])
def test_what_was_sent_to_a_broker_that_is_another_one_now_gets_no_answer(
    monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    world = Elsewhere(monkeypatch)
    brokers = Brokers(world)
    brokers.become(brokers.image(5, change == "unfenced"))
    answers: list[Message | None] = []
    world.core.to_broker(2, "markers-0", ApiVersionsRequest(), 3, 30_000, answers.append)
    after = {
        "back": brokers.image(6, True),
        "silent": brokers.image(5, True),
        "gone": MetadataImage(),
        "unfenced": brokers.image(5),
        "rack": brokers.image(5),
    }
    brokers.become(after[change])
    assert answers == []
    world.wait(1)
    assert answers == ([None] if change in ("back", "silent", "gone") else [])
