"""Longer pieces of work on a store, told as they are done: each yields calls and gets their results, or their errors.

`play` runs one on an ObjectStore; an error that a script does not catch ends it. All of them may be begun again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tapelog.log.tier import growth, layout, manifest
from tapelog.log.tier.document import DocumentError
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.store import (
    ABSENT,
    Condition,
    ConflictError,
    Got,
    Listing,
    ObjectMissingError,
    ObjectStore,
    RefusedError,
    StoreError,
    UnavailableError,
    Version,
)
from tapelog.log.tier.topic import TopicDocument

PROBES: Final = "probes/"
NEVER: Final = Version('"00000000000000000000000000000000"', "1")
"""A version that no object ever has: some stores go by the etag, GCS by the number."""


@dataclass(frozen=True, slots=True)
class Get:
    """→ Got"""

    name: str


@dataclass(frozen=True, slots=True)
class Put:
    """→ Version"""

    name: str
    data: bytes
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class List:
    """→ Listing"""

    prefix: str
    after: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """→ None"""

    names: tuple[str, ...]


Step: TypeAlias = Get | Put | List | Delete
Script: TypeAlias = Generator[Step, Any, None]


def play(script: Script, store: ObjectStore, ended: Callable[[StoreError | None], None]) -> None:
    """Run it; ended gets None, or the error that ended it."""

    def go_on(result: object) -> None:
        try:
            step = script.throw(result) if isinstance(result, StoreError) else script.send(result)
        except StopIteration:
            ended(None)
            return
        except StoreError as error:
            ended(error)
            return
        match step:
            case Get(name):
                store.get(name, go_on)
            case Put(name, data, condition):
                store.put(name, data, condition, go_on)
            case List(prefix, after):
                store.list(prefix, after, go_on)
            case Delete(names):
                store.delete(names, go_on)

    go_on(None)


def probe(token: str) -> Script:
    """Whether the store heeds the conditions of puts; RefusedError if not, and then it is no place for a tier.

    token: `cluster-node-chance`. What earlier probes of that node left goes, too: killed, or not told that a put had
    arrived. Another's, gone in the middle, would look to him as if conditions were ignored.
    """
    name = f"{PROBES}{token}"
    try:
        version: Version = yield Put(name, token.encode(), ABSENT)
        for condition in (ABSENT, NEVER):
            try:
                yield Put(name, b"wrong", condition)
            except ConflictError:
                continue
            raise RefusedError(
                "the store ignores the conditions of puts (if-none-match, if-match): two leaders could overwrite each "
                "other's manifests. Use a store that has conditional puts"
            )
        yield Put(name, b"again", version)
    except ConflictError as error:  # an answer was lost and the call repeated by the library, most likely
        raise UnavailableError(f"the store refused a conditional put that it should accept: {error}") from None
    yield Delete((name,))
    owner, _, _ = name.rpartition("-")
    left: Listing = yield List(PROBES)
    names = tuple(one.name for one in left.objects if owner and one.name.rpartition("-")[0] == owner)
    if names:
        yield Delete(names)


def tell_topic(document: TopicDocument) -> Script:
    """Write what a topic is, unless a later leader has written something else."""
    name, data = layout.topic_document(document.topic_id), document.encode()
    while True:
        condition: Condition = ABSENT
        try:
            got: Got = yield Get(name)
        except ObjectMissingError:
            pass
        else:
            if got.data == data:
                return
            try:
                if TopicDocument.decode(got.data).leader_epoch > document.leader_epoch:
                    return
            except DocumentError:
                pass
            condition = got.version
        try:
            yield Put(name, data, condition)
            return
        except ConflictError:
            continue


def remove(prefix: str, writer: Writer) -> Script:
    """Delete everything below a topic's or a partition's prefix: first every manifest says so, last they go. What a
    later leader or another cluster has taken over since, and what cannot be understood, is left alone."""
    last: list[str] = []
    spared: list[str] = []
    after, more = "", True
    while more:
        listing: Listing = yield List(prefix, after)
        for found in listing.objects:
            after = found.name
            if found.name.endswith("/" + layout.MANIFEST):
                if (yield from _bury(found.name, writer)):
                    last.append(found.name)
                else:
                    spared.append(found.name[: -len(layout.MANIFEST)])
            elif found.name.endswith("/" + layout.TOPIC_DOCUMENT):
                last.append(found.name)
        more = listing.more
    after, more = "", True
    while more:
        listing = yield List(prefix, after)
        names = tuple(
            found.name
            for found in listing.objects
            if found.name not in last and not found.name.startswith(tuple(spared)) and not _later(found.name, writer)
        )
        if names:
            yield Delete(names)
        after = listing.objects[-1].name if listing.objects else ""
        more = listing.more
    ended: list[str] = []
    for name in last:
        if name.endswith("/" + layout.MANIFEST) and not (yield from _is_buried(name)):
            spared.append(name)
        else:
            ended.append(name)
    if spared:
        ended = [name for name in ended if not name.endswith("/" + layout.TOPIC_DOCUMENT)]
    if ended:
        yield Delete(tuple(ended))


def _later(name: str, writer: Writer) -> bool:
    """Whether somebody else has made it since: a later leader's, or a manifest that was not there a moment ago."""
    span = layout.parse_span(name)
    return name.endswith("/" + layout.MANIFEST) or (span is not None and span.leader_epoch > writer.leader_epoch)


def _is_buried(name: str) -> Generator[Step, Any, bool]:
    """Whether a manifest still says that it is over: another who removes the same may have been done with it, and
    somebody may have begun anew there since. A delete has no condition: it is looked at right before."""
    try:
        got: Got = yield Get(name)
        return manifest.decode(got.data).deleted
    except ObjectMissingError:
        return True
    except DocumentError:
        return False


def _bury(name: str, writer: Writer) -> Generator[Step, Any, bool]:
    """Have a manifest say that it is over; False if it is not ours to end."""
    while True:
        try:
            got: Got = yield Get(name)
            head = manifest.decode(got.data)
        except ObjectMissingError:
            return True
        except DocumentError:
            return False
        if head.leader_epoch > writer.leader_epoch or head.cluster not in ("", writer.cluster):
            return False
        if head.deleted:
            return True
        try:
            yield Put(name, growth.tombstone(head, writer).encode(), got.version)
            return True
        except ConflictError:
            continue
