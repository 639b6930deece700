"""Fixtures for pytest: `tapelog_broker`, `tapelog_cluster`, `tapelog_name`. Found by pytest when Tapelog is installed.

Scope: one broker (and one cluster) per test session — per worker with pytest-xdist — because starting is quick but not
free. Tests stay apart by using names of their own: `tapelog_name("orders")` gives one nobody else has. A test that
stops, kills or configures its broker should make its own: `with tapelog.testing.Broker(settings=…) as broker:`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tapelog.testing.broker import Broker
    from tapelog.testing.cluster import Cluster


@pytest.fixture(scope="session")
def tapelog_broker() -> Iterator[Broker]:
    """A running broker, shared by the session: `tapelog_broker.bootstrap`."""
    from tapelog.testing.broker import Broker

    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def tapelog_cluster() -> Iterator[Cluster]:
    """A running cluster of three nodes, shared by the session: `tapelog_cluster.bootstrap`."""
    from tapelog.testing.cluster import Cluster

    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def tapelog_name() -> Callable[[str], str]:
    """Makes names for topics and groups that no other test uses."""
    from tapelog.testing.broker import Broker

    return Broker.unique
