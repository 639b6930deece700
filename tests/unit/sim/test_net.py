"""The simulated net: bytes in order, cuts that hold them back, resets that lose them, clients that have given up."""

from __future__ import annotations

from tapelog.sim.entropy import SimEntropy
from tapelog.sim.net import SimNet
from tapelog.sim.streams import End
from tapelog.sim.world import World


class Party:
    """One side of a stream, as it hears of it."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.data = b""
        self.end: End | None = None

    def opened(self) -> None:
        self.heard.append("opened")

    def received(self, data: bytes) -> None:
        self.data += data

    def closed(self, reason: str) -> None:
        self.heard.append(f"closed: {reason}")


class Pair:
    """A client on c and a server on s that listens on port 1."""

    def __init__(self, seed: int = 0) -> None:
        self.world = World()
        self.net = SimNet(self.world, SimEntropy(seed))
        self.server = Party()
        self.listen()
        self.client = Party()
        self.channel = self.net.of("c").connect("s", 1, self.client)

    def listen(self) -> None:
        def accept(end: End, source: str) -> Party:
            assert source == "c"
            self.server.end = end
            return self.server

        self.net.host("s").ports[1] = accept


def test_bytes_arrive_in_order_however_they_are_cut() -> None:
    for seed in range(20):
        pair = Pair(seed)
        sent = b"".join(b"%d," % number for number in range(200))
        for number in range(200):
            pair.channel.send(b"%d," % number)
            pair.world.run(1)
        pair.world.run(1000)
        assert pair.server.data == sent
        assert pair.client.heard == ["opened"]


def test_answers_come_back() -> None:
    pair = Pair()
    pair.world.run(200)
    assert pair.server.end is not None
    pair.server.end.send(b"answer")
    pair.world.run(200)
    assert pair.client.data == b"answer"


def test_nobody_listens() -> None:
    pair = Pair()
    other = Party()
    pair.net.of("c").connect("s", 2, other)
    pair.world.run(1000)
    assert other.heard == ["closed: Connection refused"]


def test_a_cut_holds_bytes_back_until_it_is_healed() -> None:
    pair = Pair()
    pair.world.run(200)
    pair.net.cut("c", "s")
    pair.channel.send(b"late")
    pair.world.run(5000)
    assert pair.server.data == b""
    assert pair.server.end is not None
    pair.server.end.send(b"the other way is open")
    pair.world.run(500)
    assert pair.client.data == b"the other way is open"
    pair.net.heal()
    pair.world.run(500)
    assert pair.server.data == b"late"


def test_what_a_client_sent_before_it_gave_up_may_arrive_long_after() -> None:
    late = 0
    for seed in range(30):
        pair = Pair(seed)
        pair.world.run(200)
        pair.net.cut("c", "s")
        pair.channel.send(b"request")
        pair.world.run(100)
        pair.channel.close()
        pair.world.run(5000)
        assert pair.server.data == b""
        pair.net.heal()
        pair.world.run(1000)
        late += pair.server.data == b"request"
        assert pair.server.heard[-1].startswith("closed")
        assert pair.client.heard == ["opened"]
    assert 0 < late < 30


def test_a_reset_loses_what_is_in_flight_and_both_sides_hear_of_it() -> None:
    for seed in range(20):
        pair = Pair(seed)
        pair.world.run(200)
        pair.channel.send(b"gone")
        while not pair.net.reset("c"):
            pass
        pair.world.run(1000)
        assert pair.server.data == b""
        assert pair.client.heard == ["opened", "closed: reset"]
        assert pair.server.heard == ["closed: reset"]


def test_a_process_that_dies_hangs_up() -> None:
    pair = Pair()
    pair.world.run(200)
    pair.net.process_gone("s")
    pair.world.run(200)
    assert pair.client.heard == ["opened", "closed: reset"]
    assert pair.server.heard == []


def test_a_machine_without_power_says_nothing_until_somebody_asks_it_after_it_is_back() -> None:
    pair = Pair()
    pair.world.run(200)
    pair.net.power_lost("s")
    pair.channel.send(b"hello?")
    pair.world.run(5000)
    assert pair.client.heard == ["opened"]
    pair.net.power_back("s")
    pair.channel.send(b"hello!")
    pair.world.run(200)
    assert pair.client.heard == ["opened", "closed: reset"]


def test_who_connects_while_the_machine_is_off_gets_through_when_it_is_on_soon_enough() -> None:
    pair = Pair()
    pair.net.power_lost("s")
    pair.channel.send(b"patience")
    pair.world.run(300)
    pair.net.power_back("s")
    pair.listen()
    pair.world.run(2000)
    assert pair.server.data == b"patience"


def test_what_arrives_at_a_stopped_process_waits_for_it() -> None:
    pair = Pair()
    waiting = []
    pair.net.host("s").hand = waiting.append
    pair.channel.send(b"request")
    pair.world.run(500)
    assert pair.client.heard == ["opened"]
    assert pair.server.data == b""
    for action in waiting:
        action()
    assert pair.server.data == b"request"


def test_a_stall_delays_what_is_under_way() -> None:
    pair = Pair()
    pair.world.run(200)
    pair.channel.send(b"slow")
    pair.net.stall("s", 3000)
    pair.world.run(2000)
    assert pair.server.data == b""
    pair.world.run(2000)
    assert pair.server.data == b"slow"
