"""The reading side of a loop: a consumer, what it owns, and the inbox behind it.

One thread uses it. Messages are polled one by one: a rebalance then always happens between two messages, never in the
middle of a batch that mixes the time before with the time after. Before partitions are given up the listener is told,
and may still commit; when they were lost it is told that it may not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tapelog.toolkit.beginnings import Beginnings
from tapelog.toolkit.clients import DAMAGED
from tapelog.toolkit.commits import Commits
from tapelog.toolkit.inbox import Inbox
from tapelog.toolkit.progress import Position
from tapelog.toolkit.records import Place, Record
from tapelog.toolkit.sink import Waits
from tapelog.toolkit.watch import Unwatched, Watched

log = logging.getLogger(__name__)

POLL_S_MAX = 0.25
"""The longest single wait: how soon a loop notices that it is to stop."""

DRAIN_S_MAX = 60.0
"""How long records that are to be tried again may still have, once a damaged batch was met."""

HOPELESS = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.INVALID_GROUP_ID,
        KafkaError.GROUP_MAX_SIZE_REACHED,
        KafkaError.INCONSISTENT_GROUP_PROTOCOL,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError._FATAL,
    }
)
"""Errors of a consumer that waiting does not mend: the loop ends with them."""

OTHER_ASSIGNOR = (
    "the group's other members share partitions out differently: take another group, stop them, or have the same "
    "assignor everywhere, such as consumer={'partition.assignment.strategy': 'range,roundrobin'}"
)
"""What to do when a group refuses a member for its assignor (this one's is cooperative-sticky unless told)."""


class Damaged(KafkaException):
    """A batch is not what was written. The client would ask for it for ever, and say so each time."""


class Listener(Protocol):
    """Who works on the records."""

    def revoking(self, places: set[Place]) -> None:
        """These partitions are about to be given up: finish open work and commit it, now or never."""

    def lost(self, places: set[Place]) -> None:
        """These partitions are already somebody else's: drop open work, commit nothing."""


class Source:
    """What a group member reads."""

    def __init__(
        self,
        consumer: Consumer,
        topics: Sequence[str],
        inbox: Inbox,
        listener: Listener,
        clock: Callable[[], float],
        beginnings: Beginnings,
        watch: Watched | None = None,
        waits: Waits | None = None,
    ) -> None:
        """watch: is told what comes from the cluster, and knows of topics that do not exist. waits: what a commit asks
        while it waits."""
        self.inbox = inbox
        self._beginnings = beginnings
        self._consumer = consumer
        self._topics = list(topics)
        self._listener = listener
        self._clock = clock
        self._owned: set[Place] = set()
        self._paused: set[Place] = set()
        self._ended: set[Place] = set()
        self._read: set[Place] = set()
        self._assigned = False
        self._trouble: BaseException | None = None
        self._damage: Damaged | None = None
        self._drained_by = 0.0
        self._abandoned = False
        self._closed = False
        self._in_callback = False
        self._watch = watch or Unwatched()
        self._commits = Commits(waits or Waits(lambda: False, clock=clock))

    def open(self) -> None:
        """Join the group."""
        self._consumer.subscribe(
            self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def take(self, limit: int, wait_s: float) -> list[Record]:
        """Up to `limit` records, after at most `wait_s` seconds; rebalances happen in here.

        Damaged, once everything before a damaged batch has been given out, or has waited long enough to be tried again:
        nothing is read behind it. NoTopic, when that is an error and a topic has been missing for too long.
        """
        self._watch.raise_missing(read=self._is_read())
        self._poll_some(limit, wait_s)
        records = self.inbox.take(self._clock(), limit)
        if self._damage is not None and not records and (not self.inbox or self._clock() >= self._drained_by):
            raise self._damage
        return records

    def _poll_some(self, limit: int, wait_s: float) -> None:
        self._pause_what_waits()
        self._beginnings.place(self._owned)
        room = limit - self.inbox.ready(self._clock())
        message = self._poll(self._patience(wait_s))
        if message is not None and message.error() is None:
            self._watch.heard()
        while message is not None and self._damage is None:
            room -= self._put(message)
            if room <= 0 or self._damage is not None:
                break
            message = self._poll(0)

    def _patience(self, wait_s: float) -> float:
        now = self._clock()
        if self.inbox.ready(now):
            return 0.0
        due = self.inbox.next_due(now)
        wait_s = min(wait_s, POLL_S_MAX)
        return wait_s if due is None else max(0.0, min(wait_s, due - now))

    def _poll(self, wait_s: float) -> Message | None:
        message = self._consumer.poll(wait_s)
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        return message

    def _put(self, message: Message) -> int:
        error = message.error()
        if error is None:
            record = Record.of(message)
            if record.place not in self._owned:
                return 0
            self._ended.discard(record.place)
            self._read.add(record.place)
            self.inbox.put(record)
            return 1
        if error.code() == KafkaError._PARTITION_EOF:
            topic, partition = message.topic(), message.partition()
            assert topic is not None and partition is not None
            self._ended.add((topic, partition))
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            topic, partition = message.topic(), message.partition()
            assert topic is not None and partition is not None
            self._begins_anew((topic, partition), error)
        elif error.code() in DAMAGED:
            self._damage, self._drained_by = Damaged(error), self._clock() + DRAIN_S_MAX
            self._damage.add_note(f"in {message.topic()}[{message.partition()}]; what was finished before is committed")
            log.warning("%s[%s] is damaged, the loop will end: %s", message.topic(), message.partition(), error.str())
        elif error.fatal() or error.code() in HOPELESS:
            hopeless = KafkaException(error)
            if error.code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL:
                hopeless.add_note(OTHER_ASSIGNOR)
            raise hopeless
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and message.topic() is not None:
            log.info("the consumer reports: %s", error.str())  # Watch says it when it stays so
            self._watch.gone(str(message.topic()))
        else:
            log.warning("the consumer reports: %s", error.str())
        return 0

    def _begins_anew(self, place: Place, error: KafkaError) -> None:
        """The client does not know where to read on. What was read before may come again: it is dropped."""
        if place not in self._owned:
            return
        if place in self._read:
            log.warning("%s: what was read is dropped: %s", _names({place}), error.str())
            self._listener.lost({place})
            self._read.discard(place)
            self._ended.discard(place)
            self.inbox.forget({place})
        self._beginnings.report(place, error)

    def _pause_what_waits(self) -> None:
        held = self.inbox.waiting(self._clock()) if self._damage is None else self._owned
        waiting = held & self._owned
        if waiting != self._paused:
            self._consumer.pause([TopicPartition(*place) for place in sorted(waiting - self._paused)])
            self._consumer.resume([TopicPartition(*place) for place in sorted(self._paused - waiting)])
            self._paused = waiting

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        places = {(part.topic, part.partition) for part in partitions}
        if places:  # with an incremental assignor often nothing
            log.info("assigned: %s", _names(places))
        self._assigned = True
        self._owned |= places

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._leave(partitions, "revoked", self._listener.revoking)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._leave(partitions, "lost", self._listener.lost)

    def _leave(self, partitions: list[TopicPartition], how: str, tell: Callable[[set[Place]], None]) -> None:
        places = {(part.topic, part.partition) for part in partitions}
        log.info("%s: %s", how, _names(places))
        if self._abandoned:
            return
        self._in_callback = True
        try:
            tell(places)
        except BaseException as error:  # out of a callback of the client it would not get far
            self._trouble = error
        finally:
            self._in_callback = False
        if self._paused & places:  # the client would remember it, should the partition ever come back
            self._consumer.resume([TopicPartition(*place) for place in sorted(self._paused & places)])
        self._owned -= places
        self._paused -= places
        self._ended -= places
        self._read -= places
        self._beginnings.forget(places)
        self.inbox.forget(places)

    @property
    def busy(self) -> bool:
        """Whether the consumer must be asked nothing: inside a commit it would not answer, and a question from inside a
        rebalance callback can end the process (an assertion of confluent-kafka 2.16)."""
        return self._in_callback or self._commits.under_way

    @property
    def owned(self) -> set[Place]:
        """The partitions it reads at the moment."""
        return set(self._owned)

    def at_end(self) -> bool:
        """Whether every topic is there and everything it owns of them has been read to the end and given out. Needs
        `enable.partition.eof`."""
        return self._is_read() and self._watch.complete()

    def _is_read(self) -> bool:
        return self._assigned and self._owned <= self._ended and not self.inbox

    def group_metadata(self) -> Any:
        """Who this member is, for offsets in a transaction: a member of an older generation is refused by that."""
        return self._consumer.consumer_group_metadata()

    def commit(self, positions: Mapping[Place, Position]) -> None:
        """Commit as a member of the group, and wait for the answer; KafkaException when any of it failed. Interrupted
        when the loop is to stop and no answer comes."""
        parts = topic_partitions(positions)
        if self._in_callback:  # the client answers no other thread before its callback returns
            self._commit(parts)
        else:
            self._commits.run(partial(self._commit, parts))

    def _commit(self, parts: list[TopicPartition]) -> None:
        for part in self._consumer.commit(offsets=parts, asynchronous=False):
            if part.error is not None:
                raise KafkaException(part.error)

    def abandon(self) -> None:
        """Nobody works on the records any more: tell nobody of rebalances."""
        self._abandoned = True

    def close(self) -> None:
        """Leave the group; after a commit that nobody waits for any more, later and in its thread."""
        if not self._closed:
            self._closed = True
            if self._commits.afterwards(self._consumer.close):
                self.abandon()
            else:
                self._consumer.close()


def topic_partitions(positions: Mapping[Place, Position]) -> list[TopicPartition]:
    """Positions as the client wants them."""
    return [
        TopicPartition(topic, partition, position.offset, leader_epoch=position.leader_epoch)
        for (topic, partition), position in sorted(positions.items())
    ]


def _names(places: set[Place]) -> str:
    return ", ".join(f"{topic}[{partition}]" for topic, partition in sorted(places)) or "nothing"
