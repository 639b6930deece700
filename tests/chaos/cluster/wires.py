"""The network between nodes: a namespace each, joined by a bridge, any direction of any link cut without a word.

A cut is made in the neighbour table of the sender: frames go to a station that does not exist. So packets are lost
silently, as on a broken wire: connections stay open and hang, nobody is refused. Clients live in the root namespace, on
the bridge's own address (`CLIENTS`).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
from typing import Final, Protocol

CLIENTS: Final = 0
"""The place of the clients, beside the nodes from 1 on."""

NOBODY: Final = "02:de:ad:00:00:00"
TAKEN: Final = "File exists"
_made = itertools.count()


class Wires(Protocol):
    """Where nodes listen, how they are started there, and what can be cut."""

    can_cut: bool

    def host(self, number: int) -> str:
        """The address of a node."""
        ...

    def wrap(self, number: int, command: list[str]) -> list[str]:
        """The command that runs a command at the node's place."""
        ...

    def cut(self, sender: int, receiver: int) -> None:
        """What one sends does not reach the other any more."""
        ...

    def heal(self) -> None:
        """Everything arrives again."""
        ...

    def close(self) -> None:
        """Remove what was made."""
        ...


class Loopback:
    """All nodes on one host; nothing can be cut."""

    can_cut = False

    def host(self, number: int) -> str:
        return "127.0.0.1"

    def wrap(self, number: int, command: list[str]) -> list[str]:
        return command

    def cut(self, sender: int, receiver: int) -> None:
        raise NotImplementedError("there are no wires on the loopback")

    def heal(self) -> None: ...

    def close(self) -> None: ...


class Namespaces:
    """A namespace per node. Every network of a process has its own names: the kernel takes its time to remove one."""

    can_cut = True

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        made = next(_made)
        mark = (os.getpid() + 7919 * made) % 65_000
        self._name = f"tl{os.getpid():x}{chr(ord('a') + made % 26)}"
        self._net = f"10.{64 + mark // 250 % 128}.{mark % 250}"
        self._macs: dict[int, str] = {}
        self._cut: dict[tuple[int, int], None] = {}
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self) -> None:
        bridge = self._name
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{self._net}.254/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for number in range(1, self._nodes + 1):
            space, outer = self._space(number), self._outer(number)
            _ip("netns", "add", space)
            _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", outer, "master", bridge, "up")
            _ip("-n", space, "addr", "add", f"{self.host(number)}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "link", "set", "lo", "up")
            self._macs[number] = _mac("-n", space, "link", "show", "eth0")
        self._macs[CLIENTS] = _mac("link", "show", bridge)
        self.heal()
        for sender in range(self._nodes + 1):
            for receiver in range(self._nodes + 1):
                if sender != receiver:
                    self._tell(sender, receiver, self._macs[receiver])

    def host(self, number: int) -> str:
        return f"{self._net}.{254 if number == CLIENTS else number}"

    def wrap(self, number: int, command: list[str]) -> list[str]:
        return ["ip", "netns", "exec", self._space(number), *command]

    def cut(self, sender: int, receiver: int) -> None:
        self._tell(sender, receiver, NOBODY)
        self._cut[sender, receiver] = None

    def heal(self) -> None:
        for sender, receiver in self._cut:
            self._tell(sender, receiver, self._macs[receiver])
        self._cut.clear()

    def close(self) -> None:
        links = [self._outer(number) for number in range(1, self._nodes + 1)]
        for link in (*links, self._name):  # a namespace that goes takes its link along, but only some time later
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("link", "del", link)
        for number in range(1, self._nodes + 1):
            with contextlib.suppress(subprocess.CalledProcessError):
                _ip("netns", "del", self._space(number))

    def _space(self, number: int) -> str:
        return f"{self._name}n{number}"

    def _outer(self, number: int) -> str:
        return f"{self._name}v{number}"

    def _tell(self, sender: int, receiver: int, mac: str) -> None:
        """The sender believes that the receiver is that station."""
        where, device = ([], self._name) if sender == CLIENTS else (["-n", self._space(sender)], "eth0")
        neighbour = ["replace", self.host(receiver), "lladdr", mac, "dev", device, "nud", "permanent"]
        _ip(*where, "neigh", *neighbour)


def wires(nodes: int) -> Wires:
    """Namespaces where they can be made, else the loopback. A name that is taken is a mistake of ours, not a reason."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return Loopback()
    try:
        return Namespaces(nodes)
    except subprocess.CalledProcessError as error:
        if TAKEN in error.stderr:
            raise RuntimeError(f"{' '.join(error.cmd)}: {error.stderr.strip()}") from error
        return Loopback()


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


def _mac(*words: str) -> str:
    told = _ip(*words).split()
    return told[told.index("link/ether") + 1]
