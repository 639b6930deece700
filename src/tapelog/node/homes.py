"""In which log directory a partition that has no log here gets one, or why it gets none.

The image says where a replica is. One that is not there any more may be in a directory that is offline, and one that
nobody else has must not begin anew as if it were empty: those wait for their directory (ADR 0016).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tapelog.base.ids import DIR_MIGRATING, DIR_UNASSIGNED
from tapelog.log.manager import LogDirectory
from tapelog.metadata.electorate import directory_of
from tapelog.metadata.image import PartitionImage, TopicImage
from tapelog.node.registration import cordoned

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

Absent = tuple[TopicImage, int, PartitionImage]


class Homes:
    """See the module. Owned by `node.partitions`."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._withheld: dict[tuple[bytes, int], None] = {}

    def plan(self, absent: list[Absent], *, starting: bool) -> list[tuple[LogDirectory, list[Absent]]]:
        """The partitions to create, by directory. starting: they were not created just now, but may have been here."""
        directories, planned = self.node.directory, dict[str, int]()
        if not directories.items:  # the node is about to end
            return []
        avoided = self._avoided()
        found: dict[str, tuple[LogDirectory, list[Absent]]] = {}
        for topic, index, part in absent:
            if self._waits(topic, index, part, starting):
                continue
            home = directories.named(directory_of(part, self.node.node_id)) or self._preferred(topic, index)
            home = home or directories.emptiest(planned, avoided)
            planned[home.path] = planned.get(home.path, 0) + 1
            found.setdefault(home.path, (home, []))[1].append((topic, index, part))
        return list(found.values())

    def _waits(self, topic: TopicImage, index: int, part: PartitionImage, starting: bool) -> bool:
        node, key = self.node, (topic.id, index)
        state = node.topics_by_id.get(topic.id)
        held = state.partitions[index] if state is not None and index < len(state.partitions) else None
        if (held is not None and held.offline) or key in self._withheld:
            return True
        assigned = directory_of(part, node.node_id)
        if node.directory.named(assigned) is not None:
            return False
        unassigned = assigned in (DIR_UNASSIGNED, DIR_MIGRATING)
        if node.directory.offline and (starting or not unassigned):
            why = "its log directory may be the one that is offline"
        elif not unassigned and part.replicas == (node.node_id,):
            why = "its log directory is missing, and no other node has a copy: bring it back, or delete the topic"
        else:
            return False
        self._withheld[key] = None
        log.error("%s-%d stays offline: %s", topic.name, index, why)
        return True

    def _preferred(self, topic: TopicImage, index: int) -> LogDirectory | None:
        """Where somebody wants a replica that was not here yet."""
        path = self.node.moves.preferred.pop((topic.name, index), "")
        return next((one for one in self.node.directory.items if one.path == path), None)

    def _avoided(self) -> list[str]:
        ids, full = cordoned(self.node), self.node.hub.full
        return [one.path for one in self.node.directory.items if one.directory_id in ids or one.disk in full]
