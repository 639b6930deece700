"""A net in virtual time that fails the way nets do, from a seed.

Hosts have names and ports; a stream between two of them delivers bytes in order, each chunk after a while, sometimes
in pieces. A cut direction holds bytes back until it is healed, as TCP does by sending again; a reset loses what is in
flight. A process that dies hangs up (its machine sees to that), a machine without power says nothing at all. Whoever
closes a stream may still have bytes under way: they arrive, however late, at a server whose client has given up.
`SimNet.of(host)` is the `base.ports.Net` of that host; `sim.streams` has the streams themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.ports import Channel, ChannelEvents
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.streams import NOBODY, RESET, SYN, End, Pipe
from tapelog.sim.world import World

LATENCY_MS_MAX: Final = 2
SPIKE_PERCENT: Final = 2
SPIKE_MS_MAX: Final = 60
SYN_AGAIN_MS: Final = 400
SYN_TRIES_MAX: Final = 6
HEAL_MS_MAX: Final = 200
"""After a cut is healed it takes up to that long until what was held back is sent again."""

Acceptor = Callable[[End, str], ChannelEvents]
"""Takes a stream that was opened from the named host; says who hears of it."""


class Host:
    """A machine on the net. `hand` gives what arrives to its process: at once, or when it is no longer stopped."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.powered = True
        self.ports: dict[int, Acceptor] = {}
        self.ends: dict[int, End] = {}
        self.hand: Callable[[Callable[[], None]], None] = _at_once


class HostNet:
    """The Net of one host."""

    def __init__(self, net: SimNet, host: Host) -> None:
        self._net = net
        self._host = host

    def connect(self, host: str, port: int, events: ChannelEvents) -> Channel:
        return self._net.connect(self._host, host, port, events)


class SimNet:
    """See the module. Faults are calls."""

    def __init__(self, world: World, entropy: SimEntropy) -> None:
        self.world = world
        self.entropy = entropy
        self.hosts: dict[str, Host] = {}
        self.listen_in: Callable[[End, bytes], None] | None = None
        """Told of every chunk that is sent, for those who count what happens."""
        self.slow_ms = 0
        self._cuts: dict[tuple[str, str], bool] = {}
        self._stuck: list[Pipe] = []
        self._numbers = 0

    def host(self, name: str) -> Host:
        """The host of that name; made if it is new."""
        found = self.hosts.get(name)
        if found is None:
            found = self.hosts[name] = Host(name)
        return found

    def of(self, name: str) -> HostNet:
        """The port through which that host reaches others."""
        return HostNet(self, self.host(name))

    def connect(self, source: Host, host: str, port: int, events: ChannelEvents) -> End:
        """Open a stream; see base.ports.Net."""
        self._numbers += 1
        target = self.host(host)
        near = End(self, source, self._numbers, client=True)
        far = End(self, target, self._numbers, client=False)
        near.out, far.out = Pipe(self, source, far), Pipe(self, target, near)
        near.events, near.port, far.port = events, port, port
        source.ends[near.number] = near
        near.out.put(SYN)
        return near

    # -- faults

    def cut(self, source: str, target: str) -> None:
        """Nothing gets through in that direction."""
        self._cuts[source, target] = True

    def heal(self) -> None:
        """Everything gets through again; what was held back comes now, or soon."""
        self._cuts.clear()
        stuck, self._stuck = self._stuck, []
        for pipe in stuck:
            pipe.go_on(self.entropy.below(HEAL_MS_MAX))

    def is_cut(self, source: str, target: str) -> bool:
        """Whether that direction is cut."""
        return (source, target) in self._cuts

    def hold(self, pipe: Pipe) -> None:
        """This direction is cut: wait until it is healed."""
        self._stuck.append(pipe)

    def stall(self, host: str, for_ms: int) -> None:
        """What is under way to that host takes that much longer."""
        for end in list(self.host(host).ends.values()):
            if end.peer_pipe is not None:
                end.peer_pipe.delay(for_ms)

    def reset(self, host: str) -> int:
        """Some of a host's streams break, with everything in flight; returns how many."""
        broken = [end for end in self.host(host).ends.values() if self.entropy.chance(50)]
        for end in broken:
            end.snap()
        return len(broken)

    def process_gone(self, host: str) -> None:
        """The process died: its machine hangs up on everybody."""
        machine = self.host(host)
        machine.ports.clear()
        ends, machine.ends = machine.ends, {}
        for end in ends.values():
            end.orphan()
            if self.entropy.chance(40):
                end.out.drop()
            end.out.put(RESET)

    def power_lost(self, host: str) -> None:
        """The machine is off: what it has sent arrives, and then there is silence."""
        machine = self.host(host)
        machine.powered = False
        machine.ports.clear()
        ends, machine.ends = machine.ends, {}
        for end in ends.values():
            end.orphan()
            if self.entropy.chance(50):
                end.out.drop()

    def power_back(self, host: str) -> None:
        """The machine is on again, and knows of none of its streams."""
        self.host(host).powered = True

    # -- for streams

    def latency_ms(self) -> int:
        """How long a chunk takes."""
        entropy = self.entropy
        if entropy.below(100) < SPIKE_PERCENT:
            return entropy.below(SPIKE_MS_MAX)
        return entropy.below(LATENCY_MS_MAX + 1 + self.slow_ms)

    def knock(self, end: End, tries: int = 1) -> None:
        """Somebody asks to be taken in."""
        host, near = end.host, end.out.target
        if near.over:
            return
        if not host.powered:
            if tries < SYN_TRIES_MAX:
                self.world.after(SYN_AGAIN_MS * tries, lambda: self.knock(end, tries + 1))
            return
        acceptor = host.ports.get(end.port)
        if acceptor is None:
            end.over = True
            end.out.put(NOBODY)
            return
        end.accept(acceptor, near.host.name)


def _at_once(action: Callable[[], None]) -> None:
    action()
