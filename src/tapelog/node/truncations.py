"""Truncations that followers ask for, carried out together and a bounded piece per wake-up.

After a failover thousands of logs may have to be cut in the same moment. What the checkpoints say of them is lowered
with one write for all, and the flush round that follows makes the cuts last.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import DiskError, DiskFullError
from tapelog.log.manager import LogDirectory
from tapelog.log.trim import Cut, Seed
from tapelog.replication.followed import Followed

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.node")

CUTS_PER_STEP: Final = 50
BYTES_PER_STEP: Final = 64 * 1024 * 1024
"""Of active segments: rebuilding the producers may read all of one."""

Waiting = tuple[Followed, Cut, Callable[[bool], None]]


class Truncations:
    """The queue of them."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self.below_high_watermark = 0
        """How often records were cut off that consumers may have seen: after unclean elections only."""
        self._waiting: deque[Waiting] = deque()
        self._armed = False
        self._under_way = 0

    def add(
        self,
        followed: Followed,
        offset: int,
        start_anew: bool,
        done: Callable[[bool], None],
        seed: Seed | None = None,
    ) -> None:
        """See `Surroundings.truncate` and `begin_in_tier`."""
        log = followed.partition.log
        cut = Cut(log, offset, start_anew=start_anew, wanted=lambda: not followed.stopped, seed=seed)
        self._waiting.append((followed, cut, done))

    @property
    def due(self) -> bool:
        """Whether `step` has something to do now."""
        return bool(self._waiting) and not self._armed and not self._under_way

    def step(self) -> None:
        """Carry out some."""
        taken: list[Waiting] = []
        size = 0
        while self._waiting and len(taken) < CUTS_PER_STEP and size < BYTES_PER_STEP:
            taken.append(self._waiting.popleft())
            size += taken[-1][1].log.active.size
        for followed, cut, _ in taken:
            if not followed.stopped:
                self._tell(followed, cut)
        homes: dict[str, tuple[LogDirectory, list[Waiting]]] = {}
        for one in taken:
            home = self.node.directory.of(one[1].log.disk)
            if home is not None:
                homes.setdefault(home.path, (home, []))[1].append(one)
        self._under_way = len(homes)
        for home, share in homes.values():
            self._cut(home, share)

    def _cut(self, home: LogDirectory, taken: list[Waiting]) -> None:
        def done(error: DiskError | None) -> None:
            self._under_way -= 1
            if error is not None and not isinstance(error, DiskFullError):
                self.node.storage_broke(error, home.disk)
            for followed, _, told in taken:
                if not followed.stopped:
                    followed.partition.truncated()
                told(error is None)
            if self._waiting and not self._under_way:
                self._armed = True
                self.node.timers.after(0, self._go_on)

        home.truncate_many([cut for _, cut, _ in taken], done)

    def _go_on(self) -> None:
        self._armed = False

    def _tell(self, followed: Followed, cut: Cut) -> None:
        partition = followed.partition
        what = "starting anew" if cut.start_anew else "truncating"
        if cut.seed is not None:
            what = f"beginning at {cut.seed.start_offset} in the tier, and here"
        log.info(
            "%s-%d: %s at %d, the log ends at %d (epoch %d, leader %d)",
            partition.topic,
            partition.index,
            what,
            cut.offset,
            partition.log.end_offset,
            followed.leader_epoch,
            partition.leader,
        )
        if not cut.start_anew and cut.offset < partition.high_watermark:
            self.below_high_watermark += 1
            log.warning(
                "%s-%d: truncated below the high watermark %d: the election was unclean",
                partition.topic,
                partition.index,
                partition.high_watermark,
            )
