"""What happens to nodes: each fault begins, lasts, and is mended; nobody but the story knows when."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.chaos.cluster.nodes import Node
from tests.chaos.cluster.wires import CLIENTS, Wires

LONG_S: Final = 40.0
"""The longest pause: far longer than a broker's session."""
SKEW_S: Final = 3600.0


@dataclass
class Fault:
    """One fault: what it is, how long it lasts, how it begins and how it ends."""

    name: str
    seconds: float
    begin: Callable[[], None]
    mend: Callable[[], None]
    nodes: tuple[int, ...]


class Faults:
    """Faults by kind, on nodes and wires; which of them, when and for how long is chance from a seed."""

    def __init__(self, nodes: Sequence[Node], wires: Wires, chance: random.Random, longest_s: float = LONG_S) -> None:
        self.nodes = list(nodes)
        self.wires = wires
        self.chance = chance
        self.longest_s = longest_s

    def kinds(self) -> list[str]:
        """What can be broken here, one node at a time."""
        kinds = ["kill", "kill and back at once", "pause", "long pause", "stop"]
        if self.wires.can_cut:
            kinds += ["cut off", "cut from nodes", "one-way cut", "one wire"]
        if all(node.disk.can_fill for node in self.nodes):
            kinds.append("full disk")
        if all(node.clock.can_skew for node in self.nodes):
            kinds.append("clock")
        return kinds

    def one(self, kind: str, node: Node | None = None) -> Fault:
        """A fault of that kind on one node."""
        chance = self.chance
        node = chance.choice(self.nodes) if node is None else node
        number = node.number
        others = [other.number for other in self.nodes if other is not node]
        short_s = chance.uniform(0.5, min(8.0, self.longest_s))
        match kind:
            case "kill":
                return Fault(f"kill {number}", short_s, node.kill, node.start, (number,))
            case "kill and back at once":
                return Fault(f"kill and start {number}", 0.0, node.kill, node.start, (number,))
            case "pause":
                return Fault(f"pause {number}", short_s, node.pause, node.resume, (number,))
            case "long pause":
                seconds = chance.uniform(min(10.0, self.longest_s), self.longest_s)
                return Fault(f"pause {number}", seconds, node.pause, node.resume, (number,))
            case "stop":
                return Fault(f"stop {number}", short_s, node.stop, node.start, (number,))
            case "cut off":
                return self._cut(f"cut off {number}", short_s, number, [*others, CLIENTS], both=True)
            case "cut from nodes":
                return self._cut(f"cut {number} from nodes", short_s, number, others, both=True)
            case "one-way cut":
                return self._cut(f"nodes do not hear {number}", short_s, number, others, both=False)
            case "one wire":
                return self._cut(f"cut {number}", short_s, number, [chance.choice(others)], both=True)
            case "full disk":
                return Fault(f"fill disk {number}", short_s, node.disk.fill, lambda: self._free(node), (number,))
            case "clock":
                ahead_s = chance.uniform(-SKEW_S, SKEW_S)
                set_wrong, set_right = lambda: node.clock.set(ahead_s), lambda: node.clock.set(0.0)
                return Fault(f"clock {number} by {ahead_s:.0f} s", short_s, set_wrong, set_right, (number,))
        raise ValueError(kind)

    def several(self, count: int) -> Fault:
        """So many nodes at once: killed, or paused, or some of each; all of them come back."""
        victims = self.chance.sample(self.nodes, count)
        ways = [self.chance.choice(["kill", "kill", "pause"]) for _ in victims]
        if self.chance.random() < 0.5:
            ways = ["kill"] * count

        def begin() -> None:
            for node, way in zip(victims, ways, strict=True):
                node.kill() if way == "kill" else node.pause()

        def mend() -> None:
            order = list(victims)
            self.chance.shuffle(order)
            for node in order:
                node.resume()
                node.start()

        numbers = tuple(node.number for node in victims)
        told = ", ".join(f"{way} {number}" for way, number in zip(ways, numbers, strict=True))
        return Fault(f"at once: {told}", self.chance.uniform(0.2, 5.0), begin, mend, numbers)

    def mend_all(self) -> None:
        """Nothing is broken any more."""
        self.wires.heal()
        for node in self.nodes:
            node.disk.free()
            node.clock.set(0.0)
            node.resume()
            node.start()

    @staticmethod
    def _free(node: Node) -> None:
        """Make room; a node that ended because it had none is started again."""
        node.disk.free()
        node.start()

    def _cut(self, name: str, seconds: float, number: int, others: list[int], *, both: bool) -> Fault:
        def begin() -> None:
            for other in others:
                self.wires.cut(number, other)
                if both:
                    self.wires.cut(other, number)

        words = f"{name} from {others[0]}" if len(others) == 1 else name
        return Fault(words, seconds, begin, self.wires.heal, (number,))
