"""Carrying out a plan: a few at a time, throttled, told, verified; on a stand-in for a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.cli import moves
from tapelog.cli.moves import Progress, carry_out, patiently
from tapelog.cli.output import EXIT_UNREACHABLE, CliError
from tapelog.cli.raw import Node, RawError
from tapelog.cli.rebalance_plan import Move
from tapelog.cli.throttle import RATES, replica_lists, throttled
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from tapelog.wire.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from tapelog.wire.messages.elect_leaders_request import ElectLeadersRequest
from tapelog.wire.messages.elect_leaders_response import ElectLeadersResponse
from tapelog.wire.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tapelog.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from tapelog.wire.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from tapelog.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


class Cluster:
    """Answers as a cluster whose reassignments take `polls` questions to finish."""

    def __init__(self, polls: int = 2, refuse: ErrorCode = ErrorCode.NONE, loses: bool = False) -> None:
        self.polls, self.refuse, self.loses = polls, refuse, loses
        self.replicas: dict[int, list[int]] = {}
        self.running: dict[int, int] = {}
        self.most_at_once = 0
        self.elected: list[int] = []
        self.configs: list[tuple[str, str, int, str | None]] = []

    def serves(self, request: type[Message], version: int) -> bool:
        return True

    def nodes(self) -> list[Node]:
        return [Node(1, "h", 1), Node(2, "h", 2)]

    def metadata(self, topics: object = None) -> MetadataResponse:
        parts = [
            MetadataResponsePartition(partition_index=index, leader_id=after[0], replica_nodes=after, isr_nodes=after)
            for index, after in self.replicas.items()
        ]
        return MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=parts)])

    def ask(self, request: Message, answer: type[Any], node: Node | None = None) -> Any:
        match request:
            case AlterPartitionReassignmentsRequest():
                return self._reassign(request)
            case ElectLeadersRequest():
                assert request.topic_partitions is not None
                self.elected += request.topic_partitions[0].partitions
                return ElectLeadersResponse(replica_election_results=[])
            case IncrementalAlterConfigsRequest():
                for one in request.resources:
                    self.configs += [
                        (one.resource_name, config.name, config.config_operation, config.value)
                        for config in one.configs
                    ]
                return IncrementalAlterConfigsResponse(responses=[])
            case _ if answer is ListPartitionReassignmentsResponse:
                self.running = {index: left - 1 for index, left in self.running.items() if left > 0}
                parts = [OngoingPartitionReassignment(partition_index=index) for index in self.running]
                return ListPartitionReassignmentsResponse(topics=[OngoingTopicReassignment("t", parts)])
        raise CliError("not here")

    def _reassign(self, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
        told = []
        for part in request.topics[0].partitions:
            told.append(ReassignablePartitionResponse(part.partition_index, self.refuse, "no" if self.refuse else None))
            if self.refuse == ErrorCode.NONE and part.replicas is not None:
                self.replicas[part.partition_index] = [9] if self.loses else part.replicas
                self.running[part.partition_index] = self.polls
        self.most_at_once = max(self.most_at_once, len(self.running))
        return AlterPartitionReassignmentsResponse(responses=[ReassignableTopicResponse("t", told)], error_message=None)


PLAN = [Move("t", index, (1,), (2,), 10) for index in range(7)]


def run(cluster: Cluster, parallel: int = 3) -> list[Progress]:
    told: list[Progress] = []
    carry_out(cluster, PLAN, parallel=parallel, tell=told.append, pause_s=0)  # type: ignore[arg-type]
    return told


def test_a_few_partitions_at_a_time_and_all_of_them_in_the_end() -> None:
    cluster = Cluster()
    told = run(cluster)
    assert cluster.most_at_once == 3
    assert (told[-1].done, told[-1].total, told[-1].bytes_done, told[-1].bytes_total) == (7, 7, 70, 70)
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert sorted(cluster.elected) == list(range(7)), "the first replica leads"


def test_a_refusal_is_told_with_the_partition() -> None:
    with pytest.raises(RawError, match="t:0 cannot be moved: no"):
        run(Cluster(refuse=ErrorCode.INVALID_REPLICA_ASSIGNMENT))


def test_moves_that_somebody_took_back_are_told() -> None:
    with pytest.raises(CliError, match="7 of 7 partitions did not get where they should"):
        run(Cluster(loses=True))


def test_a_cluster_that_is_away_for_a_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "POLL_S", 0)
    answers = [
        CliError("gone", "", EXIT_UNREACHABLE),
        RawError(ErrorCode.NOT_CONTROLLER, "moved"),
        RawError(ErrorCode.INVALID_REQUEST, "wrong"),
    ]

    def ask() -> None:
        raise answers.pop(0)

    with pytest.raises(RawError, match="wrong"):
        patiently(ask)
    assert not answers


def test_throttles_are_set_before_and_taken_away_after_whatever_happens() -> None:
    cluster = Cluster()
    with pytest.raises(RuntimeError), throttled(cluster, PLAN[:1], 1000):  # type: ignore[arg-type]
        before = list(cluster.configs)
        raise RuntimeError
    assert ("1", RATES[0], 0, "1000") in before and ("2", RATES[1], 0, "1000") in before
    assert {(name, config) for name, config, operation, _ in cluster.configs[len(before) :] if operation == 1} == {
        (name, config) for name, config, _, _ in before
    }


def test_only_copies_are_throttled() -> None:
    lists = replica_lists([Move("t", 0, (1, 2), (1, 3), 5), Move("t", 4, (2,), (3,), 5)])
    assert lists == {"t": ("0:1,0:2,4:2", "0:3,4:3")}
    cluster = Cluster()
    with throttled(cluster, [Move("t", 0, (1, 2), (2, 1), 0)], 1000):  # type: ignore[arg-type]
        pass
    assert cluster.configs == [], "a change of order copies nothing"
