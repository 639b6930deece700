"""The bucket as a command sees it: which topics it holds, their manifests, their segments. Blocking reads only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tapelog.base import ids
from tapelog.cli.connect import Connection
from tapelog.cli.output import EXIT_FAILED, EXIT_USAGE, CliError
from tapelog.log.checkpoints import CheckpointError, parse_epochs
from tapelog.log.tier import layout, manifest, walk
from tapelog.log.tier.document import DocumentError
from tapelog.log.tier.manifest import Manifest, Page, PageRef, SegmentEntry
from tapelog.log.tier.store import ObjectMissingError, RefusedError, StoreError
from tapelog.log.tier.topic import TopicDocument
from tapelog.node.object_stores import Backend, open_backend

LAST = "~"
"""Sorts behind every name below a topic's prefix."""
REPLICAS = 3
"""Of a topic of which nobody knows how many it had."""
HINTS = {
    "file": "mount it, or name the directory that the brokers have as tapelog.tier.url: --url file:///directory",
    "s3": "--url s3://bucket/prefix",
    "gs": "--url gs://bucket/prefix",
    "az": "--url az://container/prefix",
}
"""What to do about a URL that is refused, by its scheme."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tier is."""

    url: str
    endpoint: str


def place_of(connection: Connection | None, url: str | None, endpoint: str | None) -> Place:
    """As told by the options, else by the cluster's brokers."""
    if url is not None:
        return Place(url, endpoint or "")
    assert connection is not None
    told = broker_settings(connection)
    if told.get("remote.log.storage.system.enable") != "true":
        raise CliError(
            "the cluster has no tier",
            "start its brokers with remote.log.storage.system.enable=true, or name the tier with --url",
        )
    if not told.get("tapelog.tier.url"):
        raise CliError(
            "the broker keeps its tier in a directory of its own",
            "name it with --url file:///DATA/node-1/logs/tier",
            EXIT_USAGE,
        )
    return Place(told["tapelog.tier.url"], told.get("tapelog.tier.endpoint", ""))


def shared_place(connection: Connection, url: str | None, endpoint: str | None) -> Place:
    """The cluster's own tier, which must be the one that is named, if one is."""
    own = place_of(connection, None, None)
    if url is None:
        return own
    if url.rstrip("/") != own.url.rstrip("/"):
        raise CliError(f"the cluster's tier is {own.url}, not {url}", f"start its brokers with tapelog.tier.url={url}")
    return Place(url, endpoint or own.endpoint)


def broker_settings(connection: Connection) -> dict[str, str]:
    """What one broker says of its settings."""
    from confluent_kafka.admin import ConfigResource, ResourceType

    broker = min(connection.metadata().brokers)
    asked = connection.admin.describe_configs([ConfigResource(ResourceType.BROKER, str(broker))])
    found = connection.result(next(iter(asked.values())))
    return {name: entry.value for name, entry in found.items() if entry.value is not None}


def opened(place: Place) -> Backend:
    """The store; errors say what to do."""
    try:
        return open_backend(place.url, place.endpoint)
    except RefusedError as error:
        hint = HINTS.get(place.url.partition("://")[0], "--url s3://bucket/prefix, or file:///directory")
        raise CliError(str(error), hint, EXIT_USAGE) from None


def failed(place: Place, error: StoreError) -> CliError:
    """A store that does not answer, told to the user."""
    local = place.url.startswith("file:")
    what = "whether its file system is mounted" if local else "--endpoint and the credentials in the environment"
    return CliError(f"{place.url}: {error}", f"check the URL, and {what}", EXIT_FAILED)


class Bucket:
    """Reads of one tier."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def topics(self) -> Iterator[tuple[bytes, TopicDocument | None]]:
        """Every topic id below the tier, in order, with its document (None where it is missing or damaged)."""
        after = ""
        while True:
            found = self.backend.list(layout.TOPICS, after).objects
            if not found:
                return
            text = found[0].name[len(layout.TOPICS) :].partition("/")[0]
            after = f"{layout.TOPICS}{text}/{LAST}"
            try:
                yield ids.from_text(text), self.document(ids.from_text(text))
            except ValueError:
                continue

    def partitions(self, topic_id: bytes) -> list[int]:
        """Those of which there is anything, whatever the topic's document says."""
        prefix = layout.topic_prefix(topic_id)
        found: list[int] = []
        after = ""
        while True:
            objects = self.backend.list(prefix, after).objects
            if not objects:
                return sorted(found)
            word, below, _ = objects[0].name[len(prefix) :].partition("/")
            after = f"{prefix}{word}/{LAST}" if below else objects[0].name
            if below and word.isascii() and word.isdecimal():
                found.append(int(word))

    def known(self, topic_id: bytes) -> TopicDocument | None:
        """What its manifests tell of a topic whose document is missing or damaged; None if there are none."""
        heads = []
        for partition in self.partitions(topic_id):
            try:
                heads.append(self.head(topic_id, partition))
            except DocumentError:
                continue
        told = [head for head in heads if head is not None]
        if not told:
            return None
        last = max(told, key=lambda head: head.leader_epoch)
        partitions = max(head.partition for head in told) + 1
        return TopicDocument(last.topic, topic_id, last.cluster, partitions, REPLICAS, last.leader_epoch, {})

    def document(self, topic_id: bytes) -> TopicDocument | None:
        """What a topic is."""
        try:
            return TopicDocument.decode(self.backend.get(layout.topic_document(topic_id)).data)
        except (ObjectMissingError, DocumentError):
            return None

    def head(self, topic_id: bytes, partition: int) -> Manifest | None:
        """A partition's manifest; None if it has none. DocumentError."""
        try:
            return manifest.decode(self.backend.get(layout.manifest_name(topic_id, partition)).data)
        except ObjectMissingError:
            return None

    def segments(self, head: Manifest) -> Iterator[SegmentEntry]:
        """What counts, oldest first. DocumentError or ObjectMissingError for a page."""
        yield from self._below(head, head.entries())

    def _below(self, head: Manifest, entries: tuple[SegmentEntry | PageRef, ...]) -> Iterator[SegmentEntry]:
        for entry in entries:
            if entry.end_offset <= head.start_offset:
                continue
            if isinstance(entry, PageRef):
                yield from self._below(head, self.page(head, entry).entries)
            else:
                yield entry

    def page(self, head: Manifest, ref: PageRef) -> Page:
        """A sealed page."""
        prefix = layout.partition_prefix(head.topic_id, head.partition)
        return manifest.decode_page(self.backend.get(prefix + ref.name).data)

    def names(self, head: Manifest) -> dict[str, None]:
        """Every object that the manifest names, from the store's root."""
        prefix, pages = layout.partition_prefix(head.topic_id, head.partition), dict[str, Page]()
        while True:
            try:
                found = walk.named_between(head, pages, 0, 1 << 63)
                return dict.fromkeys(prefix + name for name in found)
            except walk.PageWantedError as wanted:
                pages[wanted.ref.name] = self.page(head, wanted.ref)

    def epochs(self, head: Manifest) -> tuple[tuple[int, int], ...]:
        """The leader epochs up to the end of what is up there."""
        last: SegmentEntry | PageRef | None = head.entries()[-1] if head.entries() else None
        while isinstance(last, PageRef):
            last = self.page(head, last).entries[-1]
        if last is None:
            return ()
        position, size = last.section(layout.LEADER_EPOCHS)
        name = layout.partition_prefix(head.topic_id, head.partition) + last.name
        try:
            return tuple(parse_epochs(self.backend.get_ranges(name, [(position, size)])[0], name))
        except CheckpointError:
            return last.epochs
