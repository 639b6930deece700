"""Ports for programs that must be told theirs before they listen."""

from __future__ import annotations

from tapelog.cli.cluster_files import Ports


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on just now.

    Not of those that the system gives to whoever asks for any, or connects to somebody: the program takes some seconds
    until it listens, and other tests run meanwhile.
    """
    ports = Ports()
    return [ports.free() for _ in range(count)]


def free_port() -> int:
    """One of them."""
    return free_ports(1)[0]
