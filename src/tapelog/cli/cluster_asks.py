"""What the cluster commands ask: DescribeCluster, Metadata, DescribeQuorum, reassignments, log directories.

Everything goes to a broker, as any client's request; what only a controller knows is forwarded by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from tapelog.cli.cluster_state import Broker, ClusterState, Partition, Quorum, Voter
from tapelog.cli.disks import complaint, state_of
from tapelog.cli.output import EXIT_UNREACHABLE, CliError
from tapelog.cli.raw import Node, RawError, Wire, check
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_cluster_request import DescribeClusterRequest
from tapelog.wire.messages.describe_cluster_response import DescribeClusterResponse
from tapelog.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tapelog.wire.messages.describe_configs_response import DescribeConfigsResponse
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsPartition, DescribeLogDirsResponse
from tapelog.wire.messages.describe_quorum_request import DescribeQuorumRequest
from tapelog.wire.messages.describe_quorum_request import PartitionData as AskedPartition
from tapelog.wire.messages.describe_quorum_request import TopicData as AskedTopic
from tapelog.wire.messages.describe_quorum_response import DescribeQuorumResponse, ReplicaState
from tapelog.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from tapelog.wire.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse

METADATA_TOPIC = "__cluster_metadata"
TOPIC, BROKER = 2, 4
MIN_ISR = "min.insync.replicas"
TOPICS_AT_A_TIME = 500
CORDON = "cordoned.log.dirs"
"""A broker that has `*` here gets no new replicas (KIP-1066)."""
ASKED_AT_ONCE_MAX = 32
NOT_TOLD = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_REQUEST)
"""A quorum that answers so is there, but does not tell us."""
Moving = dict[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]]


T = TypeVar("T")


def cluster_state(wire: Wire, *, sizes: bool = True, quorum: bool = True) -> ClusterState:
    """The cluster now, within the wire's timeout. What cannot be had is left out and named in `remarks`.

    Brokers and controllers are asked at the same time: those that are silent do not add up.
    """
    remarks: list[str] = []
    with wire.bounded(), ThreadPoolExecutor(ASKED_AT_ONCE_MAX) as threads:
        cluster_id, controller, found = brokers(wire)
        listed = with_min_isr(wire, partitions(wire, {}))
        moves = threads.submit(_apart, wire, moving)
        about_quorum = threads.submit(_apart, wire, describe_quorum) if quorum else None
        cordons = threads.submit(with_cordons, wire, found)
        told = log_dirs(wire, found, remarks) if sizes else {}
        trouble: str | None = None
        on_the_move: Moving = {}
        known: Quorum | None = None
        try:
            on_the_move = moves.result()
        except CliError as error:
            remarks.append(f"which partitions move: unknown, since {_reason(wire, error)}")
        try:
            known = None if about_quorum is None else about_quorum.result()
        except CliError as error:
            trouble = None if isinstance(error, RawError) and error.code in NOT_TOLD else _reason(wire, error)
            if trouble is None:
                remarks.append(f"the quorum: unknown, since {error.message}")
        return ClusterState(
            cluster_id,
            controller,
            tuple(cordons.result()),
            tuple(_moving(one, on_the_move) for one in listed),
            known,
            {key: part.partition_size for key, part in held(told).items()},
            tuple(remarks),
            full_directories(told),
            trouble,
        )


def _apart(wire: Wire, ask: Callable[[Wire], T]) -> T:
    with wire.apart() as own:
        return ask(own)


def _reason(wire: Wire, error: CliError) -> str:
    """Why a controller's answer is not there. The broker that passes the question on is not to blame: it answered
    everything else."""
    return (
        f"no controller answered within {wire.timeout_s:g} s" if error.exit_code == EXIT_UNREACHABLE else error.message
    )


def _moving(partition: Partition, on_the_move: Moving) -> Partition:
    adding, removing = on_the_move.get((partition.topic, partition.index), ((), ()))
    return replace(partition, adding=adding, removing=removing)


def brokers(wire: Wire) -> tuple[str, int, list[Broker]]:
    """Cluster id, controller (-1: none known), and the registered brokers, sorted; fenced ones if the API has them."""
    fenced = wire.serves(DescribeClusterRequest, 2)
    told = wire.ask(
        DescribeClusterRequest(include_fenced_brokers=True) if fenced else DescribeClusterRequest(),
        DescribeClusterResponse,
    )
    check(told.error_code, told.error_message or "the cluster cannot be described")
    found = [Broker(Node(one.broker_id, one.host, one.port), one.rack, one.is_fenced) for one in told.brokers]
    return told.cluster_id, told.controller_id, sorted(found, key=lambda one: one.id)


def with_cordons(wire: Wire, found: Iterable[Broker]) -> list[Broker]:
    """The same brokers, with `cordoned` as each one's own configuration says, and `silent` if it did not answer."""

    def asked(broker: Broker) -> Broker:
        if broker.fenced:
            return broker
        try:
            return replace(broker, cordoned=_apart(wire, lambda own: _is_cordoned(own, broker)))
        except CliError as error:
            return replace(broker, silent=error.exit_code == EXIT_UNREACHABLE)

    with ThreadPoolExecutor(ASKED_AT_ONCE_MAX) as threads:
        return list(threads.map(asked, found))


def _is_cordoned(wire: Wire, broker: Broker) -> bool:
    asked = DescribeConfigsResource(BROKER, str(broker.id), [CORDON])
    told = wire.ask(DescribeConfigsRequest([asked]), DescribeConfigsResponse, broker.node)
    values = [config.value for result in told.results for config in result.configs if config.name == CORDON]
    return any("*" in (value or "").split(",") for value in values)


