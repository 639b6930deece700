"""The kinds of record that the metadata log holds, as one type: a kind nobody replays is a type error."""

from __future__ import annotations

from tapelog.wire.records.abort_transaction_record import AbortTransactionRecord
from tapelog.wire.records.begin_transaction_record import BeginTransactionRecord
from tapelog.wire.records.broker_registration_change_record import BrokerRegistrationChangeRecord
from tapelog.wire.records.clear_elr_record import ClearElrRecord
from tapelog.wire.records.config_record import ConfigRecord
from tapelog.wire.records.end_transaction_record import EndTransactionRecord
from tapelog.wire.records.feature_level_record import FeatureLevelRecord
from tapelog.wire.records.fence_broker_record import FenceBrokerRecord
from tapelog.wire.records.no_op_record import NoOpRecord
from tapelog.wire.records.partition_change_record import PartitionChangeRecord
from tapelog.wire.records.partition_record import PartitionRecord
from tapelog.wire.records.producer_ids_record import ProducerIdsRecord
from tapelog.wire.records.register_broker_record import RegisterBrokerRecord
from tapelog.wire.records.register_controller_record import RegisterControllerRecord
from tapelog.wire.records.remove_topic_record import RemoveTopicRecord
from tapelog.wire.records.topic_record import TopicRecord
from tapelog.wire.records.unfence_broker_record import UnfenceBrokerRecord
from tapelog.wire.records.unregister_broker_record import UnregisterBrokerRecord

StateRecord = (
    PartitionRecord
    | TopicRecord
    | ConfigRecord
    | PartitionChangeRecord
    | RemoveTopicRecord
    | ProducerIdsRecord
    | FeatureLevelRecord
    | RegisterBrokerRecord
    | BrokerRegistrationChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | UnregisterBrokerRecord
    | RegisterControllerRecord
    | ClearElrRecord
    | NoOpRecord
)
"""Records that an image is replayed from."""

TransactionRecord = BeginTransactionRecord | EndTransactionRecord | AbortTransactionRecord
"""Records that say which of their neighbours count."""

MetadataRecord = StateRecord | TransactionRecord

__all__ = [
    "AbortTransactionRecord",
    "BeginTransactionRecord",
    "BrokerRegistrationChangeRecord",
    "ClearElrRecord",
    "ConfigRecord",
    "EndTransactionRecord",
    "FeatureLevelRecord",
    "FenceBrokerRecord",
    "MetadataRecord",
    "NoOpRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "ProducerIdsRecord",
    "RegisterBrokerRecord",
    "RegisterControllerRecord",
    "RemoveTopicRecord",
    "StateRecord",
    "TopicRecord",
    "TransactionRecord",
    "UnfenceBrokerRecord",
    "UnregisterBrokerRecord",
]
