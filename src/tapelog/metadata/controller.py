"""The controller: every change of cluster metadata is proposed here, and nowhere else.

A facade over the handlers by concern. Each method takes the newest image and returns an Outcome; nothing is changed
until MetadataLog has committed the records and replayed them. Server handlers call it through MetadataLog.propose.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapelog.base.config import BrokerSettings
from tapelog.base.ports import Entropy
from tapelog.metadata import brokers, configs, features, producer_ids, topics
from tapelog.metadata.brokers import BrokerRegistration
from tapelog.metadata.image import Endpoint, MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.producer_ids import ProducerIdBlock
from tapelog.wire.messages.alter_configs_request import AlterConfigsRequest
from tapelog.wire.messages.alter_configs_response import AlterConfigsResponse
from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest
from tapelog.wire.messages.create_partitions_response import CreatePartitionsResponse
from tapelog.wire.messages.create_topics_request import CreateTopicsRequest
from tapelog.wire.messages.create_topics_response import CreateTopicsResponse
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.delete_topics_response import DeleteTopicsResponse
from tapelog.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tapelog.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tapelog.wire.messages.update_features_request import UpdateFeaturesRequest
from tapelog.wire.messages.update_features_response import UpdateFeaturesResponse


class Controller:
    """Proposes metadata changes. Holds settings and chance, but no state of the cluster."""

    def __init__(self, settings: BrokerSettings, entropy: Entropy) -> None:
        self.settings = settings
        self.entropy = entropy

    def create_topics(self, image: MetadataImage, request: CreateTopicsRequest) -> Outcome[CreateTopicsResponse]:
        """CreateTopics, versions 2 to 7."""
        return topics.create_topics(image, self.settings, self.entropy, request)

    def auto_create_topics(self, image: MetadataImage, names: list[str]) -> Outcome[CreateTopicsResponse]:
        """Create what a client or the broker itself named and does not exist; internal topics get their parameters.

        Names that exist by now are answered with TOPIC_ALREADY_EXISTS, which callers take for success.
        """
        request = topics.auto_create_request(image, self.settings, names)
        return topics.create_topics(image, self.settings, self.entropy, request)

    def delete_topics(
        self, image: MetadataImage, request: DeleteTopicsRequest, version: int
    ) -> Outcome[DeleteTopicsResponse]:
        """DeleteTopics, versions 1 to 6."""
        return topics.delete_topics(image, self.settings, request, version)

    def create_partitions(
        self, image: MetadataImage, request: CreatePartitionsRequest
    ) -> Outcome[CreatePartitionsResponse]:
        """CreatePartitions, versions 0 to 3."""
        return topics.create_partitions(image, self.entropy, request)

    def incremental_alter_configs(
        self, image: MetadataImage, request: IncrementalAlterConfigsRequest
    ) -> Outcome[IncrementalAlterConfigsResponse]:
        """IncrementalAlterConfigs, versions 0 and 1."""
        return configs.incremental_alter_configs(image, self.settings, request)

    def alter_configs(self, image: MetadataImage, request: AlterConfigsRequest) -> Outcome[AlterConfigsResponse]:
        """AlterConfigs, versions 0 to 2."""
        return configs.alter_configs(image, self.settings, request)

    def allocate_producer_ids(
        self, image: MetadataImage, broker_id: int, broker_epoch: int
    ) -> Outcome[ProducerIdBlock]:
        """The next block of producer ids for a broker."""
        return producer_ids.allocate_producer_ids(image, broker_id, broker_epoch)

    def update_features(
        self, image: MetadataImage, request: UpdateFeaturesRequest, version: int
    ) -> Outcome[UpdateFeaturesResponse]:
        """UpdateFeatures, versions 0 to 2."""
        return features.update_features(image, request, version)

    def register_broker(self, image: MetadataImage, registration: BrokerRegistration) -> Outcome[int]:
        """A broker joins; the response is its epoch."""
        return brokers.register_broker(image, registration)

    def register_controller(
        self, image: MetadataImage, controller_id: int, incarnation_id: bytes, endpoints: Sequence[Endpoint]
    ) -> Outcome[None]:
        """A controller says where it listens."""
        return brokers.register_controller(image, controller_id, incarnation_id, endpoints)

    def unfence_broker(self, image: MetadataImage, broker_id: int, epoch: int) -> Outcome[None]:
        """A broker is ready to serve."""
        return brokers.unfence_broker(image, broker_id, epoch)

    def fence_broker(self, image: MetadataImage, broker_id: int, epoch: int) -> Outcome[None]:
        """A broker does not answer any more."""
        return brokers.fence_broker(image, broker_id, epoch)

    def unregister_broker(self, image: MetadataImage, broker_id: int) -> Outcome[None]:
        """A broker will not come back."""
        return brokers.unregister_broker(image, broker_id)