def partitions(wire: Wire, on_the_move: Moving) -> list[Partition]:
    """Every partition, by topic and number."""
    found = []
    for topic in wire.metadata().topics:
        for part in topic.partitions:
            key = (topic.name or "", part.partition_index)
            adding, removing = on_the_move.get(key, ((), ()))
            found.append(
                Partition(*key, part.leader_id, tuple(part.replica_nodes), tuple(part.isr_nodes), adding, removing)
            )
    return sorted(found, key=lambda one: (one.topic, one.index))


def with_min_isr(wire: Wire, found: list[Partition]) -> list[Partition]:
    """The same partitions; those that lack replicas know how many their topic needs in sync, if anybody tells."""
    topics = list(dict.fromkeys(one.topic for one in found if one.missing))
    least: dict[str, int] = {}
    for first in range(0, len(topics), TOPICS_AT_A_TIME):
        some = topics[first : first + TOPICS_AT_A_TIME]
        try:
            asked = [DescribeConfigsResource(TOPIC, name, [MIN_ISR]) for name in some]
            told = wire.ask(DescribeConfigsRequest(asked), DescribeConfigsResponse)
        except CliError:
            break
        least |= {
            result.resource_name: int(config.value or 1)
            for result in told.results
            for config in result.configs
            if config.name == MIN_ISR
        }
    return [replace(one, min_isr=least.get(one.topic, 1)) for one in found]


def moving(wire: Wire) -> Moving:
    """Partitions under reassignment → the replicas being added and removed."""
    told = wire.ask(ListPartitionReassignmentsRequest(topics=None), ListPartitionReassignmentsResponse)
    check(
        told.error_code, told.error_message or "reassignments cannot be listed", "the controller may be moving: again"
    )
    return {
        (topic.name, part.partition_index): (tuple(part.adding_replicas), tuple(part.removing_replicas))
        for topic in told.topics
        for part in topic.partitions
    }


def ask_quorum(wire: Wire) -> DescribeQuorumResponse:
    """What the leader of the metadata quorum says of it; of one partition, without an error."""
    request = DescribeQuorumRequest([AskedTopic(METADATA_TOPIC, [AskedPartition(0)])])
    told = wire.ask(request, DescribeQuorumResponse)
    check(told.error_code, told.error_message or "the quorum does not answer", "is a majority of the voters there?")
    part = told.topics[0].partitions[0]
    check(part.error_code, part.error_message or "the quorum does not answer", "is a majority of the voters there?")
    return told


def describe_quorum(wire: Wire) -> Quorum:
    """The metadata quorum, by its leader."""
    told = ask_quorum(wire)
    part = told.topics[0].partitions[0]
    ends = [one.log_end_offset for one in part.current_voters if one.replica_id == part.leader_id]
    end = max(ends, default=part.high_watermark)
    return Quorum(
        part.leader_id,
        part.leader_epoch,
        part.high_watermark,
        tuple(_voter(one, end) for one in part.current_voters),
        tuple(_voter(one, end) for one in part.observers),
        None if told.unclean_elections < 0 else told.unclean_elections,
    )


def _voter(replica: ReplicaState, end: int) -> Voter:
    return Voter(
        replica.replica_id,
        replica.replica_directory_id,
        replica.log_end_offset,
        max(0, end - replica.log_end_offset) if replica.log_end_offset >= 0 else end,
        replica.last_fetch_timestamp,
        replica.last_caught_up_timestamp,
    )


def log_dirs(wire: Wire, found: Iterable[Broker], remarks: list[str]) -> dict[int, DescribeLogDirsResponse]:
    """What each broker says of its log directories, of brokers that answer. All are asked at the same time."""

    def asked(broker: Broker) -> DescribeLogDirsResponse | CliError:
        try:
            request = DescribeLogDirsRequest(topics=None)
            return _apart(wire, lambda own: own.ask(request, DescribeLogDirsResponse, broker.node))
        except CliError as error:
            return error

    there = [broker for broker in found if not broker.fenced]
    told: dict[int, DescribeLogDirsResponse] = {}
    with ThreadPoolExecutor(ASKED_AT_ONCE_MAX) as threads:
        for broker, answer in zip(there, threads.map(asked, there), strict=True):
            if isinstance(answer, CliError):
                remarks.append(f"the files of broker {broker.id}: unknown, since {answer.message}")
            else:
                told[broker.id] = answer
                complaints = [complaint(broker.id, directory) for directory in answer.results]
                remarks += [text for text in complaints if text is not None]
    return told


def full_directories(told: dict[int, DescribeLogDirsResponse]) -> tuple[str, ...]:
    """Those that take no records, as `broker:directory`."""
    return tuple(
        f"{broker}:{directory.log_dir}"
        for broker, response in sorted(told.items())
        for directory in response.results
        if state_of(directory) == "full"
    )


def held(told: dict[int, DescribeLogDirsResponse]) -> dict[tuple[int, str, int], DescribeLogDirsPartition]:
    """(broker, topic, partition) → what that broker says of its replica."""
    return {
        (broker, topic.name, part.partition_index): part
        for broker, response in told.items()
        for directory in response.results
        for topic in directory.topics
        for part in topic.partitions
        if not part.is_future_key
    }


def log_sizes(wire: Wire, found: Iterable[Broker], remarks: list[str]) -> dict[tuple[int, str, int], int]:
    """(broker, topic, partition) → bytes on its disk, of brokers that answer."""
    return {key: part.partition_size for key, part in held(log_dirs(wire, found, remarks)).items()}
