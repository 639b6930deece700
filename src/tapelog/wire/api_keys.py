"""API keys and header versions. Written by codegen/generate.py: change the generator, not this file.

`VERSIONS` holds what Apache Kafka supports, stable versions only; what this broker serves is in its routes table.
"""

from __future__ import annotations

from typing import Final

_NEVER: Final = 32767


class ApiKey:
    """The number of each API."""

    PRODUCE: Final = 0
    FETCH: Final = 1
    LIST_OFFSETS: Final = 2
    METADATA: Final = 3
    LEADER_AND_ISR: Final = 4
    STOP_REPLICA: Final = 5
    UPDATE_METADATA: Final = 6
    CONTROLLED_SHUTDOWN: Final = 7
    OFFSET_COMMIT: Final = 8
    OFFSET_FETCH: Final = 9
    FIND_COORDINATOR: Final = 10
    JOIN_GROUP: Final = 11
    HEARTBEAT: Final = 12
    LEAVE_GROUP: Final = 13
    SYNC_GROUP: Final = 14
    DESCRIBE_GROUPS: Final = 15
    LIST_GROUPS: Final = 16
    SASL_HANDSHAKE: Final = 17
    API_VERSIONS: Final = 18
    CREATE_TOPICS: Final = 19
    DELETE_TOPICS: Final = 20
    DELETE_RECORDS: Final = 21
    INIT_PRODUCER_ID: Final = 22
    OFFSET_FOR_LEADER_EPOCH: Final = 23
    ADD_PARTITIONS_TO_TXN: Final = 24
    ADD_OFFSETS_TO_TXN: Final = 25
    END_TXN: Final = 26
    WRITE_TXN_MARKERS: Final = 27
    TXN_OFFSET_COMMIT: Final = 28
    DESCRIBE_ACLS: Final = 29
    CREATE_ACLS: Final = 30
    DELETE_ACLS: Final = 31
    DESCRIBE_CONFIGS: Final = 32
    ALTER_CONFIGS: Final = 33
    ALTER_REPLICA_LOG_DIRS: Final = 34
    DESCRIBE_LOG_DIRS: Final = 35
    SASL_AUTHENTICATE: Final = 36
    CREATE_PARTITIONS: Final = 37
    CREATE_DELEGATION_TOKEN: Final = 38
    RENEW_DELEGATION_TOKEN: Final = 39
    EXPIRE_DELEGATION_TOKEN: Final = 40
    DESCRIBE_DELEGATION_TOKEN: Final = 41
    DELETE_GROUPS: Final = 42
    ELECT_LEADERS: Final = 43
    INCREMENTAL_ALTER_CONFIGS: Final = 44
    ALTER_PARTITION_REASSIGNMENTS: Final = 45
    LIST_PARTITION_REASSIGNMENTS: Final = 46
    OFFSET_DELETE: Final = 47
    DESCRIBE_CLIENT_QUOTAS: Final = 48
    ALTER_CLIENT_QUOTAS: Final = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS: Final = 50
    ALTER_USER_SCRAM_CREDENTIALS: Final = 51
    VOTE: Final = 52
    BEGIN_QUORUM_EPOCH: Final = 53
    END_QUORUM_EPOCH: Final = 54
    DESCRIBE_QUORUM: Final = 55
    ALTER_PARTITION: Final = 56
    UPDATE_FEATURES: Final = 57
    ENVELOPE: Final = 58
    FETCH_SNAPSHOT: Final = 59
    DESCRIBE_CLUSTER: Final = 60
    DESCRIBE_PRODUCERS: Final = 61
    BROKER_REGISTRATION: Final = 62
    BROKER_HEARTBEAT: Final = 63
    UNREGISTER_BROKER: Final = 64
    DESCRIBE_TRANSACTIONS: Final = 65
    LIST_TRANSACTIONS: Final = 66
    ALLOCATE_PRODUCER_IDS: Final = 67
    CONSUMER_GROUP_HEARTBEAT: Final = 68
    CONSUMER_GROUP_DESCRIBE: Final = 69
    CONTROLLER_REGISTRATION: Final = 70
    GET_TELEMETRY_SUBSCRIPTIONS: Final = 71
    PUSH_TELEMETRY: Final = 72
    ASSIGN_REPLICAS_TO_DIRS: Final = 73
    LIST_CONFIG_RESOURCES: Final = 74
    DESCRIBE_TOPIC_PARTITIONS: Final = 75
    SHARE_GROUP_HEARTBEAT: Final = 76
    SHARE_GROUP_DESCRIBE: Final = 77
    SHARE_FETCH: Final = 78
    SHARE_ACKNOWLEDGE: Final = 79
    ADD_RAFT_VOTER: Final = 80
    REMOVE_RAFT_VOTER: Final = 81
    UPDATE_RAFT_VOTER: Final = 82
    INITIALIZE_SHARE_GROUP_STATE: Final = 83
    READ_SHARE_GROUP_STATE: Final = 84
    WRITE_SHARE_GROUP_STATE: Final = 85
    DELETE_SHARE_GROUP_STATE: Final = 86
    READ_SHARE_GROUP_STATE_SUMMARY: Final = 87
    STREAMS_GROUP_HEARTBEAT: Final = 88
    STREAMS_GROUP_DESCRIBE: Final = 89
    DESCRIBE_SHARE_GROUP_OFFSETS: Final = 90
    ALTER_SHARE_GROUP_OFFSETS: Final = 91
    DELETE_SHARE_GROUP_OFFSETS: Final = 92


