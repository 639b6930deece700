"""The end of the story: every client comes to its own, everything is read once more, and compared with the books."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.chaos import application
from tests.chaos.application import AUDIT, INPUT, OUTPUT
from tests.chaos.application import PARTITIONS as IN_PARTITIONS
from tests.chaos.cluster import verdict
from tests.chaos.cluster.foreign import ForeignReader, ForeignWriter
from tests.chaos.cluster.nodes import Node
from tests.chaos.cluster.work import BALANCE, LEDGER, ORDERS, PARTITIONS, QUICK, Onlooker, Seen, read
from tests.chaos.crashes import judge
from tests.support.waiting import until

if TYPE_CHECKING:
    from tests.chaos.cluster.story import Story

HUNG_S: Final = 25.0
"""An application that commits nothing for so long, in peace, is killed."""
TOPICS: Final = {
    ORDERS: PARTITIONS,
    LEDGER: PARTITIONS,
    BALANCE: PARTITIONS,
    OUTPUT: IN_PARTITIONS,
    AUDIT: IN_PARTITIONS,
}
Logs = dict[str, list[Seen]]


@dataclass
class Report:
    """What happened and what came of it."""

    faults: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        told = ", ".join(f"{name} {value:g}" for name, value in self.figures.items())
        return f"{len(self.faults)} faults; {told}; wrong: {'; '.join(self.wrong[:6]) or 'nothing'}"


def judged(story: Story) -> Report:
    """Let everybody finish, read everything, and say what is wrong."""
    foreign_writers = [one for one in story.foreign if isinstance(one, ForeignWriter)]
    for writer in story.writers:
        writer.finish()
    for one in foreign_writers:
        one.finish()
    books = [banker.finish() for banker in story.bankers]
    inputs = story.feed.finish()
    _drain(story)
    story.end_applications()
    logs: Logs = {topic: read(story.bootstrap, topic, count) for topic, count in TOPICS.items()}
    wrong = story.report.wrong
    written = {writer.name: (len(writer.sent), writer.acknowledged) for writer in story.writers}
    written |= {one.name: (one.count, one.acknowledged) for one in foreign_writers}
    wrong += [f"{writer.name} was told: {error}" for writer in story.writers for error in writer.fatal[:1]]
    wrong += verdict.wrong_writes(written, logs[ORDERS])
    wrong += verdict.wrong_transactions(books, logs[LEDGER], logs[BALANCE])
    live = _views(story, logs)
    effects = judge(inputs, logs[OUTPUT], logs[AUDIT], live[OUTPUT], atomic=True)
    if not effects.exact:
        wrong.append(f"read-process-write: {effects}")
    if not story.kafka:
        with contextlib.suppress(AssertionError):
            until(lambda: not _replicas_that_differ(story.nodes), "equal replicas")
        wrong += _replicas_that_differ(story.nodes)
    _figures(story, logs)
    return story.report


def _views(story: Story, logs: Logs) -> Logs:
    """What librdkafka's readers saw, by topic; notes whatever any reader saw differently."""
    live: Logs = {}
    foreign_readers = [one for one in story.foreign if isinstance(one, ForeignReader)]
    readers: list[Onlooker | ForeignReader] = [*story.onlookers, *foreign_readers]
    for reader in readers:
        end = len(logs[reader.topic])
        with contextlib.suppress(AssertionError):  # what it did not see is told below
            until(lambda: len(reader.seen) >= end, "all seen")  # noqa: B023
        seen = reader.finish()
        wrong = verdict.wrong_views(f"{reader.name} of {reader.topic}", seen, logs[reader.topic])
        if isinstance(reader, Onlooker):
            live[reader.topic] = seen
            wrong += [f"{reader.name}: {error}" for error in reader.errors]
            if wrong:
                story.say(f"{reader.name} of {reader.topic} was told {reader.troubles}")
        story.report.wrong += wrong
    return live


def _drain(story: Story) -> None:
    """Until the application has committed the input's end."""
    consumer = Consumer({"bootstrap.servers": story.bootstrap, "group.id": application.GROUP, **QUICK})
    places = [TopicPartition(INPUT, partition) for partition in range(IN_PARTITIONS)]
    moved: list[tuple[list[int], float]] = [([], time.monotonic())]

    def done() -> bool:
        story.restart_applications()
        try:
            ends = [consumer.get_watermark_offsets(place, timeout=20)[1] for place in places]
            committed = [one.offset for one in consumer.committed(places, timeout=20)]
        except KafkaException:
            return False
        if committed != moved[-1][0]:
            moved.append((committed, time.monotonic()))
        elif time.monotonic() - moved[-1][1] > HUNG_S:
            story.kill_applications()
            moved.append(([], time.monotonic()))
        return committed == ends

    until(done, "every input is processed", seconds=180, pause=0.2)
    consumer.close()


def _replicas_that_differ(nodes: list[Node]) -> list[str]:
    """Partitions whose files are not the same on all nodes, when nothing is written any more."""
    wrong = []
    for topic, count in TOPICS.items():
        for partition in range(count):
            files = {node.number: _bytes_of(node, f"{topic}-{partition}") for node in nodes}
            if len(set(files.values())) > 1:
                sizes = {number: len(content) for number, content in files.items()}
                wrong.append(f"the replicas of {topic}-{partition} differ: {sizes} bytes")
    return wrong


def _bytes_of(node: Node, name: str) -> bytes:
    (directory,) = node.disk.path.glob(f"node-*/logs/{name}")
    return b"".join(file.read_bytes() for file in sorted(directory.glob("*.log")))


def _figures(story: Story, logs: Logs) -> None:
    figures = story.report.figures
    sent = [one for writer in story.writers for one in writer.sent]
    figures["sent"], figures["failed"] = len(sent), sum(1 for one in sent if one.error)
    calm = [one for writer, (a, b) in zip(story.writers, story.calm, strict=True) for one in writer.sent[a:b]]
    if calm:
        figures["calm_sent"], figures["calm_failed"] = len(calm), sum(1 for one in calm if one.error)
        figures["calm_worst_s"] = round(max(one.done_at - one.at for one in calm), 2)
    for one in story.foreign:
        if isinstance(one, ForeignWriter):
            figures[f"{one.name}_sent"], figures[f"{one.name}_failed"] = one.count, len(one.failed)
    figures["transactions"] = sum(len(banker.book.ended) for banker in story.bankers)
    for outcome in ("committed", "aborted", "unknown"):
        figures[outcome] = sum(1 for b in story.bankers for one in b.book.ended if one.outcome == outcome)
    figures["hung"] = story.hung
    figures["processed"] = len(logs[OUTPUT])
    figures["seconds"] = round(time.monotonic() - story.began)
