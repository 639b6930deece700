"""Requests that librdkafka has no call for (transactions, producers, member epochs), over our own client's links.

A `Wire` opens one connection per broker when first needed, as the librdkafka properties given with -X say (`security`).
Versions are agreed by ApiVersions; what a broker does not have is an error that says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from tapelog.cli.bootstrap import parse_bootstrap
from tapelog.cli.connect import Connection
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_UNREACHABLE, CliError
from tapelog.cli.security import PACE, Security, explained, opened
from tapelog.client.errors import ClientError
from tapelog.client.pace import Deadline
from tapelog.client.settings import Address
from tapelog.wire.api_keys import NAMES
from tapelog.wire.errors import ErrorCode, error_code
from tapelog.wire.message import Message
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tapelog.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from tapelog.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tapelog.wire.messages.metadata_response import MetadataResponse
from tapelog.wire.values import UnsupportedVersionError

LEAST_S = 0.05
"""What is left for a question when the time is over: what answers at once is still heard."""
GROUP, TRANSACTION = 0, 1

M = TypeVar("M", bound=Message)


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """A broker."""

    id: int
    host: str
    port: int


class RawError(CliError):
    """A Kafka error code in an answer."""

    def __init__(self, code: ErrorCode, about: str, hint: str = "", exit_code: int = EXIT_FAILED) -> None:
        super().__init__(f"{about}: {code.name.replace('_', ' ').lower()} ({code.name})", hint, exit_code)
        self.code = code


def check(number: int, about: str, hint: str = "", exit_code: int = EXIT_FAILED) -> None:
    """Raise unless the error field of an answer is NONE."""
    if number:
        raise RawError(error_code(number), about, hint, exit_code)


class Link:
    """One connection to one broker, which is `client/`'s: a request, its answer."""

    def __init__(self, host: str, port: int, security: Security, timeout_s: float) -> None:
        self._patience_s = timeout_s
        self._link = opened(Address(host, port), security, timeout_s)

    @property
    def over(self) -> bool:
        """Nothing can be asked on it any more."""
        return self._link.over

    def version_of(self, request: type[Message], at_most: int | None = None) -> int:
        """The newest version that both sides have."""
        most = request.STABLE_MAX if at_most is None else min(at_most, request.STABLE_MAX)
        version = self._link.versions.common(request, most)
        if version is None:
            raise RawError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{self._link.address} does not serve {NAMES[request.API_KEY]}",
                "the cluster is too old (or too new) for this command",
            )
        return version

    def ask(self, request: Message, answer: type[M], version: int | None = None) -> M:
        """Send, wait, decode."""
        chosen = self.version_of(type(request)) if version is None else version
        try:
            return self._link.call(request, answer, chosen, Deadline(PACE, self._patience_s))
        except UnsupportedVersionError as error:
            about = f"{self._link.address} is too old for this: {error}"
            raise RawError(ErrorCode.UNSUPPORTED_VERSION, about, "leave that option out") from None
        except ClientError as error:
            raise explained(error) from None

    def wait_at_most(self, seconds: float) -> None:
        """From now on, how long a question may wait for the other side."""
        self._patience_s = seconds

    def close(self) -> None:
        """Close."""
        self._link.close()


