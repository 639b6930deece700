"""Logs of topics that were restored from the tier: each begins here where the tier ends (`log/tier/restoring`)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tapelog.base.ports import DiskError
from tapelog.log.config import LogConfig
from tapelog.log.log import Log
from tapelog.log.tier import restoring
from tapelog.log.trim import Cut
from tapelog.metadata.image import TopicImage

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")


def restored(node: NodeCore, config: LogConfig, topic: TopicImage, index: int, opened: Log) -> bool:
    """Whether the log begins where it should. If not it is being brought there, and the partition is looked at again
    afterwards: nobody may append before."""
    try:
        restore = restoring.parse(config.restore)
    except ValueError as error:
        log.error("%s: %s", topic.name, error)
        return True
    span = restore.span_of(index)
    if span is None or opened.end_offset >= span.end_offset or opened.start_offset != opened.end_offset:
        return True
    finished: list[DiskError | None] = []
    waiting: list[bool] = []

    def done(error: DiskError | None) -> None:
        finished.append(error)
        if error is not None:
            node.storage_broke(error, opened.disk)
        elif waiting:
            node.partitions.again(topic, index)

    opened.update_config(config)
    cut = Cut(opened, span.end_offset, start_anew=True, seed=span.seed())
    home = node.directory.of(opened.disk)
    if home is None:
        return False
    home.truncate_many([cut], done)
    waiting.append(True)
    return finished == [None]
