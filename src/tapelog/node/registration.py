"""What a node says about itself when it joins: the requests of a broker and of a controller, and the values of a node
that has nobody to ask but itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tapelog.base.config_values import split_list
from tapelog.metadata.brokers import BrokerRegistration
from tapelog.metadata.features import SUPPORTED
from tapelog.metadata.image import Endpoint
from tapelog.wire.messages import broker_registration_request as of_broker
from tapelog.wire.messages import controller_registration_request as of_controller

if TYPE_CHECKING:
    from tapelog.node.core import NodeCore


def broker_request(
    node: NodeCore, incarnation_id: bytes, endpoints: Sequence[Endpoint], previous_epoch: int
) -> of_broker.BrokerRegistrationRequest:
    """Version 4. The previous epoch proves a clean stop; -1 where there was none."""
    return of_broker.BrokerRegistrationRequest(
        broker_id=node.node_id,
        cluster_id=node.config.cluster_id,
        incarnation_id=incarnation_id,
        listeners=[
            of_broker.Listener(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in endpoints
        ],
        features=[
            of_broker.Feature(name=name, min_supported_version=least, max_supported_version=most)
            for name, (least, most) in sorted(SUPPORTED.items())
        ],
        rack=node.config.settings.get("broker.rack"),
        log_dirs=node.directory.ids,
        previous_broker_epoch=previous_epoch,
    )


def controller_request(
    node: NodeCore, incarnation_id: bytes, endpoint: Endpoint
) -> of_controller.ControllerRegistrationRequest:
    """Version 0."""
    return of_controller.ControllerRegistrationRequest(
        controller_id=node.node_id,
        incarnation_id=incarnation_id,
        listeners=[
            of_controller.Listener(
                name=endpoint.name,
                host=endpoint.host,
                port=endpoint.port,
                security_protocol=endpoint.security_protocol,
            )
        ],
        features=[
            of_controller.Feature(name=name, min_supported_version=least, max_supported_version=most)
            for name, (least, most) in sorted(SUPPORTED.items())
        ],
    )


def alone(node: NodeCore, incarnation_id: bytes, endpoints: Sequence[Endpoint]) -> BrokerRegistration:
    """A broker that is its own controller serves at once."""
    return BrokerRegistration(
        node.node_id,
        node.config.cluster_id,
        incarnation_id,
        endpoints,
        node.directory.ids,
        node.config.settings.get("broker.rack"),
        fenced=False,
    )


def cordoned(node: NodeCore) -> list[bytes]:
    """Directories that shall get no new replicas: what `cordoned.log.dirs` names, or all for `*`."""
    names = split_list(node.metadata.layers.text("cordoned.log.dirs") or "")
    return [one.directory_id for one in node.directory.items if "*" in names or one.path in names]