NAMES: Final[dict[int, str]] = {
    0: "Produce",
    1: "Fetch",
    2: "ListOffsets",
    3: "Metadata",
    4: "LeaderAndIsr",
    5: "StopReplica",
    6: "UpdateMetadata",
    7: "ControlledShutdown",
    8: "OffsetCommit",
    9: "OffsetFetch",
    10: "FindCoordinator",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
    15: "DescribeGroups",
    16: "ListGroups",
    17: "SaslHandshake",
    18: "ApiVersions",
    19: "CreateTopics",
    20: "DeleteTopics",
    21: "DeleteRecords",
    22: "InitProducerId",
    23: "OffsetForLeaderEpoch",
    24: "AddPartitionsToTxn",
    25: "AddOffsetsToTxn",
    26: "EndTxn",
    27: "WriteTxnMarkers",
    28: "TxnOffsetCommit",
    29: "DescribeAcls",
    30: "CreateAcls",
    31: "DeleteAcls",
    32: "DescribeConfigs",
    33: "AlterConfigs",
    34: "AlterReplicaLogDirs",
    35: "DescribeLogDirs",
    36: "SaslAuthenticate",
    37: "CreatePartitions",
    38: "CreateDelegationToken",
    39: "RenewDelegationToken",
    40: "ExpireDelegationToken",
    41: "DescribeDelegationToken",
    42: "DeleteGroups",
    43: "ElectLeaders",
    44: "IncrementalAlterConfigs",
    45: "AlterPartitionReassignments",
    46: "ListPartitionReassignments",
    47: "OffsetDelete",
    48: "DescribeClientQuotas",
    49: "AlterClientQuotas",
    50: "DescribeUserScramCredentials",
    51: "AlterUserScramCredentials",
    52: "Vote",
    53: "BeginQuorumEpoch",
    54: "EndQuorumEpoch",
    55: "DescribeQuorum",
    56: "AlterPartition",
    57: "UpdateFeatures",
    58: "Envelope",
    59: "FetchSnapshot",
    60: "DescribeCluster",
    61: "DescribeProducers",
    62: "BrokerRegistration",
    63: "BrokerHeartbeat",
    64: "UnregisterBroker",
    65: "DescribeTransactions",
    66: "ListTransactions",
    67: "AllocateProducerIds",
    68: "ConsumerGroupHeartbeat",
    69: "ConsumerGroupDescribe",
    70: "ControllerRegistration",
    71: "GetTelemetrySubscriptions",
    72: "PushTelemetry",
    73: "AssignReplicasToDirs",
    74: "ListConfigResources",
    75: "DescribeTopicPartitions",
    76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe",
    78: "ShareFetch",
    79: "ShareAcknowledge",
    80: "AddRaftVoter",
    81: "RemoveRaftVoter",
    82: "UpdateRaftVoter",
    83: "InitializeShareGroupState",
    84: "ReadShareGroupState",
    85: "WriteShareGroupState",
    86: "DeleteShareGroupState",
    87: "ReadShareGroupStateSummary",
    88: "StreamsGroupHeartbeat",
    89: "StreamsGroupDescribe",
    90: "DescribeShareGroupOffsets",
    91: "AlterShareGroupOffsets",
    92: "DeleteShareGroupOffsets",
}
"""The name of each API, as in its message classes, without Request or Response."""

