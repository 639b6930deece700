"""`tape tier restore`: topics that are only in the bucket come back, with their ids, offsets and configs.

Nothing is copied: the new topic takes over the objects. The plan is made from the bucket alone; creating the topics is
an ordinary CreateTopics with the setting `tapelog.tier.restore`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka.admin import NewTopic

from tapelog.base import ids
from tapelog.cli.connect import Connection
from tapelog.cli.output import EXIT_NOT_FOUND, CliError
from tapelog.cli.tier_bucket import Bucket
from tapelog.log.tier.document import DocumentError
from tapelog.log.tier.restoring import SETTING, Restore, Span
from tapelog.log.tier.store import ObjectMissingError
from tapelog.log.tier.topic import TopicDocument

EPOCH_JUMP = 1_000_000
"""So far ahead that brokers of the cluster that was lost never catch up, should they start again."""
KEEP_ALL = {"retention.ms": "-1", "retention.bytes": "-1"}
"""Unless a topic's own settings say otherwise: a default of the new cluster must not delete what was just restored."""
PATIENCE_S = 60.0
PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    """One topic that can be restored."""

    document: TopicDocument
    restore: Restore
    log_bytes: int

    @property
    def name(self) -> str:
        """The topic's."""
        return self.document.name


def plans(bucket: Bucket, wanted: list[str], tell: Callable[[str], None]) -> tuple[list[Plan], list[str]]:
    """What can be restored of the topics named (of all, if none is), and why others cannot."""
    found: list[Plan] = []
    remarks: list[str] = []
    for topic_id, document in bucket.topics():
        id_text, whole = ids.to_text(topic_id), document is not None
        document = document or bucket.known(topic_id)
        if document is None:
            remarks.append(f"{id_text}: its topic.json is missing or damaged, and there is no manifest")
            continue
        if wanted and document.name not in wanted and id_text not in wanted:
            continue
        tell(document.name)
        try:
            plan = _plan(bucket, document, remarks)
            if not whole and plan is not None:
                remarks.append(f"{document.name}: its topic.json is missing or damaged, its configs are not known")
        except (DocumentError, ObjectMissingError) as error:
            remarks.append(f"{document.name}: {error}")
            continue
        if plan is None:
            remarks.append(f"{document.name}: it was deleted")
        else:
            found.append(plan)
    names = [plan.name for plan in found]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            same = ", ".join(ids.to_text(plan.document.topic_id) for plan in found if plan.name == name)
            raise CliError(f"several topics are called {name}", f"choose one by its id: {same}")
    return found, remarks


def _plan(bucket: Bucket, document: TopicDocument, remarks: list[str]) -> Plan | None:
    """A topic has the partitions that its document tells, and those that have a manifest: a document may be late."""
    spans: list[Span] = []
    epoch, log_bytes = document.leader_epoch, 0
    there = bucket.partitions(document.topic_id)
    heads = {number: bucket.head(document.topic_id, number) for number in there}
    if any(head is not None and head.deleted for head in heads.values()):
        return None
    count = max([document.partitions, *(number + 1 for number, head in heads.items() if head is not None)])
    if count > document.partitions:
        remarks.append(f"{document.name}: has {count} partitions, its topic.json says {document.partitions}")
    for partition in range(count):
        head = heads.get(partition)
        if head is None:
            if partition in heads:
                remarks.append(f"{document.name}-{partition}: there are objects, but no manifest; it begins empty")
            spans.append(Span(0, 0))
            continue
        epoch = max(epoch, head.leader_epoch)
        log_bytes += head.log_bytes
        spans.append(Span(head.start_offset, head.end_offset, bucket.epochs(head)))
    return Plan(document, Restore(document.topic_id, epoch + EPOCH_JUMP, tuple(spans)), log_bytes)


def carry_out(
    connection: Connection,
    found: list[Plan],
    wanted: list[str],
    replication_factor: int | None,
    *,
    dry_run: bool,
    take_over: bool,
    remarks: list[str],
    tell: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Restore what was planned, except topics that are there; what was done with each, for the user."""
    known = [name for plan in found for name in (plan.name, ids.to_text(plan.document.topic_id))]
    missing = [name for name in wanted if name not in known]
    if missing:
        raise CliError(
            f"not in the bucket: {', '.join(missing)}",
            "tape tier restore --all --dry-run lists what is",
            EXIT_NOT_FOUND,
        )
    there = connection.metadata()
    foreign = [plan.name for plan in found if plan.document.cluster_id != there.cluster_id]
    if foreign and not take_over and not dry_run:
        raise CliError(
            f"{', '.join(foreign[:5])}: another cluster's. If it lives, it must not lose its tier, and deleting a "
            "restored topic would delete its data",
            "if that cluster is gone for good and never starts again with this tier: --take-over",
        )
    done: list[dict[str, Any]] = []
    for plan in found:
        skipped = plan.name in there.topics
        if skipped:
            remarks.append(f"{plan.name}: the cluster has such a topic")
        elif not dry_run:
            tell(plan.name)
            if "retention.ms" not in plan.document.configs:
                remarks.append(f"{plan.name}: kept for ever until its retention.ms is set (none of its own is known)")
            create(connection, plan, replication_factor or min(plan.document.replication_factor, len(there.brokers)))
        done.append(
            {
                "topic": plan.name,
                "topic_id": ids.to_text(plan.document.topic_id),
                "partitions": len(plan.restore.partitions),
                "bytes": plan.log_bytes,
                "offsets": [[span.start_offset, span.end_offset] for span in plan.restore.partitions],
                "possible": not skipped,
                "restored": not skipped and not dry_run,
            }
        )
    return done


def create(connection: Connection, plan: Plan, replication_factor: int) -> None:
    """Have the topic created, and wait until its leaders answer for what it had."""
    document = plan.document
    config = {**KEEP_ALL, **document.configs, "remote.storage.enable": "true", SETTING: plan.restore.render()}
    asked = connection.admin.create_topics(
        [NewTopic(document.name, len(plan.restore.partitions), replication_factor, config=config)],
        request_timeout=connection.timeout_s,
    )
    connection.result(asked[document.name], topic=document.name)
    want = {(document.name, index): span for index, span in enumerate(plan.restore.partitions)}
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            told = connection.bounds(list(want))
            if all(told[key][0] >= span.start_offset and told[key][1] >= span.end_offset for key, span in want.items()):
                return
        except CliError:
            pass  # leaders are being elected
        if time.monotonic() > deadline:
            raise CliError(
                f"{document.name} was created, but does not yet begin where it should",
                "tape tier status, and the brokers' logs, say why",
            )
        time.sleep(PAUSE_S)
