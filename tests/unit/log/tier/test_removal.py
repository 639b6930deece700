"""Removing a topic from the bucket, with a process that dies at every call of it: nobody sees a topic with holes."""

from __future__ import annotations

import pytest

from tapelog.log.tier import growth, layout, manifest, scripts, walk
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.store import StoreError
from tapelog.sim.objects import Bucket, SimStore
from tests.unit.log.tier.test_uploader import ID, entry

PARTITIONS = 3
PREFIX = layout.topic_prefix(ID)


def filled() -> Bucket:
    """A topic of three partitions, each with three segments, an orphan and a manifest."""
    bucket = Bucket()
    bucket.put(layout.topic_document(ID), b"what it is")
    bucket.put("topics/other/0/manifest.json", b"somebody else's")
    for partition in range(PARTITIONS):
        prefix, writer = layout.partition_prefix(ID, partition), Writer(1, 4, "x", "ours")
        head = growth.empty("t", ID, partition, 0, writer)
        for number in range(3):
            head = growth.added(head, entry(number), writer)
            bucket.put(prefix + entry(number).name, b"records")
        bucket.put(prefix + entry(7).name, b"never committed")
        bucket.put(prefix + layout.MANIFEST, head.encode())
    return bucket


def check(bucket: Bucket) -> None:
    """Whatever manifest does not say that it is over is whole; the topic's document is there as long as any is."""
    heads = [name for name in bucket.objects if name.startswith(PREFIX) and name.endswith(layout.MANIFEST)]
    for name in heads:
        head = manifest.decode(bucket.objects[name])
        if not head.deleted:
            prefix = name[: -len(layout.MANIFEST)]
            assert all(prefix + one.name in bucket.objects for one in walk.oldest_first(head, {}))


class Killed(Exception):
    """kill -9."""


def remove(bucket: Bucket, calls: int, after: bool) -> int:
    """Begin the removal and die at a call, before or after it was carried out; how many there were."""
    store, seen = SimStore(bucket), 0

    def fatal(_: str, __: str) -> None:
        nonlocal seen
        check(bucket)
        seen += 1
        if seen == calls:
            raise Killed

    if after:
        store.after = fatal
    else:
        store.before = fatal
    ended: list[StoreError | None] = []
    try:
        scripts.play(scripts.remove(PREFIX, Writer(1, 9, "y", "ours")), store, ended.append)
        assert ended == [None]
    except Killed:
        pass
    check(bucket)
    return seen


@pytest.mark.parametrize("after", [False, True])
def test_a_removal_that_was_killed_anywhere_leaves_no_manifest_with_holes_and_can_be_begun_again(after: bool) -> None:
    steps = remove(filled(), 0, after)
    assert steps > 8
    for calls in range(1, steps + 1):
        bucket = filled()
        remove(bucket, calls, after)
        remove(bucket, 0, after)
        assert list(bucket.objects) == ["topics/other/0/manifest.json"]


def test_a_removal_that_dies_every_time_one_call_later_ends() -> None:
    bucket, calls = filled(), 1
    while remove(bucket, calls, True) == calls:
        calls += 1
        assert calls < 100
    assert list(bucket.objects) == ["topics/other/0/manifest.json"]


def test_what_a_later_leader_made_while_a_removal_went_on_is_left_alone() -> None:
    bucket, prefix = Bucket(), layout.partition_prefix(ID, 0)
    bucket.put(prefix + entry(0).name, b"old")
    later = entry(1, epoch=10).name
    store, lists = SimStore(bucket), 0

    def made_meanwhile(verb: str, _: str) -> None:
        nonlocal lists
        lists += verb == "list"
        if lists == 2:
            bucket.put(prefix + layout.MANIFEST, growth.empty("t", ID, 0, 0, Writer(2, 10, "z", "ours")).encode())
            bucket.put(prefix + later, b"new")
            lists += 1

    store.before = made_meanwhile
    ended: list[StoreError | None] = []
    scripts.play(scripts.remove(prefix, Writer(1, 9, "y", "ours")), store, ended.append)
    assert ended == [None]
    assert sorted(bucket.objects) == sorted([prefix + layout.MANIFEST, prefix + later])


def test_of_two_who_remove_the_same_the_slower_one_does_not_take_what_was_begun_anew_since() -> None:
    bucket, prefix = filled(), layout.partition_prefix(ID, 0)
    slow, quick = SimStore(bucket), SimStore(bucket)
    anew = growth.empty("t", ID, 0, 0, Writer(2, 1_000_010, "z", "ours")).encode()
    deletes = 0

    def overtaken(verb: str, _: str) -> None:
        nonlocal deletes
        deletes += verb == "delete"
        if deletes == 1:  # the objects are gone, the manifests that say so are next
            deletes += 1
            ended: list[StoreError | None] = []
            scripts.play(scripts.remove(PREFIX, Writer(2, 9, "w", "ours")), quick, ended.append)
            assert ended == [None]
            bucket.put(layout.topic_document(ID), b"what it is, again")
            bucket.put(prefix + layout.MANIFEST, anew)

    slow.after = overtaken
    ended: list[StoreError | None] = []
    scripts.play(scripts.remove(PREFIX, Writer(1, 9, "y", "ours")), slow, ended.append)
    assert ended == [None]
    assert bucket.objects[prefix + layout.MANIFEST] == anew
    assert layout.topic_document(ID) in bucket.objects
    assert len([name for name in bucket.objects if name.startswith(PREFIX)]) == 2
