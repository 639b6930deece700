"""Requests to other nodes: lanes, order, time limits, lost connections, back-off."""

from __future__ import annotations

import pytest

from tapelog.base.timers import Timers
from tapelog.client.peers import IN_FLIGHT_MAX, Peers
from tapelog.sim.clock import SimClock
from tapelog.wire.message import Message
from tapelog.wire.messages.metadata_request import MetadataRequest
from tapelog.wire.messages.vote_request import VoteRequest
from tapelog.wire.messages.vote_response import VoteResponse
from tests.unit.client.fake_net import FakeChannel, FakeNet, frame

TIMEOUT_MS = 1000


class World:
    """Peers of a node on a fake net, and every outcome they reported."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.timers = Timers(self.clock)
        self.net = FakeNet()
        self.peers = Peers(self.net, self.timers, self.clock, "node-1")
        self.outcomes: list[tuple[str, Message | None]] = []

    def send(self, name: str, lane: str = "raft", port: int = 9093, timeout_ms: int = TIMEOUT_MS) -> None:
        before = len(self.outcomes)
        self.peers.send(
            "b", port, lane, VoteRequest(cluster_id=name), 1, timeout_ms, lambda got: self.outcomes.append((name, got))
        )
        assert len(self.outcomes) == before, "told before send returned"

    def pass_time(self, by_ms: int) -> None:
        self.clock.advance(by_ms)
        self.timers.run_due()

    @property
    def channel(self) -> FakeChannel:
        return self.net.channels[-1]


@pytest.fixture
def world() -> World:
    return World()


def test_a_request_is_sent_and_its_answer_handed_over(world: World) -> None:
    world.send("x")
    ((key, version, correlation, client, request),) = world.channel.requests()
    assert (key, version, client) == (52, 1, "node-1")
    assert isinstance(request, VoteRequest) and request.cluster_id == "x"
    world.channel.events.opened()
    world.channel.answer(correlation, VoteResponse(error_code=7), 1)
    assert world.outcomes == [("x", VoteResponse(error_code=7))]


def test_requests_of_a_lane_share_a_connection_and_lanes_do_not(world: World) -> None:
    world.send("a")
    world.send("b")
    world.send("c", lane="fetch")
    world.send("d", port=9094)
    assert [channel.address for channel in world.net.channels] == [("b", 9093), ("b", 9093), ("b", 9094)]
    assert [len(channel.requests()) for channel in world.net.channels] == [2, 1, 1]


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_answers_may_come_in_any_pieces(world: World, piece: int) -> None:
    world.send("a")
    world.send("b")
    correlations = [correlation for _, _, correlation, _, _ in world.channel.requests()]
    data = b"".join(frame(c, VoteResponse(error_code=c), 1) for c in correlations)
    for start in range(0, len(data), piece):
        world.channel.events.received(data[start : start + piece])
    assert world.outcomes == [(n, VoteResponse(error_code=c)) for n, c in zip("ab", correlations, strict=True)]


def test_an_answer_that_does_not_come_in_time_costs_the_connection_and_everything_on_it(world: World) -> None:
    world.send("slow", timeout_ms=500)
    world.send("patient", timeout_ms=5000)
    first = world.channel
    world.pass_time(499)
    assert world.outcomes == []
    world.pass_time(1)
    assert world.outcomes == [("slow", None), ("patient", None)]
    assert first.closed


def test_a_shorter_time_limit_behind_a_longer_one_is_kept(world: World) -> None:
    world.send("patient", timeout_ms=5000)
    world.send("slow", timeout_ms=500)
    world.pass_time(500)
    assert world.outcomes == [("patient", None), ("slow", None)]


def test_an_answered_request_has_no_deadline_any_more(world: World) -> None:
    world.send("a", timeout_ms=500)
    ((_, _, correlation, _, _),) = world.channel.requests()
    world.channel.answer(correlation, VoteResponse(), 1)
    world.pass_time(100)
    world.send("b", timeout_ms=500)
    world.pass_time(400)
    assert world.outcomes == [("a", VoteResponse())]
    world.pass_time(100)
    assert world.outcomes[1:] == [("b", None)]


def test_after_a_failed_connect_requests_fail_at_once_until_the_back_off_is_over(world: World) -> None:
    waits = []
    for _ in range(7):
        world.send("x")
        opened = len(world.net.channels)
        world.channel.events.closed("refused")
        assert world.outcomes.pop() == ("x", None)
        waited = 0
        while len(world.net.channels) == opened:
            world.send("y")
            if len(world.net.channels) > opened:
                world.channel.events.closed("refused")
                break
            world.pass_time(10)
            waited += 10
            assert world.outcomes.pop() == ("y", None)
        world.outcomes.clear()
        waits.append(waited)
        world.pass_time(1000)
    assert waits[0] == 50
    assert waits == sorted(waits)
    assert waits[-1] == 1000


def test_a_connection_that_served_is_opened_again_at_once(world: World) -> None:
    world.send("a")
    ((_, _, correlation, _, _),) = world.channel.requests()
    world.channel.answer(correlation, VoteResponse(), 1)
    world.channel.events.closed("reset")
    world.send("b")
    assert len(world.net.channels) == 2
    assert world.outcomes == [("a", VoteResponse())]


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff",
        frame(99, VoteResponse(), 1),
        b"\0\0\0\5" + frame(1, VoteResponse(), 1)[4:9],
    ],
    ids=["negative size", "huge", "wrong correlation id", "cut short"],
)
def test_a_strange_answer_costs_the_connection(world: World, garbage: bytes) -> None:
    world.send("a")
    world.channel.events.received(garbage)
    assert world.outcomes == [("a", None)]
    assert world.channel.closed


def test_an_answer_nobody_asked_for_costs_the_connection(world: World) -> None:
    world.send("a")
    world.channel.answer(1, VoteResponse(), 1)
    world.channel.answer(2, VoteResponse(), 1)
    assert world.channel.closed
    assert world.outcomes == [("a", VoteResponse())]


def test_a_forgotten_node_is_dropped_and_may_be_met_again(world: World) -> None:
    world.send("a")
    first = world.channel
    world.peers.forget("b", 9093)
    assert world.outcomes == []
    world.pass_time(0)
    assert world.outcomes == [("a", None)]
    assert first.closed
    world.send("b")
    assert world.channel is not first


def test_a_sender_may_send_from_within_an_answer(world: World) -> None:
    def again(_: Message | None) -> None:
        world.send("next")

    world.peers.send("b", 9093, "raft", VoteRequest(), 1, TIMEOUT_MS, again)
    world.channel.answer(1, VoteResponse(), 1)
    world.channel.answer(2, VoteResponse(error_code=3), 1)
    assert world.outcomes == [("next", VoteResponse(error_code=3))]


def test_a_sender_that_tries_again_from_within_a_loss_is_told_later(world: World) -> None:
    def again(got: Message | None) -> None:
        assert got is None
        world.send("next")

    world.peers.send("b", 9093, "raft", VoteRequest(), 1, TIMEOUT_MS, again)
    world.channel.events.closed("refused")
    assert world.outcomes == []
    world.pass_time(0)
    assert world.outcomes == [("next", None)]


def test_what_a_lane_has_in_flight_is_bounded(world: World) -> None:
    for number in range(IN_FLIGHT_MAX + 1):
        world.send(str(number))
    world.pass_time(0)
    assert world.outcomes == [(str(IN_FLIGHT_MAX), None)]


def test_nothing_is_sent_or_told_after_the_close(world: World) -> None:
    world.send("a")
    world.peers.close()
    assert world.channel.closed
    assert world.outcomes == []


def test_headers_that_are_not_flexible_are_written_so(world: World) -> None:
    world.peers.send("b", 9092, "x", MetadataRequest(topics=[]), 5, TIMEOUT_MS, lambda _: None)
    ((key, version, _, _, request),) = world.channel.requests()
    assert (key, version) == (3, 5)
    assert isinstance(request, MetadataRequest)
