"""A broker's life as its controller sees it: it registers, sends heartbeats, is let in, serves, and takes its leave.

A broker that registered is *fenced* until the controller finds that it has read the metadata; then clients are sent to
it. Heartbeats keep it in; without them it is fenced again and has to catch up. A broker the controller no longer knows
registers anew. On a clean stop it asks to go and waits until others lead what it led, unless nobody answers any more.
A node alone does all this with itself, in one step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from tapelog.base.ids import new_id
from tapelog.base.timers import Timer
from tapelog.node.config_notes import tell_minimum
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.message import Message

if TYPE_CHECKING:
    from tapelog.metadata.image import Endpoint
    from tapelog.node.core import NodeCore
    from tapelog.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse

log = logging.getLogger("tapelog.node")

NOT_STARTED: Final = "not started"
REGISTERING: Final = "registering"
FENCED: Final = "fenced"
RUNNING: Final = "running"
LEAVING: Final = "leaving"
LEFT: Final = "left"
TRANSITIONS: Final = {
    NOT_STARTED: (REGISTERING, RUNNING, LEFT),
    REGISTERING: (FENCED, RUNNING, LEFT),
    FENCED: (RUNNING, REGISTERING, LEAVING, LEFT),
    RUNNING: (FENCED, REGISTERING, LEAVING, LEFT),
    LEAVING: (LEFT,),
    LEFT: (),
}

RETRY_MS: Final = 200
"""Between two attempts to register, and between two heartbeats of a broker that wants in or out."""

SILENCE_MS_MAX: Final = 3000
"""A broker that wants to go does so when no controller has answered for that long: the others may be gone, too."""

LEAVE_MS_MAX: Final = 20_000
"""And however talkative the controller is, it does not wait longer than this."""

HEARTBEAT_VERSION: Final = 2
REGISTRATION_VERSION: Final = 4
FINAL: Final = (
    ErrorCode.INCONSISTENT_CLUSTER_ID,
    ErrorCode.INVALID_REGISTRATION,
    ErrorCode.UNSUPPORTED_VERSION,
)
"""Refusals that no waiting will change."""

UNKNOWN: Final = (int(ErrorCode.BROKER_ID_NOT_REGISTERED), int(ErrorCode.STALE_BROKER_EPOCH))


class Lifecycle:
    """See the module. Drives itself by timers and by `image_published`."""

    def __init__(self, node: NodeCore) -> None:
        self.node = node
        self.state = NOT_STARTED
        self.epoch = -1
        self.incarnation_id = b""
        self.on_running: Callable[[], None] = _nothing
        """Called once, when this broker may serve for the first time; for a controller alone: when it is started."""
        self._endpoints: Sequence[Endpoint] = ()
        self._timer: Timer | None = None
        self._asking = False
        self._answered_ms = 0
        self._leave_by_ms = 0
        self._left: Callable[[], None] = _nothing
        self._leaving: list[int] = []
        self._complained = ""
        self._compared = False

    @property
    def known(self) -> bool:
        """Whether the image has this incarnation: what it says about us is not about an earlier one."""
        node = self.node
        if node.alone or not node.config.is_broker:
            return True
        broker = node.image.brokers.get(node.node_id)
        return broker is not None and broker.incarnation_id == self.incarnation_id

    def start(self, endpoints: Sequence[Endpoint], controller: Endpoint | None) -> None:
        """Make this node known; endpoints are what clients are told."""
        node = self.node
        self._endpoints = endpoints
        self.incarnation_id = new_id(node.entropy)
        self._become(REGISTERING)
        if node.alone:
            self._register_alone(controller)
            return
        if controller is not None and node.config.is_controller:
            self._register_controller(controller)
        if node.config.is_broker:
            self._register()
        else:
            self._become(RUNNING)

    def image_published(self) -> None:
        """The metadata moved on: it may be what a fenced broker, or one that wants to go, was waiting for. If somebody
        else wants to go: it may not before everybody has told the controller that it knows who leads instead."""
        image, before = self.node.image, self._leaving
        scheduled = self._timer is not None and self._timer.action is not None
        self._leaving = [b.epoch for b in image.brokers.values() if b.in_controlled_shutdown and not b.fenced]
        wanted = self.state == LEAVING or (self.state == FENCED and image.offset > self.epoch)
        wanted = wanted or any(epoch not in before for epoch in self._leaving)
        if scheduled and wanted:
            self._schedule(0)

    def controller_changed(self) -> None:
        """Another node is the active controller, or will be at once: it hears of this broker now, not an interval
        later. (What is under way to the old one is sent again to the new one by `to_controller`.)"""
        if self.state in (FENCED, RUNNING) and self._timer is not None and self._timer.action is not None:
            self._schedule(0)

    def hurry(self) -> None:
        """There is news for the controller: the next heartbeat leaves now."""
        if self.state in (FENCED, RUNNING, LEAVING) and not self._asking:
            self._schedule(0)

    def leave(self, left: Callable[[], None]) -> None:
        """Ask the controller to let this broker go; `left` is called once it may stop, or when nobody answers."""
        node = self.node
        self._left = left
        known = self.state in (FENCED, RUNNING) and node.config.is_broker and not node.alone
        if not known or not node.setting_bool("controlled.shutdown.enable"):
            self._become(LEFT)
        else:
            log.info("node %d hands over what it leads", node.node_id)
            self._become(LEAVING)
            self._answered_ms = node.clock.monotonic_ms()
            self._leave_by_ms = self._answered_ms + LEAVE_MS_MAX
            node.timers.after(SILENCE_MS_MAX, self._check_silence)
            if not self._asking:
                self._schedule(0)
        if self.state == LEFT:
            node.timers.after(0, left)

    def stop(self) -> None:
        """Say nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    # -- registration

    def _register(self) -> None:
        if self.state != REGISTERING:
            return
        from tapelog.node.registration import broker_request

        node = self.node
        previous = self.epoch if self.epoch >= 0 else node.directory.previous_broker_epoch
        request = broker_request(node, self.incarnation_id, self._endpoints, previous)
        node.to_controller(request, REGISTRATION_VERSION, self._patience_ms(), self._registered)

    def _registered(self, response: Message | KafkaError) -> None:
        if self.state != REGISTERING:
            return
        if isinstance(response, KafkaError):
            self._complain(f"no controller took the registration yet: {response.message}")
            self.node.timers.after(RETRY_MS, self._register)
            return
        from tapelog.wire.messages.broker_registration_response import BrokerRegistrationResponse

        assert isinstance(response, BrokerRegistrationResponse)
        code = ErrorCode(response.error_code)
        if code in FINAL:
            self.node.give_up(f"the cluster refuses node {self.node.node_id}: {code.name}. {_ADVICE.get(code, '')}")
        elif code != ErrorCode.NONE:
            self._complain(f"the controller does not register node {self.node.node_id} yet: {code.name}")
            self.node.timers.after(RETRY_MS, self._register)
        else:
            self._got_epoch(response.broker_epoch)
            self._become(FENCED)
            self._schedule(0 if self.node.image.offset > self.epoch else RETRY_MS)

    def _register_again(self, why: str) -> None:
        log.warning("node %d registers again: %s", self.node.node_id, why)
        self.incarnation_id = new_id(self.node.entropy)
        self._asking = False
        self._become(REGISTERING)
        self._register()

    def _register_controller(self, endpoint: Endpoint) -> None:
        from tapelog.node.registration import controller_request

        node = self.node

        def registered(response: Message | KafkaError) -> None:
            refused = isinstance(response, KafkaError) or getattr(response, "error_code", 0) != 0
            if refused and self.state != LEFT:
                node.timers.after(RETRY_MS, lambda: self._register_controller(endpoint))

        request = controller_request(node, self.incarnation_id, endpoint)
        node.to_controller(request, 0, self._patience_ms(), registered)

    def _register_alone(self, controller: Endpoint | None) -> None:
        from tapelog.node.registration import alone

        node, incarnation = self.node, self.incarnation_id
        registration = alone(node, incarnation, self._endpoints)

        def registered(epoch: int | KafkaError) -> None:
            if isinstance(epoch, KafkaError):
                self._complain(f"cannot register: {epoch.code.name} {epoch.message}")
                node.timers.after(RETRY_MS, lambda: self._register_alone(controller))
            elif self.state == REGISTERING:
                self._got_epoch(epoch)
                self._become(RUNNING)

        node.change_metadata(node.controller.write_minimum, _ignore)
        node.change_metadata(lambda image: node.controller.register_broker(image, registration), registered)
        if controller is not None:
            node.change_metadata(
                lambda image: node.controller.register_controller(image, node.node_id, incarnation, [controller]),
                _ignore,
            )
        if not node.directory.clean:
            node.metadata.lead_anew()

    def _got_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.node.metadata.broker_epoch = epoch
        self._complained = ""

    # -- heartbeats

    def _beat(self) -> None:
        from tapelog.node.registration import cordoned

        node = self.node
        if self.state not in (FENCED, RUNNING, LEAVING):
            return
        from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest

        self._asking = True
        request = BrokerHeartbeatRequest(
            broker_id=node.node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=node.image.offset - 1,
            want_fence=not node.opened,
            want_shut_down=self.state == LEAVING,
            offline_log_dirs=node.storage.lost_ids,
            cordoned_log_dirs=cordoned(node),
        )
        epoch = self.epoch
        node.to_controller(request, HEARTBEAT_VERSION, self._patience_ms(), lambda heard: self._heard(epoch, heard))

    def _heard(self, epoch: int, response: Message | KafkaError) -> None:
        if epoch != self.epoch:
            return
        self._asking = False
        if self.state not in (FENCED, RUNNING, LEAVING):
            return
        if isinstance(response, KafkaError):
            self._complain(f"no controller answers the heartbeats of node {self.node.node_id}: {response.message}")
            self._schedule(RETRY_MS)
            return
        from tapelog.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse

        assert isinstance(response, BrokerHeartbeatResponse)
        self._answered_ms = self.node.clock.monotonic_ms()
        if response.error_code in UNKNOWN:
            name = ErrorCode(response.error_code).name
            if self.state == LEAVING:
                self._go(f"the controller answers {name}")
            else:
                self._register_again(f"the controller answers {name}")
        elif response.error_code:
            self._complain(f"the controller answers heartbeats with {ErrorCode(response.error_code).name}")
            self._schedule(RETRY_MS)
        else:
            self._told(response)

    def _told(self, response: BrokerHeartbeatResponse) -> None:
        self._complained = ""
        interval_ms = self.node.setting_int("broker.heartbeat.interval.ms")
        if self.state == LEAVING:
            if response.should_shut_down:
                self._go("")
            elif self._answered_ms >= self._leave_by_ms:
                self._go("others do not take over what it leads")
            else:
                self._schedule(min(RETRY_MS, interval_ms))
            return
        if response.should_shut_down:
            log.warning("the controller tells node %d to stop", self.node.node_id)
        if response.is_fenced and self.state == RUNNING:
            log.warning("node %d was fenced: the controller had not heard from it in time", self.node.node_id)
            self._become(FENCED)
        elif not response.is_fenced and self.state == FENCED:
            self._become(RUNNING)
        self._schedule(interval_ms if self.state == RUNNING else min(RETRY_MS, interval_ms))

    def _check_silence(self) -> None:
        if self.state != LEAVING:
            return
        silent_ms = self.node.clock.monotonic_ms() - self._answered_ms
        if silent_ms >= SILENCE_MS_MAX:
            self._go("no controller answers")
        else:
            self.node.timers.after(SILENCE_MS_MAX - silent_ms, self._check_silence)

    def _go(self, regret: str) -> None:
        if regret:
            log.warning("node %d stops without handing over: %s", self.node.node_id, regret)
        self._become(LEFT)
        self._left()

    # -- inside

    def _schedule(self, delay_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.node.timers.after(delay_ms, self._beat)

    def _patience_ms(self) -> int:
        return max(1, self.node.setting_int("broker.session.timeout.ms") // 2)

    def _become(self, state: str) -> None:
        assert state in TRANSITIONS[self.state], f"a broker that is {self.state} cannot be {state}"
        self.state = state
        if state == RUNNING:
            told, self.on_running = self.on_running, _nothing
            told()
            if self.node.config.is_broker and not self._compared:
                self._compared = True
                tell_minimum(self.node)

    def _complain(self, line: str) -> None:
        """Once per reason, not once per attempt."""
        if line != self._complained:
            self._complained = line
            log.warning("%s", line)


_ADVICE: Final = {
    ErrorCode.INCONSISTENT_CLUSTER_ID: "Its cluster_id is another one: see cluster_id and voters in node.toml",
    ErrorCode.INVALID_REGISTRATION: "Another node may have its id or its log directory, or the other node "
    "runs alone: then its node.toml names no voters, and `tape format --join` says which line it needs",
    ErrorCode.UNSUPPORTED_VERSION: "It lacks features the cluster uses: run the version of the others",
}


def _nothing() -> None:
    pass


def _ignore(_: object) -> None:
    pass
