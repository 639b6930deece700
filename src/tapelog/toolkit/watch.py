"""Whether the cluster answers, and whether the topics of a loop exist. Both are said soon, and again rarely.

librdkafka connects again and again by itself and tells nobody how that goes. So the loop asks for the metadata of one
topic when it has heard nothing for a while. A question without an answer blocks the loop's thread for QUESTION_S_MAX at
most. `look` is called at every turn of the loop and during every wait of its clients; it asks only when that is due.
"""

from __future__ import annotations

import difflib
import logging
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ClusterMetadata

from tapelog.toolkit.clients import kafka_error

log = logging.getLogger(__name__)

PATIENCE_S = 20.0
"""How long `run(to_end=True)` goes on without an answer or without a topic before it raises."""

SAID_AFTER_S = 8.0
"""How long `run()` goes on without an answer or without a topic before it says so."""

SAID_AGAIN_S = 300.0
"""How often it says so again."""

ASK_EVERY_S = 3.0
"""How often a cluster that answers is asked, while nothing else is heard of it."""

RETRY_S = 0.5
"""The pause after a question without an answer, and between questions about a topic that does not exist."""

QUESTION_S_MIN, QUESTION_S_MAX = 0.25, 2.0
"""How long one question may take: the first and the longest. A slow cluster is given more time at every question."""

LAST_QUESTION_S = 1.0
"""How long a loop that is to stop waits for a sign of life."""

NAMES_S_MAX = 2.0
"""How long the names of all topics are waited for, to find those that are like a missing one."""

ALWAYS_THERE = "__consumer_offsets"
"""The topic to ask about when a loop has patterns only: any answer is a sign of life, also that it does not exist."""

NEAR_NAMES_MAX = 3

ADVICE = "start one there, or correct the address or the security settings"

Ask = Callable[[str | None, float], ClusterMetadata]
"""Metadata of one topic, or of all, within so many seconds; KafkaException when there is no answer."""


class NoBroker(Exception):
    """No broker has answered for too long."""


class NoTopic(Exception):
    """A topic that is to be read does not exist."""


class Watched(Protocol):
    """What Source needs from a watch."""

    def heard(self) -> None:
        """Something came from the cluster."""

    def gone(self, topic: str) -> None:
        """The client says that there is no such topic (any more)."""

    def raise_missing(self, *, read: bool) -> None:
        """NoTopic when a topic has been missing for too long. read: whether the other topics have been read."""

    def complete(self) -> bool:
        """Whether every topic has been seen."""


class Unwatched:
    """For a source whose cluster nobody asks."""

    def heard(self) -> None:
        """Nobody wants to know."""

    def gone(self, topic: str) -> None:
        """Nobody looks for it."""

    def raise_missing(self, *, read: bool) -> None:
        """Nothing is known to be missing."""

    def complete(self) -> bool:
        return True


