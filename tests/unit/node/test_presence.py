"""A broker whose process has ended is fenced at once; one that merely hung up, or that a firewall hides, is not."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tapelog.base.ports import REFUSED
from tapelog.base.timers import Timers
from tapelog.metadata.image import BrokerImage, Endpoint
from tapelog.metadata.sessions import BrokerSessions
from tapelog.node.presence import KNOCKS_AFTER_MS, Presence
from tapelog.server.routes import ON_CONTROLLER
from tapelog.sim.clock import SimClock
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tests.support.rig import Rig
from tests.unit.client.fake_net import FakeNet


class World:
    """The active controller, node 1, of brokers 1 to 3."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.net = FakeNet()
        self.fenced: list[tuple[int, int]] = []
        brokers = {
            id: BrokerImage(id, epoch=10 + id, endpoints=(Endpoint("PLAINTEXT", f"b{id}", 9092),), fenced=False)
            for id in (1, 2, 3)
        }
        self.node: Any = SimpleNamespace(
            node_id=1,
            controls=True,
            clock=self.clock,
            timers=self.timers,
            image=SimpleNamespace(brokers=brokers),
            config=SimpleNamespace(inter_broker_listener="PLAINTEXT", is_controller=True),
            controller=SimpleNamespace(
                fence_broker=lambda image, id, epoch: self.fenced.append((id, epoch)),
                sessions=BrokerSessions(self.clock, 9000),
            ),
            change_metadata=self._change,
        )
        self.presence = Presence(self.node, self.net)
        for id in brokers:
            self.beat(id)

    def beat(self, id: int, connection: int = 7) -> None:
        """A heartbeat comes."""
        self.presence.heard(id, connection)
        self.node.controller.sessions.heard(id, self.node.image.brokers[id].epoch)

    def let_in(self) -> None:
        """The brokers were let in, and this node gets through to them."""
        self.presence.brokers_changed()
        for channel in self.net.channels:
            channel.events.opened()
        self.net.channels.clear()

    def _change(self, operation: Callable[[object], object], done: Callable[[object], None]) -> None:
        done(operation(self.node.image))

    def pass_time(self, by_ms: int) -> None:
        for _ in range(by_ms // 10):
            self.clock.advance(10)
            self.timers.run_due()
        self.timers.run_due()


@pytest.fixture
def world() -> World:
    world = World()
    world.let_in()
    return world


def test_a_broker_nobody_listens_for_any_more_is_fenced(world: World) -> None:
    world.presence.hung_up(2, 7)
    world.pass_time(0)
    (channel,) = world.net.channels
    assert channel.address == ("b2", 9092)
    channel.events.closed(REFUSED)
    assert world.fenced == [(2, 12)]


@pytest.mark.parametrize("reason", ["Connection reset by peer", "closed by the other side", "No route to host"])
def test_any_other_end_means_nothing(world: World, reason: str) -> None:
    world.presence.hung_up(2, 7)
    world.pass_time(0)
    world.net.channels[0].events.closed(reason)
    assert world.fenced == []


def test_a_process_that_dies_slowly_is_found_out_within_a_second(world: World) -> None:
    world.presence.hung_up(2, 7)
    world.pass_time(0)
    world.net.channels[0].events.opened()
    assert world.net.channels[0].closed
    world.pass_time(KNOCKS_AFTER_MS[-1])
    assert len(world.net.channels) == len(KNOCKS_AFTER_MS)
    world.net.channels[-1].events.closed(REFUSED)
    assert world.fenced == [(2, 12)]


def test_a_knock_nobody_answers_is_given_up(world: World) -> None:
    world.presence.hung_up(2, 7)
    world.pass_time(0)
    world.pass_time(500)
    assert world.net.channels[0].closed


def test_a_new_controller_knocks_on_everybody_else(world: World) -> None:
    world.presence.active_changed(True)
    assert [channel.address for channel in world.net.channels] == [("b2", 9092), ("b3", 9092)]
    world.net.channels[1].events.closed(REFUSED)
    assert world.fenced == [(3, 13)]


def test_only_the_active_controller_cares(world: World) -> None:
    world.node.controls = False
    world.presence.hung_up(2, 7)
    world.presence.active_changed(False)
    world.pass_time(1000)
    assert world.net.channels == []


def test_a_broker_that_left_or_came_back_meanwhile_is_let_be(world: World) -> None:
    world.presence.hung_up(2, 7)
    world.pass_time(0)
    world.node.image.brokers[2] = BrokerImage(2, epoch=99, fenced=False)
    world.net.channels[0].events.closed(REFUSED)
    world.node.image.brokers[2] = BrokerImage(2, epoch=12, fenced=True)
    world.net.channels[0].events.closed(REFUSED)
    assert world.fenced == []
    world.pass_time(1000)
    assert len(world.net.channels) == 1, "fenced already"


def test_the_end_of_the_connection_that_heartbeats_came_on_is_noticed() -> None:
    rig = Rig()
    core: Any = rig.node.core
    ended: list[tuple[int, int]] = []
    came: list[int] = []
    core.presence = SimpleNamespace(
        heard=lambda id, connection: came.append(connection),
        hung_up=lambda id, connection: ended.append((id, connection)),
    )
    client, other = rig.connect(), rig.connect()
    client.connection.side = ON_CONTROLLER
    client.call(BrokerHeartbeatRequest(broker_id=1, broker_epoch=core.metadata.broker_epoch), 1)
    other.hang_up()
    assert ended == []
    client.hang_up()
    assert ended == [(1, client.connection.number)] and came == [client.connection.number]


def test_of_several_endpoints_only_the_clusters_own_says_anything(world: World) -> None:
    clients = (Endpoint("OUTSIDE", "localhost", 9092), Endpoint("INSIDE", "b2", 9093))
    world.node.image.brokers[2] = BrokerImage(2, epoch=12, endpoints=clients, fenced=False)
    world.node.image.brokers[3] = BrokerImage(3, epoch=13, endpoints=clients[1:], fenced=False)
    world.presence.active_changed(True)
    assert [channel.address for channel in world.net.channels] == [("b2", 9093)], "broker 3 has but one"


def test_a_refusal_where_this_node_never_got_through_says_nothing() -> None:
    world = World()
    world.presence.brokers_changed()
    assert [channel.address for channel in world.net.channels] == [("b2", 9092), ("b3", 9092)]
    world.net.channels[0].events.closed(REFUSED)  # a firewall, say: it was let in this moment
    world.net.channels[1].events.opened()
    world.net.channels.clear()
    world.presence.hung_up(2, 7)
    world.presence.hung_up(3, 7)
    world.pass_time(0)
    for channel in world.net.channels:
        channel.events.closed(REFUSED)
    world.presence.active_changed(True)
    world.net.channels[-2].events.closed(REFUSED)
    assert world.fenced == [(3, 13)], "its session's time decides about broker 2"


def test_a_broker_that_is_back_as_another_process_must_be_reached_anew(world: World) -> None:
    world.node.image.brokers[2] = BrokerImage(2, epoch=20, endpoints=(Endpoint("PLAINTEXT", "b2", 9092),), fenced=False)
    world.beat(2)
    world.presence.brokers_changed()
    (channel,) = world.net.channels
    assert channel.address == ("b2", 9092), "the others were reached already"
    channel.events.closed(REFUSED)
    world.presence.hung_up(2, 7)
    world.pass_time(0)
    world.net.channels[1].events.closed(REFUSED)
    assert world.fenced == []


def test_a_heartbeat_after_the_hang_up_outweighs_a_refusal(world: World) -> None:
    world.presence.hung_up(2, 7)
    world.pass_time(50)
    world.beat(2, connection=8)
    for channel in world.net.channels:
        channel.events.closed(REFUSED)
    assert world.fenced == []


def test_a_connection_that_ends_after_heartbeats_moved_to_another_is_nobodys_end(world: World) -> None:
    world.beat(2, connection=8)
    world.presence.hung_up(2, 7)
    world.pass_time(1000)
    assert world.net.channels == []
    world.presence.hung_up(2, 8)
    world.pass_time(0)
    assert len(world.net.channels) == 1


def test_a_controller_that_is_not_active_learns_whom_it_reaches_but_fences_nobody(world: World) -> None:
    world.node.controls = False
    world.node.image.brokers[2] = BrokerImage(2, epoch=20, endpoints=(Endpoint("PLAINTEXT", "b2", 9092),), fenced=False)
    world.presence.brokers_changed()
    world.net.channels[0].events.opened()
    world.node.controls = True
    world.presence.active_changed(True)
    world.net.channels[1].events.closed(REFUSED)
    assert world.fenced == [(2, 20)]


def test_a_broker_alone_asks_nobody(world: World) -> None:
    world.node.config.is_controller = False
    world.node.image.brokers[2] = BrokerImage(2, epoch=20, endpoints=(Endpoint("PLAINTEXT", "b2", 9092),), fenced=False)
    world.presence.brokers_changed()
    assert world.net.channels == []
