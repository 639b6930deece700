"""How brokers and controllers make themselves known to the active controller: BrokerRegistration, BrokerHeartbeat,
UnregisterBroker, ControllerRegistration, AllocateProducerIds. Answered when the records are committed; NOT_CONTROLLER
where this node is not the active controller."""

from __future__ import annotations

from tapelog.metadata.brokers import BrokerRegistration
from tapelog.metadata.image import Endpoint
from tapelog.metadata.producer_ids import ProducerIdBlock
from tapelog.server.call import Call
from tapelog.server.node_api import NodeApi
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from tapelog.wire.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from tapelog.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tapelog.wire.messages.broker_registration_request import BrokerRegistrationRequest
from tapelog.wire.messages.broker_registration_response import BrokerRegistrationResponse
from tapelog.wire.messages.controller_registration_request import ControllerRegistrationRequest
from tapelog.wire.messages.controller_registration_response import ControllerRegistrationResponse
from tapelog.wire.messages.unregister_broker_request import UnregisterBrokerRequest
from tapelog.wire.messages.unregister_broker_response import UnregisterBrokerResponse


def broker_registration(node: NodeApi, call: Call, request: BrokerRegistrationRequest) -> None:
    """Versions 0 to 4; log directories since 2, the previous epoch (a clean stop) since 3.

    A node alone has no connections to others: it would never fetch from them or notice their end.
    """
    if not node.settings.string("controller.quorum.voters") and request.broker_id != node.node_id:
        message = f"Node {node.node_id} runs alone: its configuration names no voters"
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, message)
    registration = BrokerRegistration(
        request.broker_id,
        request.cluster_id,
        request.incarnation_id,
        [Endpoint(e.name, e.host, e.port, e.security_protocol) for e in request.listeners],
        request.log_dirs,
        request.rack,
        previous_epoch=request.previous_broker_epoch,
        features=[(f.name, f.min_supported_version, f.max_supported_version) for f in request.features],
    )

    def registered(epoch: int | KafkaError) -> None:
        call.outcome(epoch if isinstance(epoch, KafkaError) else BrokerRegistrationResponse(broker_epoch=epoch))

    node.change_metadata(lambda image: node.controller.register_broker(image, registration), registered)


def broker_heartbeat(node: NodeApi, call: Call, request: BrokerHeartbeatRequest) -> None:
    """Versions 0 to 2; directories that failed since 1, cordoned ones since 2."""
    known = node.image.brokers.get(request.broker_id)
    if known is not None and known.epoch == request.broker_epoch:
        call.connection.broker_id = request.broker_id
        node.heartbeat_came(request.broker_id, call.connection.number)
    node.change_metadata(lambda image: node.controller.broker_heartbeat(image, request), call.outcome)


def unregister_broker(node: NodeApi, call: Call, request: UnregisterBrokerRequest) -> None:
    """Version 0."""

    def unregistered(outcome: KafkaError | None) -> None:
        call.outcome(outcome if outcome is not None else UnregisterBrokerResponse(error_message=None))

    node.change_metadata(lambda image: node.controller.unregister_broker(image, request.broker_id), unregistered)


def controller_registration(node: NodeApi, call: Call, request: ControllerRegistrationRequest) -> None:
    """Version 0."""
    endpoints = [Endpoint(e.name, e.host, e.port, e.security_protocol) for e in request.listeners]
    supported = [(f.name, f.min_supported_version, f.max_supported_version) for f in request.features]

    def registered(outcome: KafkaError | None) -> None:
        call.outcome(outcome if outcome is not None else ControllerRegistrationResponse(error_message=None))

    node.change_metadata(
        lambda image: node.controller.register_controller(
            image, request.controller_id, request.incarnation_id, endpoints, supported
        ),
        registered,
    )


def allocate_producer_ids(node: NodeApi, call: Call, request: AllocateProducerIdsRequest) -> None:
    """Version 0: a block of ids that nobody else gets."""

    def allocated(block: ProducerIdBlock | KafkaError) -> None:
        call.outcome(
            block
            if isinstance(block, KafkaError)
            else AllocateProducerIdsResponse(producer_id_start=block.first, producer_id_len=block.count)
        )

    node.change_metadata(
        lambda image: node.controller.allocate_producer_ids(image, request.broker_id, request.broker_epoch), allocated
    )
