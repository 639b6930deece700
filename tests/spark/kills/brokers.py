"""The cluster that is written to, and how its brokers are killed: Tapelog's nodes, or Apache Kafka."""

from __future__ import annotations

import random
from types import TracebackType
from typing import Any, Protocol

from tests.support.kafka_server import KafkaServer


class Brokers(Protocol):
    """A running cluster."""

    replicas: int

    @property
    def bootstrap(self) -> str:
        """host:port, …"""

    def kill_one(self, chance: random.Random) -> str:
        """-9 to a broker; its name."""

    def bring_back(self) -> None:
        """Start what was killed."""

    def __enter__(self) -> Brokers: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...


class Tapelog:
    """Nodes of Tapelog."""

    def __init__(self, nodes: int) -> None:
        from tapelog.testing import Cluster

        self.replicas = nodes
        few = {"offsets.topic.num.partitions": 4, "transaction.state.log.num.partitions": 4}
        quick = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}
        self._cluster: Any = Cluster(nodes=nodes, settings=few | (quick if nodes > 1 else {}))
        self._dead: Any = None

    @property
    def bootstrap(self) -> str:
        return str(self._cluster.bootstrap)

    def kill_one(self, chance: random.Random) -> str:
        self._dead = chance.choice(self._cluster.nodes)
        self._dead.kill()
        return f"node {self._dead.number}"

    def bring_back(self) -> None:
        self._dead.start()

    def __enter__(self) -> Tapelog:
        self._cluster.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._cluster.__exit__(kind, error, at)


class Kafka:
    """One node of Apache Kafka."""

    replicas = 1

    def __init__(self) -> None:
        self._server = KafkaServer()

    @property
    def bootstrap(self) -> str:
        return self._server.on.plain

    def kill_one(self, chance: random.Random) -> str:
        self._server.kill()
        return "Kafka"

    def bring_back(self) -> None:
        self._server.start_again()

    def __enter__(self) -> Kafka:
        self._server.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.stop()