class Wire:
    """Connections to the brokers of one cluster, and the questions of where to ask."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._bootstrap = parse_bootstrap(connection.bootstrap)
        self._security = Security.of(connection.config)
        self._timeout_s = connection.timeout_s
        self._deadline: float | None = None
        self._links: dict[tuple[str, int], Link] = {}

    def __enter__(self) -> Wire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for link in self._links.values():
            link.close()

    @property
    def timeout_s(self) -> float:
        """How long one question may take, and all those within one `bounded`."""
        return self._timeout_s

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """All questions inside share one timeout, instead of each having its own."""
        before = self._deadline
        self._deadline = time.monotonic() + self._timeout_s if before is None else before
        try:
            yield
        finally:
            self._deadline = before

    def apart(self) -> Wire:
        """Connections of their own to the same cluster, under the same deadline: for another thread."""
        made = Wire(self._connection)
        made._deadline = self._deadline
        return made

    def _patience_s(self, tries: int = 1) -> float:
        """How long the next attempt may take if so many are to be possible."""
        if self._deadline is None:
            return self._timeout_s
        return max(LEAST_S, (self._deadline - time.monotonic()) / max(1, tries))

    def _link(self, node: Node | None) -> Link:
        """To this broker, or to any that answers."""
        addresses = self._bootstrap if node is None else [(node.host, node.port)]
        open_already = next((self._links[address] for address in addresses if address in self._links), None)
        if open_already is not None:
            return open_already
        failure: CliError | None = None
        for tried, address in enumerate(addresses):
            try:
                patience_s = self._patience_s(len(addresses) - tried)
                self._links[address] = Link(*address, self._security, patience_s)
                return self._links[address]
            except CliError as error:
                if error.exit_code != EXIT_UNREACHABLE:
                    raise  # a refused login is not tried at the next broker
                failure = error
        assert failure is not None
        raise failure

    def ask(self, request: Message, answer: type[M], node: Node | None = None, version: int | None = None) -> M:
        """Ask one broker (any, unless named). A connection that failed is given up, so that the next question opens
        another; a question to any broker then goes to the next one."""
        tries = 1 if node is not None else len(self._bootstrap)
        while True:
            link = self._link(node)
            link.wait_at_most(self._patience_s(tries))
            try:
                return link.ask(request, answer, version)
            except CliError as error:
                if link.over:
                    self._drop(link)
                tries -= 1
                if error.exit_code != EXIT_UNREACHABLE or tries <= 0:
                    raise

    def _drop(self, link: Link) -> None:
        link.close()
        for address in [address for address, known in self._links.items() if known is link]:
            del self._links[address]

    def serves(self, request: type[Message], version: int, node: Node | None = None) -> bool:
        """Whether a broker has this API at this version or a later one."""
        try:
            return self._link(node).version_of(request) >= version
        except RawError:
            return False

    def metadata(self, topics: Iterable[str] | None = None) -> MetadataResponse:
        """Brokers, and these topics (None: all), which asking never creates."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        return self.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=False), MetadataResponse)

    def nodes(self) -> list[Node]:
        """All brokers."""
        return sorted(Node(one.node_id, one.host, one.port) for one in self.metadata([]).brokers)

    def coordinator(self, key: str, kind: int) -> Node:
        """The coordinator of a group or of a transactional id."""
        link = self._link(None)
        version = link.version_of(FindCoordinatorRequest)
        if version >= 4:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        else:
            request = FindCoordinatorRequest(key=key, key_type=kind)
        told = link.ask(request, FindCoordinatorResponse, version)
        found: Any = told.coordinators[0] if told.coordinators else told
        check(
            found.error_code,
            f"the coordinator of `{key}` cannot be found",
            "it may be starting: try again in a moment",
        )
        assert isinstance(found, Coordinator | FindCoordinatorResponse)
        return Node(found.node_id, found.host, found.port)

    def leaders(self, topics: Iterable[str] | None = None) -> dict[Node, dict[str, list[int]]]:
        """Broker → topic → the partitions it leads. A topic that was named and is not there is an error."""
        told = self.metadata(topics)
        nodes = {one.node_id: Node(one.node_id, one.host, one.port) for one in told.brokers}
        found: dict[Node, dict[str, list[int]]] = {}
        for topic in told.topics:
            name = topic.name or ""
            if topics is not None:
                check(topic.error_code, f"topic `{name}`", "`tape topic list` shows all", EXIT_NOT_FOUND)
            for part in topic.partitions:
                if part.leader_id in nodes:
                    found.setdefault(nodes[part.leader_id], {}).setdefault(name, []).append(part.partition_index)
        return found
