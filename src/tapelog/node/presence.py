"""The active controller notices at once when a broker's process has ended, instead of waiting for its session to.

A broker's heartbeats come on a connection that it keeps. When that connection ends, the broker is *knocked on*: a
connection to its listener that is refused means that no process listens there any more, and its session ends now.
Everything else (an answer, silence, a reset) means nothing: the session's time decides. A controller that has just
become active knocks on everybody, since the one it follows may have died with a broker. Fencing a broker is always
safe; one that lives after all is let in again by its next heartbeat.

A firewall may refuse, too. So a refusal counts only where this node got through before, to the same incarnation: every
controller, active or not, tries that when a broker is let in. And it does not count once another heartbeat has come.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import REFUSED, Channel, Net
from tapelog.metadata.sessions import NEVER_MS

if TYPE_CHECKING:
    from tapelog.metadata.image import BrokerImage
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.controller")

KNOCKS_AFTER_MS: Final = (0, 50, 150, 400, 900)
"""After a connection ended: a process that dies may close its listener a little later than its connections."""

KNOCK_MS_MAX: Final = 500


class Knock:
    """One connection to a broker, to see whether it is refused. `since_ms`: when it was last taken to live."""

    def __init__(self, presence: Presence, net: Net, broker: BrokerImage, host: str, port: int, since_ms: int) -> None:
        self.presence = presence
        self.broker = broker
        self.since_ms = since_ms
        self.channel: Channel = net.connect(host, port, self)
        presence.node.timers.after(KNOCK_MS_MAX, self.channel.close)

    def opened(self) -> None:
        """Somebody is there."""
        self.channel.close()
        self.presence.reached(self.broker)

    def received(self, data: bytes) -> None:
        """A server says nothing unasked."""

    def closed(self, reason: str) -> None:
        """It never opened, or ended at once."""
        if reason == REFUSED:
            self.presence.refused(self.broker, self.since_ms)


class Presence:
    """Watches brokers on behalf of the active controller."""

    def __init__(self, node: NodeCore, net: Net) -> None:
        self.node = node
        self.net = net
        self._reached: dict[int, int] = {}
        """By broker: the epoch of the incarnation that this node has got through to."""
        self._lines: dict[int, int] = {}
        """By broker: the number of the connection that its last heartbeat came on."""

    def active_changed(self, active: bool) -> None:
        """This node became the active controller, or stopped being it."""
        if active:
            now_ms = self.node.clock.monotonic_ms()
            for broker_id in sorted(self.node.image.brokers):
                self._knock(broker_id, now_ms)

    def brokers_changed(self) -> None:
        """Brokers were let in, perhaps: see whether this node, should it be the active controller one day, gets
        through to them."""
        brokers = self.node.image.brokers
        self._reached = {id: epoch for id, epoch in self._reached.items() if id in brokers}
        self._lines = {id: number for id, number in self._lines.items() if id in brokers}
        if self.node.config.is_controller:
            for broker_id in sorted(brokers):
                if self._reached.get(broker_id) != brokers[broker_id].epoch:
                    self._knock(broker_id, NEVER_MS)

    def heard(self, broker_id: int, connection: int) -> None:
        """A heartbeat came on that connection."""
        self._lines[broker_id] = connection

    def hung_up(self, broker_id: int, connection: int) -> None:
        """A connection that a broker's heartbeats came on has ended. If they come on another by now, it lives."""
        node = self.node
        if node.controls and self._lines.get(broker_id) == connection:
            now_ms = node.clock.monotonic_ms()
            for delay_ms in KNOCKS_AFTER_MS:
                node.timers.after(delay_ms, lambda: self._knock(broker_id, now_ms))

    def reached(self, broker: BrokerImage) -> None:
        """A process listens there."""
        self._reached[broker.id] = broker.epoch

    def refused(self, broker: BrokerImage, since_ms: int) -> None:
        """Nobody listens where this incarnation did, or somebody keeps us away."""
        node = self.node
        known = node.image.brokers.get(broker.id)
        if not node.controls or known is None or known.fenced or known.epoch != broker.epoch:
            return
        if self._reached.get(broker.id) != broker.epoch or since_ms == NEVER_MS:
            return
        if node.controller.sessions.heard_since(broker.id, broker.epoch, since_ms):
            return
        log.warning("broker %d has ended: fenced at once", broker.id)
        node.change_metadata(lambda image: node.controller.fence_broker(image, broker.id, broker.epoch), _ignore)

    def _knock(self, broker_id: int, since_ms: int) -> None:
        node = self.node
        broker = node.image.brokers.get(broker_id)
        if broker is None or broker.fenced or broker_id == node.node_id:
            return
        endpoint = broker.endpoint(node.config.inter_broker_listener)
        if endpoint is None and len(broker.endpoints) == 1:
            (endpoint,) = broker.endpoints
        if endpoint is not None:  # one of several may be meant for clients elsewhere: refused here, it says nothing
            Knock(self, self.net, broker, endpoint.host, endpoint.port, since_ms)


def _ignore(_: object) -> None:
    pass
