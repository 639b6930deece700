"""While this node is the active controller: the clock that drives the controller's upkeep (metadata/upkeep.py)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base.timers import Timer
from tapelog.wire.errors import KafkaError

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.controller")

CHECK_MS_MAX: Final = 500
"""New brokers and configs may bring something due earlier than what was known: look at least this often."""

LATE_MS: Final = 1000
"""A tick that comes this late means that the whole process stood still: before anybody is fenced for his silence, what
brokers sent meanwhile is heard."""


class ControllerDuties:
    """Proposes `Controller.tick` when it is due, from when this node becomes active until it is not."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self._timer: Timer | None = None
        self._due_ms = 0
        node.controller.alert = log.error

    def changed(self, active: bool) -> None:
        """This node became the active controller, or stopped being it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if active:
            self.node.controller.activate(self.node.image, self.node.raft.predecessor)
            self._arm()
        else:
            self.node.controller.resign()

    def _arm(self) -> None:
        node = self.node
        now_ms = node.clock.monotonic_ms()
        due_ms = node.controller.upkeep.due_ms(node.image)
        self._after(max(0, min(due_ms - now_ms, CHECK_MS_MAX)))

    def _after(self, delay_ms: int) -> None:
        self._due_ms = self.node.clock.monotonic_ms() + delay_ms
        self._timer = self.node.timers.after(delay_ms, self._tick)

    def _tick(self) -> None:
        node = self.node
        self._timer = None
        if node.clock.monotonic_ms() - self._due_ms >= LATE_MS:
            self._after(CHECK_MS_MAX)
        elif node.controller.upkeep.due_ms(node.image) <= node.clock.monotonic_ms():
            node.change_metadata(node.controller.tick, self._ticked)
        else:
            self._arm()

    def _ticked(self, outcome: KafkaError | None) -> None:
        if self._timer is not None or not self.node.controls:
            return
        if outcome is None:
            self._arm()
        else:  # a full disk, say: it is still due, but not all the time
            self._after(CHECK_MS_MAX)
