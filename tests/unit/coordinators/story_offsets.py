"""The part of the stories that deals with offsets: commits, in transactions too, fetches, deletions."""

from __future__ import annotations

from typing import Any

from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tapelog.wire.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tapelog.wire.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tapelog.wire.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.unit.coordinators.bench import Bench


class Client:
    """What a toy client remembers between its requests."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.group = "g"
        self.member_id = ""
        self.instance: str | None = None
        self.generation = -1
        self.protocol = ""
        self.topics = ["orders"]
        self.protocols = ["range"]


class OffsetVerbs:
    """Commands about offsets; `story.Story` has the rest."""

    bench: Bench
    clients: dict[str, Client]
    told: list[str]
    waiting: list[str]

    def client(self, name: str, named: dict[str, str]) -> Client:
        raise NotImplementedError

    def ask(self, label: str, api: str, request: Any, version: int, tell: Any, client: str = "admin") -> None:
        raise NotImplementedError

    def do_commit(self, plain: list[str], named: dict[str, str]) -> None:
        """commit CLIENT TOPIC/PARTITION=OFFSET... ; the client `admin` is in no group"""
        client = self.client(plain[0], named)
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for word in plain[1:]:
            where, offset = word.split("=")
            topic, partition = where.split("/")
            topics.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=int(partition),
                    committed_offset=int(offset),
                    committed_metadata=named.get("metadata", ""),
                )
            )
        request = OffsetCommitRequest(
            group_id=client.group,
            generation_id_or_member_epoch=int(named.get("generation", client.generation)),
            member_id=client.member_id,
            group_instance_id=client.instance,
            retention_time_ms=int(named.get("retention", "-1")),
            topics=[OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
        )

        def tell(response: Any) -> str:
            return " ".join(
                f"{topic.name}/{part.partition_index} {ErrorCode(part.error_code).name}"
                for topic in response.topics
                for part in topic.partitions
            )

        self.ask(f"{client.name} commit", "offset_commit", request, int(named.get("version", "9")), tell, client.name)

    def do_txn_commit(self, plain: list[str], named: dict[str, str]) -> None:
        """txn-commit PRODUCER TOPIC/PARTITION=OFFSET... [group= client= member= generation= epoch= version=]"""
        client = self.clients.get(named.get("client", ""), Client(""))
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for word in plain[1:]:
            where, offset = word.split("=")
            topic, partition = where.split("/")
            topics.setdefault(topic, []).append(
                TxnOffsetCommitRequestPartition(
                    partition_index=int(partition),
                    committed_offset=int(offset),
                    committed_metadata=named.get("metadata", ""),
                )
            )
        request = TxnOffsetCommitRequest(
            transactional_id=f"txn-{plain[0]}",
            group_id=named.get("group", client.group),
            producer_id=int(plain[0]),
            producer_epoch=int(named.get("epoch", "0")),
            generation_id=int(named.get("generation", client.generation)),
            member_id=named.get("member", client.member_id),
            group_instance_id=client.instance,
            topics=[TxnOffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
        )

        def tell(response: Any) -> str:
            return " ".join(
                f"{topic.name}/{part.partition_index} {ErrorCode(part.error_code).name}"
                for topic in response.topics
                for part in topic.partitions
            )

        version = int(named.get("version", "5"))
        self.ask(f"{plain[0]} txn-commit", "txn_offset_commit", request, version, tell)

    def do_end_txn(self, plain: list[str], named: dict[str, str]) -> None:
        """end-txn PRODUCER commit|abort: the marker arrives"""
        label = f"{plain[0]} {plain[1]}"
        self.waiting.append(label)

        def told(answer: Any) -> None:
            self.waiting.remove(label)
            self.told.append(f"{label}: {'NONE' if answer is None else answer.name}")

        producer_id, epoch = int(plain[0]), int(named.get("epoch", "0"))
        runtime = self.bench.coordinator.runtime
        runtime.end_transaction(0, producer_id, epoch, 1, plain[1] == "commit", told, told)
        self.bench.settle()

    def do_gate(self, plain: list[str], named: dict[str, str]) -> None:
        """gate CODE: what the transaction coordinator answers; gate hold, gate release: when"""
        gate = self.bench.gate
        if plain[0] == "hold":
            gate.held = True
        elif plain[0] == "release":
            gate.release()
            self.bench.settle()
        else:
            gate.code = ErrorCode[plain[0]]

    def do_fetch(self, plain: list[str], named: dict[str, str]) -> None:
        """fetch GROUP [stable] [TOPIC/PARTITION...]"""
        asked: dict[str, list[int]] = {}
        for topic, partition in [word.split("/") for word in plain[1:] if word != "stable"]:
            asked.setdefault(topic, []).append(int(partition))
        topics = [OffsetFetchRequestTopics(name=name, partition_indexes=parts) for name, parts in asked.items()]
        group = OffsetFetchRequestGroup(group_id=plain[0], topics=topics or None)
        request = OffsetFetchRequest(groups=[group], require_stable="stable" in plain)

        def tell(response: Any) -> str:
            answer = response.groups[0]
            found = [
                f"{topic.name}/{part.partition_index}="
                + (str(part.committed_offset) if part.error_code == 0 else ErrorCode(part.error_code).name)
                + (f" '{part.metadata}'" if part.metadata else "")
                for topic in answer.topics
                for part in topic.partitions
            ]
            return " ".join(found or ["nothing" if answer.error_code == 0 else ErrorCode(answer.error_code).name])

        self.ask(f"fetch {plain[0]}", "offset_fetch", request, 9, tell)

    def do_delete_offsets(self, plain: list[str], named: dict[str, str]) -> None:
        """delete-offsets GROUP TOPIC/PARTITION..."""
        topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
        for word in plain[1:]:
            topic, partition = word.split("/")
            topics.setdefault(topic, []).append(OffsetDeleteRequestPartition(partition_index=int(partition)))
        request = OffsetDeleteRequest(
            group_id=plain[0],
            topics=[OffsetDeleteRequestTopic(name=name, partitions=parts) for name, parts in topics.items()],
        )

        def tell(response: Any) -> str:
            parts = [
                f"{topic.name}/{part.partition_index} {ErrorCode(part.error_code).name}"
                for topic in response.topics
                for part in topic.partitions
            ]
            return " ".join([ErrorCode(response.error_code).name, *parts])

        self.ask(f"delete-offsets {plain[0]}", "offset_delete", request, 0, tell)
