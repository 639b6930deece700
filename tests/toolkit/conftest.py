"""Fixtures of the toolkit's tests: one broker for the session, fresh topics and groups for every test.

TAPELOG_TEST_BOOTSTRAP=host:port runs the same tests against an existing cluster: the toolkit is for any Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.clients.conftest import admin, bootstrap, fresh, make_topic
from tests.support.names import Fresh
from tests.toolkit.cluster import Cluster
from tests.toolkit.servers import postgres_server, redis_server

__all__ = ["admin", "bootstrap", "cluster", "fresh", "make_topic"]


@pytest.fixture
def cluster(bootstrap: str, make_topic: Callable[..., str], fresh: Fresh) -> Cluster:
    """The cluster under test, with what tests want from it."""
    return Cluster(bootstrap, make_topic, fresh)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis for the session; the test says `needs("redis-server")`."""
    with redis_server() as url:
        yield url


@pytest.fixture(scope="session")
def dsn() -> Iterator[str]:
    """A PostgreSQL for the session; the test says `needs("postgres", "initdb")`."""
    with postgres_server() as address:
        yield address
