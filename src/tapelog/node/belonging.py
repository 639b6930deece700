"""Whether the voters this node was given are of its own cluster.

A node with another cluster id would ask for ever and be refused for ever. It stops instead, and says why, as soon as
most voters have refused it; one node that is wrong where a voter should be does not make the others stop. Once anybody
has answered otherwise, this is settled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapelog.base.addresses import host_port
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore


class Belonging:
    """Listens to what voters answer, until it is settled."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._settled = False
        self._strangers: dict[tuple[str, int], None] = {}

    def heard(self, host: str, port: int, response: Message | None) -> None:
        """What a voter answered; None if it did not."""
        if self._settled or response is None:
            return
        if getattr(response, "error_code", 0) != ErrorCode.INCONSISTENT_CLUSTER_ID:
            self._settled = True
            return
        self._strangers[host, port] = None
        if 2 * len(self._strangers) > len(self.node.config.voters):
            self._settled = True
            where = ", ".join(host_port(host, port) for host, port in self._strangers)
            self.node.give_up(
                f"INCONSISTENT_CLUSTER_ID: the voters at {where} are not of cluster {self.node.config.cluster_id}: "
                "see cluster_id and voters in node.toml"
            )
