"""A real broker or cluster for tests: `with Cluster(nodes=3) as cluster: … cluster.bootstrap …`, and pytest fixtures.

Nothing is imported until a name is used, so that the pytest plugin costs nothing where it is only
installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tapelog.testing.broker import Broker, BrokerError
    from tapelog.testing.cluster import Cluster, Node

__all__ = ["Broker", "BrokerError", "Cluster", "Node"]

_HOMES = {"Broker": "broker", "BrokerError": "broker", "Cluster": "cluster", "Node": "cluster"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
