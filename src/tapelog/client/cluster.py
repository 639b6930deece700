"""A cluster as one task sees it: who leads what, who coordinates whom, links to those brokers, and trying again.

Everything above (`offsets`, `groups`, `fetch`, `produce`, `transactions`) asks a Cluster for a link and speaks on it
inside `retry`: whatever may pass by itself (a leader that moved, a broker that restarts) is tried again, with what was
known forgotten, until the deadline; then a DeadlineError tells what stood in the way. Not for two threads at once.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from tapelog.client.errors import (
    DeadlineError,
    LinkError,
    RecreatedTopicError,
    Retriable,
    RetriableRefusal,
    UnknownTopicError,
    refusal,
)
from tapelog.client.handshake import open_link
from tapelog.client.link import Link
from tapelog.client.metadata import NO_LEADER, Broker, PartitionInfo, TopicInfo, TopicPartition, brokers_of, topic_of
from tapelog.client.pace import Backoff, Deadline, Pace, SystemPace
from tapelog.client.settings import Address, ConnectionSettings
from tapelog.client.tls import context
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.find_coordinator_response import FindCoordinatorResponse
from tapelog.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tapelog.wire.messages.metadata_response import MetadataResponse, MetadataResponseTopic

GROUP: Final = 0
TRANSACTION: Final = 1
"""Kinds of coordinators."""

UNKNOWN_TOPIC_SECONDS: Final = 2.0
"""How long a topic may be unknown before we say so: a new one takes a moment to be known everywhere."""
_UNKNOWN: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})

T = TypeVar("T")


class Cluster:
    """Knowledge of a cluster, and links into it, opened when first needed."""

    def __init__(self, settings: ConnectionSettings, pace: Pace | None = None) -> None:
        self.settings = settings
        self.pace: Pace = pace or SystemPace()
        self.brokers: dict[int, Broker] = {}
        self._links: dict[Address, Link] = {}
        self._topics: dict[str, tuple[TopicInfo, float]] = {}
        self._coordinators: dict[tuple[int, str], Address] = {}
        self._tls: ssl.SSLContext | None = None

    def deadline(self, seconds: float | None = None) -> Deadline:
        """From now on: so many seconds, or what a call may take by the settings."""
        return Deadline(self.pace, self.settings.api_timeout_ms / 1000 if seconds is None else seconds)

    def retry(self, doing: str, attempt: Callable[[], T], deadline: Deadline) -> T:
        """Try until it works or the deadline comes; between two tries, forget what may be outdated."""
        backoff = Backoff(self.pace, self.settings)
        while True:
            try:
                return attempt()
            except Retriable as error:
                self.forget()
                if not backoff.pause(deadline):
                    what = f"could not {doing} within {deadline.seconds:g} s; last: {error.what}"
                    raise DeadlineError(what, error.which, error.do) from error

    def forget(self) -> None:
        """Ask again who leads and who coordinates before the next use of it."""
        self.forget_topics()
        self._coordinators.clear()

    def forget_topics(self) -> None:
        """Ask again about topics: one of them may have been deleted and made anew since an earlier task asked."""
        self._topics.clear()

    # -- topics

    def topics(self, names: Sequence[str], deadline: Deadline | None = None) -> dict[str, TopicInfo]:
        """Those topics; UnknownTopicError if one does not exist. Known ones are not asked for again while fresh."""
        deadline = deadline or self.deadline()
        missing = [name for name in dict.fromkeys(names) if self._fresh(name) is None]
        if missing:
            self.retry(f"look up topic {', '.join(missing[:5])}", lambda: self._look_up(missing, deadline), deadline)
        return {name: self._topics[name][0] for name in names}

    def topic(self, name: str, deadline: Deadline | None = None) -> TopicInfo:
        """One topic; UnknownTopicError if it does not exist."""
        return self.topics([name], deadline)[name]

    def existing(self, names: Sequence[str], deadline: Deadline | None = None) -> dict[str, TopicInfo]:
        """Those of these topics that the broker knows which is asked: without patience for new ones."""
        deadline = deadline or self.deadline()
        wanted = [MetadataRequestTopic(name=name) for name in dict.fromkeys(names) if self._fresh(name) is None]
        if wanted:
            answer = self.retry("look up topics", lambda: self._ask_metadata(wanted, deadline), deadline)
            for told in answer.topics:
                if told.name and not told.error_code:
                    self._keep(topic_of(told))
        return {name: info for name in names if (info := self._fresh(name)) is not None}

    def all_topics(self, deadline: Deadline | None = None) -> list[TopicInfo]:
        """Every topic that we may see, by name, internal ones included."""
        deadline = deadline or self.deadline()
        answer = self.retry("list the topics", lambda: self._ask_metadata(None, deadline), deadline)
        good = [topic_of(told) for told in answer.topics if not told.error_code and told.name]
        for info in good:
            self._keep(info)
        return sorted(good, key=lambda info: info.name)

    def topic_by_id(self, topic_id: bytes, deadline: Deadline | None = None) -> TopicInfo:
        """The topic of that id; UnknownTopicError if there is none (any more)."""
        deadline = deadline or self.deadline()
        wanted = [MetadataRequestTopic(topic_id=topic_id, name=None)]
        answer = self.retry("look up a topic by id", lambda: self._ask_metadata(wanted, deadline), deadline)
        for told in answer.topics:
            if told.topic_id == topic_id and not told.error_code:
                return self._keep(topic_of(told))
        raise UnknownTopicError(
            f"no topic has the id {topic_id.hex()}", "", "it was deleted, or this user may not see it"
        )

    def leader(
        self, where: TopicPartition, deadline: Deadline, topic_id: bytes = b""
    ) -> tuple[Link, TopicInfo, PartitionInfo]:
        """A link to the partition's leader. Inside `retry`: may raise what passes by itself.

        With `topic_id`, of the topic with that id only: RecreatedTopicError where the name belongs to another one.
        """
        info = self._fresh(where.topic)
        found = None if info is None else info.find(where.partition)
        if info is None or found is None or _is_other(info, topic_id):  # added, or made anew, since we asked
            info, found = self._look_up_partition(where, deadline, topic_id)
        if found.leader == NO_LEADER or found.leader not in self.brokers:
            raise RetriableRefusal(
                ErrorCode.LEADER_NOT_AVAILABLE,
                f"{where} has no leader",
                f"topic {where.topic}, partition {where.partition}",
                "bring the brokers of its replicas back",
            )
        return self.link(self.brokers[found.leader].address, deadline), info, found

    # -- links

    def link(self, address: Address, deadline: Deadline) -> Link:
        """The link to that address, opened if there is none in order."""
        held = self._links.get(address)
        if held is not None and not held.over:
            return held
        if self.settings.tls is not None and self._tls is None:
            self._tls = context(self.settings.tls)
        self._links.pop(address, None)
        made = open_link(address, self.settings, self._tls, deadline, self.pace)
        self._links[address] = made
        return made

    def any_link(self, deadline: Deadline) -> Link:
        """A link to whichever broker answers: one that is open, else known ones, else those of bootstrap.servers."""
        for held in self._links.values():
            if not held.over and held.in_flight == 0:
                return held
        known = [broker.address for broker in self.brokers.values()]
        start = int(self.pace.spread() * len(known))
        tried: dict[Address, LinkError] = {}
        for address in dict.fromkeys([*known[start:], *known[:start], *self.settings.bootstrap]):
            try:
                return self.link(address, deadline)
            except LinkError as error:
                tried[address] = error
        if len(tried) == 1:
            raise next(iter(tried.values()))
        raise LinkError(
            "no broker can be reached: " + "; ".join(error.what for error in tried.values()),
            f"option kafka.bootstrap.servers: {', '.join(map(str, self.settings.bootstrap))}",
            "check that the cluster runs and can be reached from this machine",
        )

    def coordinator(self, kind: int, key: str, deadline: Deadline) -> Link:
        """A link to the coordinator of a group or transactional id. Inside `retry`."""
        if (kind, key) not in self._coordinators:
            self.find_coordinators(kind, [key], deadline)
        return self.link(self._coordinators[kind, key], deadline)

    def find_coordinators(self, kind: int, keys: Sequence[str], deadline: Deadline) -> None:
        """Learn the coordinators of many at once. Inside `retry`."""
        missing = [key for key in dict.fromkeys(keys) if (kind, key) not in self._coordinators]
        if not missing:
            return
        link = self.any_link(deadline)
        version = link.versions.choose(FindCoordinatorRequest)
        if version >= 4:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=missing)
            answer = link.call(request, FindCoordinatorResponse, version, deadline)
            found = [(one.key, one.error_code, one.error_message, one.host, one.port) for one in answer.coordinators]
        else:
            found = []
            for key in missing:
                request = FindCoordinatorRequest(key=key, key_type=kind)
                one = link.call(request, FindCoordinatorResponse, version, deadline)
                found.append((key, one.error_code, one.error_message, one.host, one.port))
        for key, code, message, host, port in found:
            if code:
                which = f"{'group' if kind == GROUP else 'transactional id'} {key}"
                raise refusal(code, "name the coordinator", which, message)
            self._coordinators[kind, key] = Address(host, port)
        if any((kind, key) not in self._coordinators for key in missing):
            raise RetriableRefusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker named no coordinator")

    @property
    def links(self) -> list[Link]:
        """Those that are open."""
        return [link for link in self._links.values() if not link.over]

    def tidy(self) -> bool:
        """Drop links that are of no use to the next task; False if none is left."""
        for address in [address for address, link in self._links.items() if not link.usable]:
            self._links.pop(address).close()
        return bool(self._links)

    def close(self) -> None:
        """Close all links."""
        for link in self._links.values():
            link.close()
        self._links.clear()

    # -- inside

    def _fresh(self, name: str) -> TopicInfo | None:
        held = self._topics.get(name)
        if held is None or self.pace.now() - held[1] > self.settings.metadata_max_age_ms / 1000:
            return None
        return held[0]

    def _keep(self, info: TopicInfo) -> TopicInfo:
        self._topics[info.name] = (info, self.pace.now())
        return info

    def _look_up(self, names: Sequence[str], deadline: Deadline) -> list[TopicInfo]:
        patience = deadline.within(UNKNOWN_TOPIC_SECONDS)
        backoff = Backoff(self.pace, self.settings)
        while True:
            answer = self._ask_metadata([MetadataRequestTopic(name=name) for name in names], deadline)
            told = {topic.name: topic for topic in answer.topics}
            unknown = [name for name in names if name not in told or told[name].error_code in _UNKNOWN]
            if not unknown:
                break
            if not backoff.pause(patience):
                raise UnknownTopicError(
                    f"topic {', '.join(unknown[:5])} does not exist",
                    f"topic {unknown[0]}, brokers {', '.join(map(str, self.settings.bootstrap))}",
                    "create it, or check its name and what this user may see",
                )
        return [self._keep(self._checked(told[name])) for name in names]

    def _look_up_partition(
        self, where: TopicPartition, deadline: Deadline, topic_id: bytes
    ) -> tuple[TopicInfo, PartitionInfo]:
        patience = deadline.within(UNKNOWN_TOPIC_SECONDS)
        backoff = Backoff(self.pace, self.settings)
        while True:
            info = self._look_up([where.topic], deadline)[0]
            found = info.find(where.partition)
            is_other = _is_other(info, topic_id)
            if found is not None and not is_other:
                return info, found
            if not backoff.pause(patience):
                if is_other:
                    raise RecreatedTopicError(
                        f"topic {where.topic} was deleted and made anew",
                        f"topic {where.topic} with id {topic_id.hex()}, which is {info.topic_id.hex()} now",
                        "start again: its offsets have another meaning now",
                    )
                raise UnknownTopicError(
                    f"topic {where.topic} has no partition {where.partition}",
                    f"topic {where.topic} with {len(info.partitions)} partitions",
                    "check the partitions in option assign or startingOffsets",
                )

    def _checked(self, told: MetadataResponseTopic) -> TopicInfo:
        if told.error_code:
            raise refusal(told.error_code, f"describe topic {told.name}", f"topic {told.name}")
        return topic_of(told)

    def _ask_metadata(self, wanted: list[MetadataRequestTopic] | None, deadline: Deadline) -> MetadataResponse:
        link = self.any_link(deadline)
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        answer = link.call(request, MetadataResponse, link.versions.choose(MetadataRequest), deadline)
        if answer.error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            self.brokers = {}
            self.close()
            raise LinkError(f"{link.address} is not of this cluster any more", f"broker {link.address}")
        if answer.error_code:
            raise refusal(answer.error_code, "describe the cluster", f"broker {link.address}")
        self.brokers = brokers_of(answer)
        return answer


def _is_other(info: TopicInfo, topic_id: bytes) -> bool:
    """Whether it is not the topic with that id. Unknown where nobody gave an id, or the cluster has none."""
    return bool(topic_id) and info.has_id and info.topic_id != topic_id
