"""BrokerHeartbeat: how a broker becomes unfenced, goes on, and leaves in good order.

fenced -> unfenced   when it has applied its own registration and does not ask to stay fenced
unfenced -> leaving  when it wants to shut down and leads something: its leads go elsewhere (controlled shutdown)
leaving -> fenced    when it leads nothing and every active broker has learned who leads now: it may go
unfenced -> fenced   when it asks for it, or its session ends (upkeep.py)
"""

from __future__ import annotations

from tapelog.base.config import BrokerSettings
from tapelog.metadata import partition_changes
from tapelog.metadata.brokers import FENCE, UNFENCE, registered
from tapelog.metadata.image import BrokerImage, MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.record_types import BrokerRegistrationChangeRecord, MetadataRecord
from tapelog.metadata.sessions import BrokerSessions
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tapelog.wire.messages.broker_heartbeat_response import BrokerHeartbeatResponse

_LEAVE = 1


def heartbeat(
    image: MetadataImage, settings: BrokerSettings, sessions: BrokerSessions, request: BrokerHeartbeatRequest
) -> Outcome[BrokerHeartbeatResponse]:
    """A sign of life, and what the broker wants; the answer says what it gets.

    BROKER_ID_NOT_REGISTERED or STALE_BROKER_EPOCH for anybody but the registered incarnation.
    """
    broker = registered(image, request.broker_id, request.broker_epoch)
    session = sessions.heard(broker.id, broker.epoch, request.current_metadata_offset)
    response = BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= broker.epoch, is_fenced=broker.fenced, should_shut_down=False
    )
    records: list[MetadataRecord] = []
    if broker.fenced:
        session.shutdown_offset = -1
        if request.want_shut_down:
            response.should_shut_down = True
        elif not request.want_fence and response.is_caught_up:
            records += _fencing(broker, UNFENCE)
            records += partition_changes.join(image, settings, broker.id)
            response.is_fenced = False
    elif request.want_fence:
        records += _fence(image, settings, broker)
        response.is_fenced, response.should_shut_down = True, request.want_shut_down
    elif request.want_shut_down:
        records += _shut_down(image, settings, sessions, broker, response)
    _directories(image, settings, broker, request, records, fenced=response.is_fenced)
    return Outcome(records, response)


def fence(image: MetadataImage, settings: BrokerSettings, brokers: list[int]) -> list[MetadataRecord]:
    """Records that take these unfenced brokers out, all at once: nobody's lead goes to another of them."""
    records: list[MetadataRecord] = [*partition_changes.leave(image, settings, brokers)]
    for id in brokers:
        records += _fencing(image.brokers[id], FENCE)
    return records


def _fence(image: MetadataImage, settings: BrokerSettings, broker: BrokerImage) -> list[MetadataRecord]:
    return fence(image, settings, [broker.id])


def _fencing(broker: BrokerImage, change: int) -> list[MetadataRecord]:
    return [BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=change)]


def _shut_down(
    image: MetadataImage,
    settings: BrokerSettings,
    sessions: BrokerSessions,
    broker: BrokerImage,
    response: BrokerHeartbeatResponse,
) -> list[MetadataRecord]:
    """One step towards the end of a broker that wants to go."""
    session = sessions.heard(broker.id, broker.epoch)
    if partition_changes.leads_any(image, broker.id):
        records: list[MetadataRecord] = []
        if not broker.in_controlled_shutdown:
            records.append(
                BrokerRegistrationChangeRecord(
                    broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=_LEAVE
                )
            )
        records += partition_changes.leave(image, settings, (broker.id,))
        session.shutdown_offset = image.offset + len(records) - 1
        return records
    if broker.in_controlled_shutdown:
        if session.shutdown_offset < 0:  # begun under another controller: everything up to now is enough
            session.shutdown_offset = image.offset - 1
        others = [id for id in sorted(image.brokers) if image.brokers[id].active]
        if sessions.lowest_offset(others) < session.shutdown_offset:
            return []
    response.is_fenced = response.should_shut_down = True
    return _fence(image, settings, broker)


def directories_failed(
    image: MetadataImage, settings: BrokerSettings, broker_id: int, lost: list[bytes]
) -> Outcome[None]:
    """A node that is its own controller has lost these directories, but not all."""
    broker = image.brokers[broker_id]
    known = [id for id in broker.log_dirs if id in lost]
    left = [id for id in broker.log_dirs if id not in lost]
    if not known or not left:
        return Outcome([], None)
    records: list[MetadataRecord] = [*partition_changes.directories_lost(image, settings, broker_id, known)]
    records.append(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, log_dirs=left))
    return Outcome(records, None)


def _directories(
    image: MetadataImage,
    settings: BrokerSettings,
    broker: BrokerImage,
    request: BrokerHeartbeatRequest,
    records: list[MetadataRecord],
    fenced: bool,
) -> None:
    """Directories that failed since, or that shall get nothing new."""
    lost = [id for id in broker.log_dirs if id in request.offline_log_dirs]
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    left = [id for id in broker.log_dirs if id not in lost]
    if lost and left:
        if not fenced and not records:
            records += partition_changes.directories_lost(image, settings, broker.id, lost)
        elif not fenced:
            return  # one thing at a time: the next heartbeat names them again
        change.log_dirs = left
    cordoned = request.cordoned_log_dirs
    if cordoned is not None and tuple(cordoned) != broker.cordoned_log_dirs:
        change.cordoned_log_dirs = list(cordoned)
    if change.log_dirs or change.cordoned_log_dirs is not None:
        records.append(change)