VERSIONS: Final[dict[int, tuple[int, int]]] = {
    0: (3, 13),
    1: (4, 18),
    2: (1, 11),
    3: (0, 13),
    8: (2, 10),
    9: (1, 10),
    10: (0, 6),
    11: (0, 9),
    12: (0, 4),
    13: (0, 5),
    14: (0, 5),
    15: (0, 6),
    16: (0, 5),
    17: (0, 1),
    18: (0, 4),
    19: (2, 7),
    20: (1, 6),
    21: (0, 2),
    22: (0, 5),
    23: (2, 4),
    24: (0, 5),
    25: (0, 4),
    26: (0, 5),
    27: (1, 2),
    28: (0, 5),
    29: (1, 3),
    30: (1, 3),
    31: (1, 3),
    32: (1, 4),
    33: (0, 2),
    34: (1, 2),
    35: (1, 5),
    36: (0, 2),
    37: (0, 3),
    38: (1, 3),
    39: (1, 2),
    40: (1, 2),
    41: (1, 3),
    42: (0, 2),
    43: (0, 2),
    44: (0, 1),
    45: (0, 1),
    46: (0, 0),
    47: (0, 0),
    48: (0, 1),
    49: (0, 1),
    50: (0, 0),
    51: (0, 0),
    52: (0, 2),
    53: (0, 1),
    54: (0, 1),
    55: (0, 2),
    56: (2, 3),
    57: (0, 2),
    58: (0, 0),
    59: (0, 1),
    60: (0, 2),
    61: (0, 0),
    62: (0, 4),
    63: (0, 2),
    64: (0, 0),
    65: (0, 0),
    66: (0, 2),
    67: (0, 0),
    68: (0, 1),
    69: (0, 1),
    70: (0, 0),
    71: (0, 0),
    72: (0, 0),
    73: (0, 0),
    74: (0, 1),
    75: (0, 0),
    76: (1, 1),
    77: (1, 1),
    78: (1, 2),
    79: (1, 2),
    80: (0, 1),
    81: (0, 0),
    82: (0, 0),
    83: (0, 0),
    84: (0, 0),
    85: (0, 1),
    86: (0, 0),
    87: (0, 1),
    88: (0, 0),
    89: (0, 0),
    90: (0, 1),
    91: (0, 0),
    92: (0, 0),
}
"""The least and greatest stable version of each API that still exists."""

FLEXIBLE_FROM: Final[dict[int, int]] = {
    0: 9,
    1: 12,
    2: 6,
    3: 9,
    8: 8,
    9: 6,
    10: 3,
    11: 6,
    12: 4,
    13: 4,
    14: 4,
    15: 5,
    16: 3,
    18: 3,
    19: 5,
    20: 4,
    21: 2,
    22: 2,
    23: 4,
    24: 3,
    25: 3,
    26: 3,
    27: 1,
    28: 3,
    29: 2,
    30: 2,
    31: 2,
    32: 4,
    33: 2,
    34: 2,
    35: 2,
    36: 2,
    37: 2,
    38: 2,
    39: 2,
    40: 2,
    41: 2,
    42: 2,
    43: 2,
    44: 1,
    45: 0,
    46: 0,
    48: 1,
    49: 1,
    50: 0,
    51: 0,
    52: 0,
    53: 1,
    54: 1,
    55: 0,
    56: 0,
    57: 0,
    58: 0,
    59: 0,
    60: 0,
    61: 0,
    62: 0,
    63: 0,
    64: 0,
    65: 0,
    66: 0,
    67: 0,
    68: 0,
    69: 0,
    70: 0,
    71: 0,
    72: 0,
    73: 0,
    74: 0,
    75: 0,
    76: 0,
    77: 0,
    78: 0,
    79: 0,
    80: 0,
    81: 0,
    82: 0,
    83: 0,
    84: 0,
    85: 0,
    86: 0,
    87: 0,
    88: 0,
    89: 0,
    90: 0,
    91: 0,
    92: 0,
}
"""The first flexible version of each API that has one."""

BROKER_APIS: Final[tuple[int, ...]] = (
    0,
    1,
    2,
    3,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    26,
    27,
    28,
    29,
    30,
    31,
    32,
    33,
    34,
    35,
    36,
    37,
    38,
    39,
    40,
    41,
    42,
    43,
    44,
    45,
    46,
    47,
    48,
    49,
    50,
    51,
    55,
    57,
    60,
    61,
    64,
    65,
    66,
    68,
    69,
    71,
    72,
    74,
    75,
    76,
    77,
    78,
    79,
    80,
    81,
    83,
    84,
    85,
    86,
    87,
    88,
    89,
    90,
    91,
    92,
)
"""What a broker listener serves in Kafka."""

CONTROLLER_APIS: Final[tuple[int, ...]] = (
    1,
    17,
    18,
    19,
    20,
    29,
    30,
    31,
    32,
    33,
    36,
    37,
    38,
    39,
    40,
    41,
    43,
    44,
    45,
    46,
    49,
    50,
    51,
    52,
    53,
    54,
    55,
    56,
    57,
    58,
    59,
    60,
    62,
    63,
    64,
    67,
    70,
    73,
    80,
    81,
    82,
)
"""What a controller listener serves in Kafka."""


def request_header_version(api_key: int, version: int) -> int:
    """The version of the header before such a request; 1 for APIs nobody knows."""
    return 2 if version >= FLEXIBLE_FROM.get(api_key, _NEVER) else 1


def response_header_version(api_key: int, version: int) -> int:
    """The version of the header before such a response. ApiVersions always has 0: who asks knows no versions yet."""
    if api_key == 18:
        return 0
    return 1 if version >= FLEXIBLE_FROM.get(api_key, _NEVER) else 0
