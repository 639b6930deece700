"""A partition with records in two log directories of a node: which copy counts, and what becomes of the other.

That happens when a directory fails, its partition is made anew elsewhere, and the directory comes back; or when a copy
was put there by hand. Decided once the image is complete. A copy of another topic of that name does not count. Of two
of the same topic the one counts that a new leader would be chosen for: whose last leader epoch is greater, and then
which is longer; it has everything that was acknowledged if one of them has. The others are renamed and kept, unless
one is a copy that a move within this node (`log.relocation`) had just made.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from tapelog.base.ids import DIR_MIGRATING, DIR_UNASSIGNED
from tapelog.base.ports import DiskError
from tapelog.log import names
from tapelog.log.checkpoints import TopicPartition
from tapelog.log.config import LogConfig
from tapelog.log.log import Log
from tapelog.log.manager import LogDirectory
from tapelog.metadata.electorate import directory_of

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")


class WithheldError(Exception):
    """The copy that should count cannot be opened: no other may take its place before the cluster knows."""


def settle(node: NodeCore, config_of: Callable[[str], LogConfig]) -> None:
    """Open the copy that counts of each, and put the others aside. A disk that fails meanwhile goes offline."""
    directories = node.directory
    found, directories.twins = directories.twins, {}
    for key, homes in found.items():
        try:
            chosen = _chosen(node, key, [home for home in homes if home in directories.items], config_of)
        except WithheldError:
            _leave_alone(node, key, homes)
            continue
        if chosen is not None:
            directories.logs[key] = chosen.logs[key]
        for home in homes:
            if home is not chosen and home in directories.items:
                _put_aside(node, key, home, chosen)


def withhold(node: NodeCore) -> None:
    """With a directory offline: a copy that a move had just put in place may be older than the log it was made of, if
    the cluster believes that to be in a directory which is not here. Better none than that one."""
    directories = node.directory
    for home in directories.items:
        for key in list(home.logs):
            part = node.image.partition(*key)
            assigned = directory_of(part, node.node_id) if part is not None else home.directory_id
            known = assigned in (DIR_UNASSIGNED, DIR_MIGRATING) or directories.named(assigned) is not None
            if not known and _is_new(home, key):
                _leave_alone(node, key, [home])
                log.error(
                    "%s-%d stays offline: %s has a copy of it, but its own log directory is offline and may have more. "
                    "Bring that directory back, or take it out of log.dirs to go on with the copy",
                    *key,
                    home.path,
                )


def _leave_alone(node: NodeCore, key: TopicPartition, homes: list[LogDirectory]) -> None:
    """Without a log the partition stays offline, as if its directory had not been there at the start."""
    node.directory.logs.pop(key, None)
    for home in homes:
        opened = home.logs.pop(key, None)
        if opened is not None and not opened.closed:
            opened.close_files()


def _chosen(
    node: NodeCore, key: TopicPartition, homes: list[LogDirectory], config_of: Callable[[str], LogConfig]
) -> LogDirectory | None:
    topic = node.image.topics.get(key[0])
    part = topic.partition(key[1]) if topic is not None else None
    if topic is None or part is None or node.node_id not in part.replicas:
        return None
    assigned, best, chosen = directory_of(part, node.node_id), (-1, -1, False, False), None
    for home in homes:
        try:
            if home.topic_id_of(*key) not in (None, topic.id):
                continue
            opened = home.open_log(*key, config_of(key[0]))
        except DiskError as error:
            node.storage_broke(error, home.disk)
            if home.directory_id == assigned:
                raise WithheldError from None
            continue
        rank = (*_rank(opened), not _is_new(home, key), home.directory_id == assigned)
        if rank > best:
            best, chosen = rank, home
    return chosen


def _is_new(home: LogDirectory, key: TopicPartition) -> bool:
    """Whether it is a copy that nothing was appended to yet, says who made it."""
    return home.disk.exists(f"{home.path}/{names.partition_dir(*key)}/{names.FUTURE_COMPLETE}")


def _rank(opened: Log) -> tuple[int, int]:
    return opened.leader_epoch_cache.latest, opened.end_offset


def _put_aside(node: NodeCore, key: TopicPartition, home: LogDirectory, chosen: LogDirectory | None) -> None:
    spare = chosen is not None and key in home.logs and _is_new(home, key)
    try:
        if chosen is not None and spare and _rank(home.logs[key]) == _rank(chosen.logs[key]):
            home.put_aside(key, spare=True)
            return
        aside = home.put_aside(key)
    except DiskError as error:
        node.storage_broke(error, home.disk)
        return
    why = f"the one in {chosen.path} counts" if chosen is not None else "the cluster knows no such partition here"
    log.error(
        "%s-%d was in several log directories; %s. The other copy is kept as %s: remove it if nothing is missed",
        *key,
        why,
        aside,
    )
