"""A broker's life with a controller that says what the test wants: joining, heartbeats, fencing, leaving."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tapelog.base.config import BrokerSettings
from tapelog.base.timers import Timers
from tapelog.metadata.image import Endpoint
from tapelog.node.lifecycle import LEAVE_MS_MAX, SILENCE_MS_MAX, Lifecycle
from tapelog.sim.clock import SimClock
from tapelog.sim.entropy import SimEntropy
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tapelog.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from tapelog.wire.messages.broker_registration_request import BrokerRegistrationRequest
from tapelog.wire.messages.broker_registration_response import BrokerRegistrationResponse
from tapelog.wire.messages.controller_registration_request import ControllerRegistrationRequest
from tapelog.wire.messages.controller_registration_response import ControllerRegistrationResponse

SETTINGS = {
    "broker.heartbeat.interval.ms": 2000,
    "broker.session.timeout.ms": 9000,
    "controlled.shutdown.enable": True,
}


class FakeNode:
    """As much of a node as a lifecycle looks at; `asked` holds what went to the controller and is not answered yet."""

    def __init__(self, roles: tuple[str, ...] = ("broker", "controller")) -> None:
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.entropy = SimEntropy(1)
        self.node_id = 2
        self.alone = False
        self.config = SimpleNamespace(
            cluster_id="c", settings={}, is_broker="broker" in roles, is_controller="controller" in roles
        )
        only = SimpleNamespace(directory_id=b"d" * 16, path="/data")
        self.directory = SimpleNamespace(items=[only], ids=[b"d" * 16], previous_broker_epoch=17, clean=True)
        self.storage = SimpleNamespace(lost_ids=[])
        self.image = SimpleNamespace(offset=10, brokers={})
        self.cordoned = ""
        self.metadata = SimpleNamespace(
            broker_epoch=-1, layers=SimpleNamespace(text=lambda name: self.cordoned), settings=BrokerSettings()
        )
        self.opened = True
        self.asked: list[tuple[Message, Callable[[Message | KafkaError], None]]] = []
        self.given_up: list[str] = []

    def setting_int(self, name: str) -> int:
        return int(SETTINGS[name])

    def setting_bool(self, name: str) -> bool:
        return bool(SETTINGS[name])

    def to_controller(
        self, request: Message, version: int, timeout_ms: int, done: Callable[[Message | KafkaError], None]
    ) -> None:
        self.asked.append((request, done))

    def give_up(self, reason: str) -> None:
        self.given_up.append(reason)


class World:
    """A lifecycle, its node, and a controller that is the test."""

    def __init__(self, roles: tuple[str, ...] = ("broker", "controller")) -> None:
        self.node = FakeNode(roles)
        node: Any = self.node
        self.life = Lifecycle(node)
        self.told: list[str] = []
        self.life.on_running = lambda: self.told.append("running")

    def start(self) -> None:
        self.life.start([Endpoint("PLAINTEXT", "b", 9092)], Endpoint("CONTROLLER", "b", 9093))

    def pass_time(self, by_ms: int) -> None:
        for _ in range(by_ms // 10):
            self.node.clock.advance(10)
            self.node.timers.run_due()
        self.node.timers.run_due()

    def take(self, kind: type[Message]) -> tuple[Any, Callable[[Message | KafkaError], None]]:
        """The one request of that kind that waits for an answer."""
        found = [asked for asked in self.node.asked if isinstance(asked[0], kind)]
        assert len(found) == 1, self.node.asked
        self.node.asked.remove(found[0])
        return found[0]

    def answer(self, kind: type[Message], response: Message | KafkaError) -> Any:
        request, done = self.take(kind)
        done(response)
        return request

    def join(self) -> None:
        """Register and be let in."""
        self.start()
        self.answer(ControllerRegistrationRequest, ControllerRegistrationResponse())
        self.answer(BrokerRegistrationRequest, BrokerRegistrationResponse(broker_epoch=5))
        self.pass_time(0)
        self.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False))
        assert self.life.state == "running"


@pytest.fixture
def world() -> World:
    return World()


def test_a_broker_says_who_it_is_and_how_it_stopped(world: World) -> None:
    world.start()
    request = world.answer(BrokerRegistrationRequest, BrokerRegistrationResponse(broker_epoch=5))
    assert (request.broker_id, request.cluster_id, request.previous_broker_epoch) == (2, "c", 17)
    assert request.log_dirs == [b"d" * 16]
    assert [(e.name, e.host, e.port) for e in request.listeners] == [("PLAINTEXT", "b", 9092)]
    assert world.node.metadata.broker_epoch == 5
    assert world.life.state == "fenced"
    assert world.told == []


def test_it_serves_once_it_is_let_in(world: World) -> None:
    world.join()
    assert world.told == ["running"]


def test_it_waits_for_the_image_to_know_it_before_it_asks_to_be_let_in(world: World) -> None:
    world.start()
    world.answer(BrokerRegistrationRequest, BrokerRegistrationResponse(broker_epoch=12))
    world.pass_time(0)
    assert not [one for one, _ in world.node.asked if isinstance(one, BrokerHeartbeatRequest)]
    world.node.image.offset = 13
    world.life.image_published()
    world.pass_time(0)
    request = world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=False))
    assert (request.broker_epoch, request.current_metadata_offset, request.want_fence) == (12, 12, False)
    assert world.life.state == "running"


def test_a_broker_that_has_not_read_the_metadata_wants_to_stay_fenced(world: World) -> None:
    world.node.opened = False
    world.start()
    world.answer(BrokerRegistrationRequest, BrokerRegistrationResponse(broker_epoch=5))
    world.pass_time(0)
    assert world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=True)).want_fence
    world.node.opened = True
    world.pass_time(200)
    assert not world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=False)).want_fence


def test_heartbeats_keep_their_interval(world: World) -> None:
    world.join()
    world.pass_time(1990)
    assert world.node.asked == []
    world.pass_time(10)
    world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=False))


@pytest.mark.parametrize("code", [ErrorCode.DUPLICATE_BROKER_REGISTRATION, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_a_refusal_that_may_pass_is_tried_again_as_the_same_incarnation(world: World, code: ErrorCode) -> None:
    world.start()
    first = world.answer(BrokerRegistrationRequest, BrokerRegistrationResponse(error_code=int(code)))
    world.pass_time(200)
    second = world.answer(BrokerRegistrationRequest, KafkaError(ErrorCode.REQUEST_TIMED_OUT, ""))
    world.pass_time(200)
    world.take(BrokerRegistrationRequest)
    assert first.incarnation_id == second.incarnation_id
    assert world.node.given_up == []


def test_a_node_of_another_cluster_gives_up_and_says_why(world: World) -> None:
    world.start()
    refused = BrokerRegistrationResponse(error_code=int(ErrorCode.INCONSISTENT_CLUSTER_ID))
    world.answer(BrokerRegistrationRequest, refused)
    (reason,) = world.node.given_up
    assert "INCONSISTENT_CLUSTER_ID" in reason
    assert "cluster_id" in reason


def test_a_fenced_broker_asks_often_and_comes_back(world: World) -> None:
    world.join()
    world.pass_time(2000)
    world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=True))
    assert world.life.state == "fenced"
    world.pass_time(200)
    world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=False))
    assert world.life.state == "running"
    assert world.told == ["running"], "told once"


@pytest.mark.parametrize("code", [ErrorCode.BROKER_ID_NOT_REGISTERED, ErrorCode.STALE_BROKER_EPOCH])
def test_a_broker_nobody_knows_registers_anew_and_names_its_last_epoch(world: World, code: ErrorCode) -> None:
    world.join()
    incarnation = world.life.incarnation_id
    world.pass_time(2000)
    world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(error_code=int(code)))
    request = world.answer(BrokerRegistrationRequest, BrokerRegistrationResponse(broker_epoch=9))
    assert request.previous_broker_epoch == 5
    assert request.incarnation_id != incarnation
    assert world.life.epoch == 9


def test_silence_of_the_controller_is_not_a_reason_to_stop(world: World) -> None:
    world.join()
    world.pass_time(2000)
    for _ in range(20):
        world.answer(BrokerHeartbeatRequest, KafkaError(ErrorCode.REQUEST_TIMED_OUT, ""))
        world.pass_time(200)
    assert world.life.state == "running"


# -- leaving


def test_a_broker_leaves_when_the_controller_says_so(world: World) -> None:
    world.join()
    world.life.leave(lambda: world.told.append("left"))
    world.pass_time(0)
    assert world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=False)).want_shut_down
    assert world.told == ["running"]
    world.pass_time(200)
    world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=False, should_shut_down=True))
    assert world.told == ["running", "left"]


def test_it_asks_again_as_soon_as_leaders_moved(world: World) -> None:
    world.join()
    world.life.leave(lambda: world.told.append("left"))
    world.pass_time(0)
    world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=False))
    world.life.image_published()
    world.pass_time(0)
    world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(should_shut_down=True))
    assert world.told[-1] == "left"


def test_it_leaves_by_itself_when_nobody_answers(world: World) -> None:
    world.join()
    world.life.leave(lambda: world.told.append("left"))
    world.pass_time(SILENCE_MS_MAX - 10)
    assert world.told == ["running"]
    world.pass_time(10)
    assert world.told == ["running", "left"]


def test_it_does_not_wait_for_ever_for_others_to_take_over(world: World) -> None:
    world.join()
    world.life.leave(lambda: world.told.append("left"))
    for _ in range(LEAVE_MS_MAX // 200):
        world.pass_time(200)
        world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_fenced=False))
    assert world.told == ["running", "left"]


def test_a_heartbeat_under_way_does_not_keep_it_from_asking_to_leave(world: World) -> None:
    world.join()
    world.pass_time(2000)
    _, done = world.take(BrokerHeartbeatRequest)
    world.life.leave(lambda: world.told.append("left"))
    world.pass_time(100)
    assert world.node.asked == []
    done(BrokerHeartbeatResponse(is_fenced=False))
    world.pass_time(200)
    assert world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(should_shut_down=True)).want_shut_down
    assert world.told == ["running", "left"]


def test_one_that_was_never_let_in_may_go_at_once(world: World) -> None:
    world.start()
    world.life.leave(lambda: world.told.append("left"))
    world.pass_time(0)
    assert world.told == ["left"]


def test_a_controller_alone_only_says_where_it_listens() -> None:
    world = World(("controller",))
    world.start()
    assert world.told == ["running"]
    world.answer(ControllerRegistrationRequest, KafkaError(ErrorCode.REQUEST_TIMED_OUT, ""))
    world.pass_time(200)
    request = world.answer(ControllerRegistrationRequest, ControllerRegistrationResponse())
    assert [(e.name, e.port) for e in request.listeners] == [("CONTROLLER", 9093)]
    world.pass_time(10_000)
    assert world.node.asked == []


@pytest.mark.parametrize(("setting", "told"), [("", []), ("*", [b"d" * 16]), ("/data", [b"d" * 16]), ("/other", [])])
def test_cordoned_directories_are_told_with_every_heartbeat(world: World, setting: str, told: list[bytes]) -> None:
    world.join()
    world.node.cordoned = setting
    world.pass_time(2000)
    request, _ = world.take(BrokerHeartbeatRequest)
    assert request.cordoned_log_dirs == told


def test_news_of_a_leaving_broker_are_acknowledged_at_once_and_once(world: World) -> None:
    world.join()
    world.node.image.brokers = {3: SimpleNamespace(epoch=4, in_controlled_shutdown=True, fenced=False)}
    world.life.image_published()
    world.pass_time(0)
    world.answer(BrokerHeartbeatRequest, BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False))
    world.life.image_published()
    world.pass_time(0)
    assert world.node.asked == []


def test_a_new_controller_hears_of_a_broker_at_once(world: World) -> None:
    world.join()
    world.pass_time(500)
    assert world.node.asked == []
    world.life.controller_changed()
    world.pass_time(0)
    world.take(BrokerHeartbeatRequest)
    world.life.controller_changed()
    world.pass_time(0)
    assert world.node.asked == [], "one is under way: it finds the new controller by itself"


def test_a_broker_that_is_not_registered_yet_has_nothing_to_say_to_a_new_controller(world: World) -> None:
    world.life.controller_changed()
    world.start()
    world.life.controller_changed()
    world.pass_time(0)
    assert [type(request) for request, _ in world.node.asked] == [
        ControllerRegistrationRequest,
        BrokerRegistrationRequest,
    ]
