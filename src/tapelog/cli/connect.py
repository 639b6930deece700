"""A command's connection to a cluster: Kafka clients made the same way, and their errors explained.

Every client command gets one `Connection`. It first checks that something listens at all, so that a broker that is
not there is reported at once and not after a client's timeout; and it turns Kafka errors into a `CliError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ClusterMetadata, OffsetSpec, TopicMetadata

from tapelog.cli.explain import explain
from tapelog.cli.output import EXIT_NOT_FOUND, EXIT_UNREACHABLE, EXIT_USAGE, CliError, remark
from tapelog.cli.security import librdkafka_login, look, password_can_be_guessed
from tapelog.cli.units import parse_pair

QUIET_LOG_LEVEL = 0  # librdkafka's own stderr lines would talk over our messages
OFFSETS_PER_REQUEST_MAX = 5000
GUESSABLE = (
    "warning: SCRAM without verified TLS: whoever stands between here and the broker can guess the password; "
    "use -X security.protocol=SASL_SSL"
)

EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]


class Connection:
    """Kafka clients for one command. Clients are made when first used."""

    def __init__(self, bootstrap: str, properties: Sequence[str] | None = None, timeout_s: float = 10.0) -> None:
        self.bootstrap = bootstrap
        self.timeout_s = timeout_s
        self._warned = False
        self.trouble = ""  # the last thing librdkafka complained about
        self._properties: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "client.id": "tape",
            "log_level": QUIET_LOG_LEVEL,
            "error_cb": self._remember,
            "socket.timeout.ms": max(1000, int(timeout_s * 1000)),
        }
        for text in properties or ():
            try:
                name, value = parse_pair(text)
            except ValueError as error:
                raise CliError(str(error), "-X security.protocol=SSL", EXIT_USAGE) from None
            self._properties[name] = value
        look(bootstrap, timeout_s, self._properties)
        self._properties.update(librdkafka_login(self._properties))

    @property
    def config(self) -> dict[str, Any]:
        """The librdkafka properties that every client of this connection gets."""
        return dict(self._properties)

    @contextmanager
    def explaining(self, *, topic: str = "", group: str = "") -> Iterator[None]:
        """Kafka's exceptions inside become messages for the user."""
        try:
            yield
        except KafkaException as error:
            raise self.explained(error, topic=topic, group=group) from None

    def _remember(self, error: KafkaError) -> None:
        self.trouble = error.str()

    @cached_property
    def admin(self) -> AdminClient:
        """The administrative client."""
        made: AdminClient = self._made(AdminClient, {})
        return made

    def producer(self, **properties: Any) -> Producer:
        """A producer; keyword names take underscores for dots (but in callbacks: `stats_cb`)."""
        made: Producer = self._made(Producer, properties)
        return made

    def consumer(self, group: str, **properties: Any) -> Consumer:
        """A consumer that never commits by itself unless told to, and takes no batch whose checksum is wrong."""
        defaults = {"group_id": group, "enable_auto_commit": False, "check_crcs": True}
        made: Consumer = self._made(Consumer, {**defaults, **properties})
        return made

    def _made(self, kind: Any, properties: dict[str, Any]) -> Any:
        if not self._warned and password_can_be_guessed(self._properties):
            remark(GUESSABLE)
        self._warned = True
        dotted = {name if name.endswith("_cb") else name.replace("_", "."): it for name, it in properties.items()}
        try:
            return kind({**dotted, **self._properties})
        except KafkaException as error:
            raise CliError(
                f"the Kafka client refuses its configuration: {error.args[0].str()}",
                "check the -X options against librdkafka's list of properties",
                EXIT_USAGE,
            ) from None

    def explained(self, error: KafkaException | KafkaError, *, topic: str = "", group: str = "") -> CliError:
        """The error as a message for the user."""
        cause = error.args[0] if isinstance(error, KafkaException) else error
        return explain(cause, bootstrap=self.bootstrap, trouble=self.trouble, topic=topic, group=group)

    def result(self, future: Future[Any], *, topic: str = "", group: str = "") -> Any:
        """Wait for an administrative answer, within the time given."""
        try:
            return future.result(timeout=self.timeout_s + 1)
        except KafkaException as error:
            raise self.explained(error, topic=topic, group=group) from None
        except FutureTimeout:
            raise CliError(
                f"no answer within {self.timeout_s:g} s", "try again with a longer --timeout", EXIT_UNREACHABLE
            ) from None

    def metadata(self, topic: str | None = None) -> ClusterMetadata:
        """Cluster metadata: of one topic, or of everything."""
        try:
            return self.admin.list_topics(topic, timeout=self.timeout_s)
        except KafkaException as error:
            raise self.explained(error, topic=topic or "") from None

    def topic(self, name: str) -> TopicMetadata:
        """One topic's metadata. A topic that is not there is an error, and is never created by asking."""
        topics = self.metadata().topics
        found = topics.get(name)
        if found is None:
            raise missing_topic(name, topics)
        if found.error is not None:
            raise self.explained(found.error, topic=name)
        return found

    def topic_names(self) -> list[str]:
        """All topics, sorted."""
        return sorted(self.metadata().topics)

    def group_names(self) -> list[str]:
        """All consumer groups, sorted."""
        listed = self.result(self.admin.list_consumer_groups(request_timeout=self.timeout_s))
        return sorted(entry.group_id for entry in listed.valid)

    def offsets(self, wanted: dict[tuple[str, int], OffsetSpec]) -> dict[tuple[str, int], tuple[int, int]]:
        """ListOffsets: (topic, partition) → (offset, timestamp); the offset is -1 where there is none."""
        found: dict[tuple[str, int], tuple[int, int]] = {}
        items = list(wanted.items())
        for begin in range(0, len(items), OFFSETS_PER_REQUEST_MAX):
            part = {
                TopicPartition(topic, partition): spec
                for (topic, partition), spec in items[begin : begin + OFFSETS_PER_REQUEST_MAX]
            }
            for place, future in self.admin.list_offsets(part, request_timeout=self.timeout_s).items():
                info = self.result(future, topic=place.topic)
                found[place.topic, place.partition] = (info.offset, info.timestamp)
        return found

    def bounds(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, int]]:
        """(topic, partition) → (start, end): the first offset kept and the next one to be written."""
        wanted = list(places)
        starts = self.offsets(dict.fromkeys(wanted, EARLIEST))
        ends = self.offsets(dict.fromkeys(wanted, LATEST))
        return {place: (starts[place][0], ends[place][0]) for place in wanted}


def near_name(name: str, known: Iterable[str]) -> str:
    """The beginning of a hint: the nearest of the names that exist, if one is near."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean `{near[0]}`? " if near else ""


def missing_topic(name: str, known: Iterable[str]) -> CliError:
    """The error for a topic that is not there."""
    return CliError(
        f"there is no topic `{name}`",
        f"{near_name(name, known)}`tape topic list` shows all; `tape topic create {name}` makes it",
        EXIT_NOT_FOUND,
    )


def missing_group(name: str, known: Iterable[str]) -> CliError:
    """The error for a group that is not there."""
    hint = f"{near_name(name, known)}`tape group list` shows all"
    return CliError(f"there is no group `{name}`", hint, EXIT_NOT_FOUND)
