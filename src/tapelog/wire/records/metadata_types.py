"""The records of __cluster_metadata. Written by codegen/generate.py: change the generator, not this file."""

from __future__ import annotations

from typing import Final

from tapelog.wire.message import Message
from tapelog.wire.records.abort_transaction_record import AbortTransactionRecord
from tapelog.wire.records.access_control_entry_record import AccessControlEntryRecord
from tapelog.wire.records.begin_transaction_record import BeginTransactionRecord
from tapelog.wire.records.broker_registration_change_record import BrokerRegistrationChangeRecord
from tapelog.wire.records.clear_elr_record import ClearElrRecord
from tapelog.wire.records.client_quota_record import ClientQuotaRecord
from tapelog.wire.records.config_record import ConfigRecord
from tapelog.wire.records.delegation_token_record import DelegationTokenRecord
from tapelog.wire.records.end_transaction_record import EndTransactionRecord
from tapelog.wire.records.feature_level_record import FeatureLevelRecord
from tapelog.wire.records.fence_broker_record import FenceBrokerRecord
from tapelog.wire.records.no_op_record import NoOpRecord
from tapelog.wire.records.partition_change_record import PartitionChangeRecord
from tapelog.wire.records.partition_record import PartitionRecord
from tapelog.wire.records.producer_ids_record import ProducerIdsRecord
from tapelog.wire.records.register_broker_record import RegisterBrokerRecord
from tapelog.wire.records.register_controller_record import RegisterControllerRecord
from tapelog.wire.records.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from tapelog.wire.records.remove_delegation_token_record import RemoveDelegationTokenRecord
from tapelog.wire.records.remove_topic_record import RemoveTopicRecord
from tapelog.wire.records.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from tapelog.wire.records.topic_record import TopicRecord
from tapelog.wire.records.unfence_broker_record import UnfenceBrokerRecord
from tapelog.wire.records.unregister_broker_record import UnregisterBrokerRecord
from tapelog.wire.records.user_scram_credential_record import UserScramCredentialRecord
from tapelog.wire.records.zk_migration_state_record import ZkMigrationStateRecord

METADATA_TYPES: Final[dict[int, type[Message]]] = {
    0: RegisterBrokerRecord,
    1: UnregisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    7: FenceBrokerRecord,
    8: UnfenceBrokerRecord,
    9: RemoveTopicRecord,
    10: DelegationTokenRecord,
    11: UserScramCredentialRecord,
    12: FeatureLevelRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    17: BrokerRegistrationChangeRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    20: NoOpRecord,
    21: ZkMigrationStateRecord,
    22: RemoveUserScramCredentialRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    25: AbortTransactionRecord,
    26: RemoveDelegationTokenRecord,
    27: RegisterControllerRecord,
    28: ClearElrRecord,
}
"""Record type to class."""
