"""Text scenarios of the transaction coordinator: commands in, what happened out.

The format is that of the group coordinator's scenarios (`tests/unit/coordinators/story.py`). A client has a
transactional id, by default its own name's first letter, and remembers its producer id and epoch, shown as `id/epoch`.
"""

from __future__ import annotations

import shlex
from typing import Any

from tapelog.coordinators.caller import Caller
from tapelog.coordinators.outcome import Outcome
from tapelog.coordinators.transactions.records import decode_record, transaction_of, transaction_record
from tapelog.coordinators.transactions.states import Transaction, TxnState
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from tapelog.wire.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tapelog.wire.messages.describe_transactions_request import DescribeTransactionsRequest
from tapelog.wire.messages.end_txn_request import EndTxnRequest
from tapelog.wire.messages.init_producer_id_request import InitProducerIdRequest
from tapelog.wire.messages.list_transactions_request import ListTransactionsRequest
from tapelog.wire.record_batch import batches, records_of
from tests.unit.coordinators.story import _milliseconds
from tests.unit.coordinators.transactions.bench import TransactionBench


class Producer:
    """What a toy client remembers between its requests."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.transactional_id = name[0]
        self.producer_id = -1
        self.epoch = -1


class TransactionStory:
    """Runs commands against a bench and tells what happened."""

    def __init__(self) -> None:
        self.bench = TransactionBench()
        self.producers: dict[str, Producer] = {}
        self.told: list[str] = []
        self.waiting: list[str] = []
        self.logged = 0
        self.marked = 0

    def run(self, line: str) -> None:
        """One command."""
        words = shlex.split(line)
        command, rest = words[0], words[1:]
        plain = [word for word in rest if "=" not in word]
        named = dict(word.split("=", 1) for word in rest if word not in plain)
        getattr(self, "do_" + command.replace("-", "_"))(plain, named)
        if self.bench.coordinator.runtime.machine(0) is not None:
            self.bench.machine.invariants()

    def output(self) -> str:
        """What was told since the last call, and who still waits."""
        lines, self.told = self.told, []
        if self.waiting:
            lines.append("waiting: " + ", ".join(self.waiting))
        return "\n".join(lines) or "ok"

    # -- requests

    def producer(self, name: str, named: dict[str, str]) -> Producer:
        producer = self.producers.setdefault(name, Producer(name))
        producer.transactional_id = named.get("id", producer.transactional_id)
        if "as" in named:
            producer.producer_id, producer.epoch = (int(part) for part in named["as"].split("/"))
        return producer

    def ask(self, label: str, api: str, request: Any, version: int, tell: Any) -> None:
        self.waiting.append(label)

        def done(response: Any) -> None:
            self.waiting.remove(label)
            self.told.append(f"{label}: {tell(response)}")

        getattr(self.bench.coordinator, api)(Caller("c", "/127.0.0.1", version), request, done)
        self.bench.settle()

    def do_init(self, plain: list[str], named: dict[str, str]) -> None:
        """init CLIENT [id= timeout= version= as=ID/EPOCH] [again]: `again` names the id and epoch it has (KIP-360)"""
        producer = self.producer(plain[0], named)
        again = "again" in plain
        request = InitProducerIdRequest(
            transactional_id=producer.transactional_id,
            transaction_timeout_ms=int(named.get("timeout", "60000")),
            producer_id=producer.producer_id if again else -1,
            producer_epoch=producer.epoch if again else -1,
            enable2_pc="two-phase" in plain,
            keep_prepared_txn="keep" in plain,
        )

        def tell(response: Any) -> str:
            if response.error_code:
                return ErrorCode(response.error_code).name
            producer.producer_id, producer.epoch = response.producer_id, response.producer_epoch
            text = f"{response.producer_id}/{response.producer_epoch}"
            if response.ongoing_txn_producer_id != -1:
                text += f", prepared {response.ongoing_txn_producer_id}/{response.ongoing_txn_producer_epoch}"
            return text

        self.ask(f"{producer.name} init", "init_producer_id", request, int(named.get("version", "5")), tell)

    def do_add(self, plain: list[str], named: dict[str, str]) -> None:
        """add CLIENT TOPIC/PARTITION... [version= as=]: AddPartitionsToTxn; one answer per partition"""
        producer = self.producer(plain[0], named)
        version = int(named.get("version", "3"))
        topics: dict[str, list[int]] = {}
        for word in plain[1:]:
            topic, partition = word.split("/")
            topics.setdefault(topic, []).append(int(partition))
        wanted = [AddPartitionsToTxnTopic(name=name, partitions=parts) for name, parts in topics.items()]
        if version < 4:
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=producer.transactional_id,
                v3_and_below_producer_id=producer.producer_id,
                v3_and_below_producer_epoch=producer.epoch,
                v3_and_below_topics=wanted,
            )
        else:
            one = AddPartitionsToTxnTransaction(
                transactional_id=producer.transactional_id,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                verify_only=named.get("verify") == "yes",
                topics=wanted,
            )
            request = AddPartitionsToTxnRequest(transactions=[one])

        def tell(response: Any) -> str:
            results = response.results_by_topic_v3_and_below
            if version >= 4:
                results = response.results_by_transaction[0].topic_results
            return " ".join(
                f"{topic.name}/{part.partition_index} {ErrorCode(part.partition_error_code).name}"
                for topic in results
                for part in topic.results_by_partition
            )

        self.ask(f"{producer.name} add", "add_partitions_to_txn", request, version, tell)

    def do_offsets(self, plain: list[str], named: dict[str, str]) -> None:
        """offsets CLIENT GROUP [version= as=]: AddOffsetsToTxn"""
        producer = self.producer(plain[0], named)
        request = AddOffsetsToTxnRequest(
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=plain[1],
        )
        label = f"{producer.name} offsets"
        self.ask(label, "add_offsets_to_txn", request, int(named.get("version", "4")), _code)

    def do_write(self, plain: list[str], named: dict[str, str]) -> None:
        """write CLIENT TOPIC/PARTITION... [as=]: what Produce asks the gate, transaction version 2"""
        self._admit("write", plain, named, add=True)

    def do_verify(self, plain: list[str], named: dict[str, str]) -> None:
        """verify CLIENT TOPIC/PARTITION... [as=]: what Produce asks the gate, transaction version 1"""
        self._admit("verify", plain, named, add=False)

    def _admit(self, what: str, plain: list[str], named: dict[str, str], add: bool) -> None:
        producer = self.producer(plain[0], named)
        partitions = [(word.split("/")[0], int(word.split("/")[1])) for word in plain[1:]]
        label = f"{producer.name} {what}"
        self.waiting.append(label)

        def done(codes: dict[tuple[str, int], ErrorCode]) -> None:
            self.waiting.remove(label)
            answers = [f"{topic}/{index} {code.name}" for (topic, index), code in codes.items()]
            self.told.append(f"{label}: " + " ".join(answers))

        self.bench.coordinator.admit(
            producer.transactional_id, producer.producer_id, producer.epoch, partitions, add, done
        )
        self.bench.settle()

    def do_commit(self, plain: list[str], named: dict[str, str]) -> None:
        """commit CLIENT [version= as=]: EndTxn; version 5 is transaction version 2"""
        self._end("commit", plain, named)

    def do_abort(self, plain: list[str], named: dict[str, str]) -> None:
        """abort CLIENT [version= as=]"""
        self._end("abort", plain, named)

    def _end(self, what: str, plain: list[str], named: dict[str, str]) -> None:
        producer = self.producer(plain[0], named)
        version = int(named.get("version", "5"))
        request = EndTxnRequest(
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=what == "commit",
        )

        def tell(response: Any) -> str:
            if response.error_code or version < 5:
                return ErrorCode(response.error_code).name
            if "deaf" not in plain:
                producer.producer_id, producer.epoch = response.producer_id, response.producer_epoch
            return f"NONE, now {response.producer_id}/{response.producer_epoch}"

        self.ask(f"{producer.name} {what}", "end_txn", request, version, tell)

    def do_describe(self, plain: list[str], named: dict[str, str]) -> None:
        """describe ID..."""

        def tell(response: Any) -> str:
            lines = []
            for one in response.transaction_states:
                if one.error_code:
                    lines.append(f"{one.transactional_id} {ErrorCode(one.error_code).name}")
                    continue
                parts = " ".join(f"{topic.topic}/{index}" for topic in one.topics for index in topic.partitions)
                lines.append(
                    f"{one.transactional_id} {one.transaction_state} {one.producer_id}/{one.producer_epoch} [{parts}]"
                )
            return "; ".join(lines)

        request = DescribeTransactionsRequest(transactional_ids=plain)
        self.ask("describe", "describe_transactions", request, 0, tell)

    def do_list(self, plain: list[str], named: dict[str, str]) -> None:
        """list [states=A,B] [producers=1,2] [longer-than=MS] [pattern=]"""
        request = ListTransactionsRequest(
            state_filters=[name for name in named.get("states", "").split(",") if name],
            producer_id_filters=[int(name) for name in named.get("producers", "").split(",") if name],
            duration_filter=int(named.get("longer-than", "-1")),
            transactional_id_pattern=named.get("pattern"),
        )

        def tell(response: Any) -> str:
            if response.error_code:
                return ErrorCode(response.error_code).name
            found = [f"{t.transactional_id} {t.transaction_state} {t.producer_id}" for t in response.transaction_states]
            unknown = [f"unknown state {name}" for name in response.unknown_state_filters]
            return "; ".join(found + unknown) or "nothing"

        self.ask("list", "list_transactions", request, 2, tell)

    def do_seed(self, plain: list[str], named: dict[str, str]) -> None:
        """seed ID PRODUCER/EPOCH: as if the id had got there by many transactions"""
        producer_id, epoch = (int(part) for part in plain[1].split("/"))
        given = Transaction(producer_id, epoch, 60_000, TxnState.EMPTY, self.bench.clock.wall_ms())
        outcome = Outcome([transaction_record(plain[0], given)], None)
        self.bench.coordinator.runtime.write(0, lambda _: outcome, lambda _: None, lambda _: None)
        self.bench.settle()

    # -- markers

    def do_markers(self, plain: list[str], named: dict[str, str]) -> None:
        """the markers written since the last `markers`"""
        for marker, (topic, index) in self.bench.markers.written[self.marked :]:
            what = "commit" if marker.commit else "abort"
            self.told.append(
                f"marker {topic}/{index}: {what} {marker.producer_id}/{marker.producer_epoch}"
                f" coordinator {marker.coordinator_epoch} version {marker.transaction_version}"
            )
        self.marked = len(self.bench.markers.written)

    def do_hold_markers(self, plain: list[str], named: dict[str, str]) -> None:
        """markers are not answered until `release-markers`"""
        self.bench.markers.held = True

    def do_release_markers(self, plain: list[str], named: dict[str, str]) -> None:
        """those that wait are written"""
        self.bench.markers.release()
        self.bench.settle()

    def do_refuse_marker(self, plain: list[str], named: dict[str, str]) -> None:
        """refuse-marker TOPIC/PARTITION CODE: NONE takes it back"""
        topic, index = plain[0].split("/")
        self.bench.markers.codes[(topic, int(index))] = ErrorCode[plain[1]]

    # -- the world

    def do_config(self, plain: list[str], named: dict[str, str]) -> None:
        """config NAME=VALUE...: start over with these broker settings"""
        self.bench = TransactionBench(named)
        self.logged = self.marked = 0

    def do_restart(self, plain: list[str], named: dict[str, str]) -> None:
        """the node stops and starts again, with what is committed"""
        old = self.bench
        old.log.truncate(0, old.log.committed.get(0, 0))
        old.markers.waiting.clear()
        self.waiting.clear()
        settings = {"transaction.two.phase.commit.enable": str(old.coordinator.config.two_phase_commit)}
        self.bench = TransactionBench(settings, log=old.log, markers=old.markers, clock=old.clock, first_id=old.next_id)

    def do_advance(self, plain: list[str], named: dict[str, str]) -> None:
        """advance 300ms|5s|30m|2h"""
        self.bench.advance(_milliseconds(plain[0]))

    def do_hold(self, plain: list[str], named: dict[str, str]) -> None:
        """appends are not committed until `release`"""
        self.bench.log.held = True

    def do_release(self, plain: list[str], named: dict[str, str]) -> None:
        """the high watermark catches up"""
        self.bench.log.held = False
        self.bench.release()

    def do_refuse(self, plain: list[str], named: dict[str, str]) -> None:
        """refuse CODE: appends fail from now on"""
        self.bench.log.refusal = ErrorCode[plain[0]]

    def do_accept(self, plain: list[str], named: dict[str, str]) -> None:
        """appends succeed again"""
        self.bench.log.refusal = None

    def do_take_back(self, plain: list[str], named: dict[str, str]) -> None:
        """take-back CODE: everything not committed is removed from the log"""
        end = self.bench.log.committed.get(0, 0)
        self.bench.log.truncate(0, end)
        self.bench.coordinator.runtime.on_append_failed(0, end, ErrorCode[plain[0]])
        self.bench.settle()

    def do_resign(self, plain: list[str], named: dict[str, str]) -> None:
        """the node loses the partition"""
        self.bench.coordinator.runtime.on_resigned(0)
        self.bench.settle()

    def do_elect(self, plain: list[str], named: dict[str, str]) -> None:
        """the node leads the partition (again)"""
        self.bench.coordinator.runtime.on_elected(0, 8)
        self.bench.settle()

    def do_log(self, plain: list[str], named: dict[str, str]) -> None:
        """the records appended since the last `log`"""
        for base, end, batch in self.bench.log.batches.get(0, []):
            if end <= self.logged:
                continue
            header = next(batches(batch, 0, len(batch)))
            texts = [_record(record.key or b"", record.value) for record in records_of(batch, header)]
            self.told.append(f"log {base}: " + "; ".join(texts))
            self.logged = end


def _record(key: bytes, value: bytes | None) -> str:
    record = decode_record(key, value)
    assert record is not None
    found: Any = record.key
    image: Any = record.value
    if image is None:
        return f"{found.transactional_id} gone"
    transaction = transaction_of(image)
    parts = " ".join(f"{topic}/{index}" for topic, index in sorted(transaction.partitions))
    text = f"{found.transactional_id} {transaction.state.label} {transaction.producer_id}/{transaction.producer_epoch}"
    text += f" [{parts}]" if parts else ""
    if transaction.next_producer_id != -1:
        text += f" next {transaction.next_producer_id}"
        text += f"/{transaction.next_producer_epoch}" if transaction.next_producer_epoch != -1 else ""
    return text


def _code(response: Any) -> str:
    return ErrorCode(response.error_code).name
