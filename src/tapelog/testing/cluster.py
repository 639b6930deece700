"""A cluster for tests. Clusters have one node today; asking for more says so at once."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

from tapelog.testing.broker import Broker, BrokerError

NODES_MAX = 1


class Cluster:
    """`with Cluster(nodes=1) as cluster:` — its nodes are Broker objects, `bootstrap` names them all."""

    def __init__(
        self, nodes: int = NODES_MAX, *, settings: Mapping[str, str | int | float | bool] | None = None
    ) -> None:
        if not 1 <= nodes <= NODES_MAX:
            raise BrokerError(
                f"Cluster(nodes={nodes}): this version runs clusters of one node; use Cluster(nodes=1) or Broker()"
            )
        self.nodes = [Broker(settings=settings) for _ in range(nodes)]

    @property
    def bootstrap(self) -> str:
        """`host:port,host:port…` for clients."""
        return ",".join(node.bootstrap for node in self.nodes)

    def start(self) -> Cluster:
        """Start every node and wait until all serve."""
        for node in self.nodes:
            node.start()
        return self

    def close(self) -> None:
        """Stop every node and remove temporary directories."""
        for node in self.nodes:
            node.close()

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
