"""The active controller notices at once when a broker's process has ended, instead of waiting for its session to.

A broker's heartbeats come on a connection that it keeps. When that connection ends, the broker is *knocked on*: a
connection to its listener that is refused means that no process listens there any more, and its session ends now.
Everything else (an answer, silence, a reset) means nothing: the session's time decides. A controller that has just
become active knocks on everybody, since the one it follows may have died with a broker. Fencing a broker is always
safe; one that lives after all is let in again by its next heartbeat.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from tapelog.base.ports import REFUSED, Channel, Net

if TYPE_CHECKING:
    from tapelog.metadata.image import BrokerImage
    from tapelog.node.core import NodeCore

log = logging.getLogger("tapelog.controller")

KNOCKS_AFTER_MS: Final = (0, 50, 150, 400, 900)
"""After a connection ended: a process that dies may close its listener a little later than its connections."""

KNOCK_MS_MAX: Final = 500


class Knock:
    """One connection to a broker, to see whether it is refused."""

    def __init__(self, presence: Presence, net: Net, broker: BrokerImage, host: str, port: int) -> None:
        self.presence = presence
        self.broker = broker
        self.channel: Channel = net.connect(host, port, self)
        presence.node.timers.after(KNOCK_MS_MAX, self.channel.close)

    def opened(self) -> None:
        """Somebody is there."""
        self.channel.close()

    def received(self, data: bytes) -> None:
        """A server says nothing unasked."""

    def closed(self, reason: str) -> None:
        """It never opened, or ended at once."""
        if reason == REFUSED:
            self.presence.gone(self.broker)


class Presence:
    """Watches brokers on behalf of the active controller."""

    def __init__(self, node: NodeCore, net: Net) -> None:
        self.node = node
        self.net = net

    def active_changed(self, active: bool) -> None:
        """This node became the active controller, or stopped being it."""
        if active:
            for broker_id in sorted(self.node.image.brokers):
                self._knock(broker_id)

    def hung_up(self, broker_id: int) -> None:
        """The connection that a broker's heartbeats came on has ended."""
        if self.node.controls:
            for delay_ms in KNOCKS_AFTER_MS:
                self.node.timers.after(delay_ms, lambda: self._knock(broker_id))

    def gone(self, broker: BrokerImage) -> None:
        """Nobody listens where this incarnation did."""
        node = self.node
        known = node.image.brokers.get(broker.id)
        if not node.controls or known is None or known.fenced or known.epoch != broker.epoch:
            return
        log.warning("broker %d has ended: fenced at once", broker.id)
        node.change_metadata(lambda image: node.controller.fence_broker(image, broker.id, broker.epoch), _ignore)

    def _knock(self, broker_id: int) -> None:
        node = self.node
        broker = node.image.brokers.get(broker_id)
        if not node.controls or broker is None or broker.fenced or broker_id == node.node_id:
            return
        endpoint = broker.endpoint(node.config.inter_broker_listener)
        if endpoint is None and len(broker.endpoints) == 1:
            (endpoint,) = broker.endpoints
        if endpoint is not None:  # one of several may be meant for clients elsewhere: refused here, it says nothing
            Knock(self, self.net, broker, endpoint.host, endpoint.port)


def _ignore(_: object) -> None:
    pass