class Watch:
    """One loop's view of its cluster. One thread uses it."""

    def __init__(
        self,
        ask: Ask,
        address: str,
        topics: Sequence[str],
        *,
        patience_s: float = PATIENCE_S,
        raises: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """raises: whether too long a silence is an error, or only said; then `patience_s` is the bound."""
        self._ask, self._address, self._clock = ask, address, clock
        self._patience_s, self._raises = patience_s, raises
        self._said_after_s = min(SAID_AFTER_S, patience_s)
        self._topics = tuple(topics)
        self._unseen = list(topics)
        """Topics and patterns that are still to be looked for; the next one first."""
        self._probe = next((topic for topic in topics if not topic.startswith("^")), ALWAYS_THERE)
        self._missing: dict[str, _Lack] = {}
        self._silence: _Lack | None = None
        self._question_s = QUESTION_S_MIN
        self._not_before = clock()
        self.answered = False
        """Whether the cluster has ever answered."""

    def heard(self) -> None:
        """Something came from the cluster."""
        if self._silence is not None and self._silence.said:
            silent_s = self._clock() - self._silence.since
            log.warning("%s answers again, after %.0f s", self._address, silent_s)
        self._silence = None
        self._question_s = QUESTION_S_MIN
        self.answered = True
        if not self._unseen:
            self._not_before = self._clock() + ASK_EVERY_S

    def complete(self) -> bool:
        """Whether every topic has been seen."""
        return not self._unseen

    def look(self) -> None:
        """Ask, if it is time. NoBroker when nothing has been heard for too long and that is an error."""
        if self._clock() >= self._not_before:
            self._question()

    def answers(self) -> bool:
        """Whether a broker answers now. After a question without an answer it is not asked again for a moment."""
        if self._silence is None or self._clock() >= self._not_before:
            self._put(self._probe, LAST_QUESTION_S)
        return self._silence is None

    def gone(self, topic: str) -> None:
        """The client says that there is no such topic (any more): look for it."""
        if topic in self._topics and topic not in self._unseen:
            self._unseen.append(topic)
            self._not_before = self._clock()

    def _question(self) -> None:
        topic = self._unseen[0] if self._unseen else None
        is_pattern = topic is not None and topic.startswith("^")
        found = self._put(self._probe if topic is None or is_pattern else topic, self._question_s)
        if found is None:
            self._judge_silence()
        elif topic is not None:
            self._unseen.remove(topic)
            if self._is_matched(topic) if is_pattern else not is_unknown(found, topic):
                self._seen(topic)
            else:
                self._unseen.append(topic)
                self._lacks(topic)

    def _put(self, topic: str | None, seconds: float) -> ClusterMetadata | None:
        began = self._clock()
        try:
            found = self._ask(topic, seconds)
        except KafkaException as exception:
            if kafka_error(exception).fatal():
                raise
            log.debug("no answer from %s: %s", self._address, exception)
            self._silence = self._silence or _Lack(began, self._said_after_s)
            self._question_s = min(2 * self._question_s, QUESTION_S_MAX)
            self._not_before = self._clock() + RETRY_S
            return None
        self.heard()
        return found

    def _judge_silence(self) -> None:
        assert self._silence is not None
        silent_s = self._clock() - self._silence.since
        if self._raises and silent_s >= self._patience_s:
            raise NoBroker(f"no broker has answered on {self._address} for {silent_s:.3g} s: {ADVICE}")
        if self._silence.is_to_be_said(silent_s):
            log.warning("no broker has answered on %s for %.3g s: %s; waiting", self._address, silent_s, ADVICE)

    def _seen(self, topic: str) -> None:
        lack = self._missing.pop(topic, None)
        if lack is not None and lack.said:
            log.warning("the topic %r exists now", topic)
        if not self._unseen:
            self._not_before = self._clock() + ASK_EVERY_S

    def _lacks(self, topic: str) -> None:
        now = self._clock()
        lack = self._missing.setdefault(topic, _Lack(now, self._said_after_s))
        if all(other in self._missing for other in self._unseen):
            patterns = any(other.startswith("^") for other in self._unseen)  # these need the names of all topics
            self._not_before = now + min(ASK_EVERY_S if patterns else RETRY_S, self._patience_s)
        if not (self._raises and now - lack.since >= self._patience_s) and lack.is_to_be_said(now - lack.since):
            log.warning("%s; waiting for it", self._no_topic(topic))

    def raise_missing(self, *, read: bool) -> None:
        """NoTopic when a topic has been missing for too long and that is an error; but first the others are read."""
        if self._raises and (read or len(self._unseen) == len(self._topics)):
            now = self._clock()
            for topic, lack in self._missing.items():
                if now - lack.since >= self._patience_s:
                    raise NoTopic(self._no_topic(topic))

    def _names(self) -> list[str]:
        """All topics; KafkaException when that takes too long."""
        return list(self._ask(None, NAMES_S_MAX).topics)

    def _is_matched(self, pattern: str) -> bool:
        """Whether a topic matches; yes, when the names of all topics take too long."""
        try:
            return any(matches(pattern, name) for name in self._names())
        except KafkaException:
            return True

    def _no_topic(self, topic: str) -> str:
        if topic.startswith("^"):
            what, like = f"no topic on {self._address} matches {topic!r}", topic.strip("^$.*+")
        else:
            what, like = f"there is no topic {topic!r} on {self._address}", topic
        near: list[str] = []
        with suppress(KafkaException):
            near = near_names(like, [name for name in self._names() if not name.startswith("__")])
        return f"{what}{', but there is ' + ', '.join(near) if near else ''}"


class _Lack:
    """Something that is not there, since when, and when that is said."""

    def __init__(self, since: float, said_after_s: float) -> None:
        self.since = since
        self.said = False
        self._next_s = said_after_s

    def is_to_be_said(self, lasts_s: float) -> bool:
        """Whether it is to be said now that it has lasted so long."""
        if lasts_s < self._next_s:
            return False
        self._next_s = lasts_s + SAID_AGAIN_S
        self.said = True
        return True


def is_unknown(found: ClusterMetadata, topic: str) -> bool:
    """Whether the cluster says that it has no such topic."""
    told = found.topics.get(topic)
    return told is None or (told.error is not None and told.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART)


def matches(pattern: str, name: str) -> bool:
    """Whether a topic matches a pattern, as far as Python's expressions can tell."""
    try:
        return re.match(pattern, name) is not None
    except re.error:
        return True


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Those that somebody may have meant."""
    by_lower = {other.lower(): other for other in sorted(names)}
    return [by_lower[lower] for lower in difflib.get_close_matches(name.lower(), by_lower, NEAR_NAMES_MAX)]
