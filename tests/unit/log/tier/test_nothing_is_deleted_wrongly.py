"""What a reviewer found: histories after which objects that count, or somebody else's, would have been deleted."""

from __future__ import annotations

from dataclasses import replace

from tapelog.log.tier import growth, layout, manifest, scripts
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.manifest import Page
from tapelog.log.tier.operations import DeleteObjects, ListObjects, Operation, ReadHead, ReadPage, View, WriteHead
from tapelog.log.tier.store import (
    Got,
    Listing,
    ObjectInfo,
    ObjectMissingError,
    StoreError,
    UnavailableError,
    Version,
)
from tapelog.log.tier.uploader import DIVERGED, FENCED, Uploader
from tapelog.sim.entropy import SimEntropy
from tapelog.sim.objects import Bucket, SimStore
from tests.unit.log.tier.test_uploader import ID, VIEW, claimed, entry, head, step


def listed(machine: Uploader, operation: ListObjects, names: list[str]) -> Listing:
    found = names if operation.directory == layout.SEGMENTS else []
    return Listing(tuple(ObjectInfo(machine.prefix + name, 1) for name in found), False)


def often(epoch: int = 3) -> Uploader:
    """One that looks for orphans every second."""
    return Uploader("t", ID, 0, broker=1, leader_epoch=epoch, entropy=SimEntropy(1), orphan_check_ms=1000)


def test_a_trim_that_was_never_stored_deletes_nothing() -> None:
    machine = claimed(head(entry(0), entry(1), entry(2)))
    view = replace(VIEW, retention_ms=100)
    assert isinstance(machine.next(0, view), WriteHead)
    machine.done(0, 0, UnavailableError("503"))
    view = replace(VIEW, retention_ms=-1)  # an operator: keep everything
    assert isinstance(machine.next(10**5, view), ReadHead)
    assert machine.manifest is not None
    operation = step(machine, view, Got(machine.manifest.encode(), Version("2")), 10**5)
    while operation is not None:
        assert isinstance(operation, ListObjects)
        names = [entry(number).name for number in range(3)]
        operation = step(machine, view, listed(machine, operation, names), 10**6)


def test_a_cut_whose_write_failed_is_made_again() -> None:
    view = replace(VIEW, end_offset=15, epochs=((0, 0), (3, 10)))
    machine = claimed(head(entry(0), entry(1)), view)
    assert isinstance(machine.next(0, view), WriteHead)
    machine.done(0, 0, UnavailableError("503"))
    assert not machine.related and machine.manifest is not None
    assert isinstance(machine.next(10**6, view), ReadHead)
    again = step(machine, view, Got(machine.manifest.encode(), Version("2")), 10**6)
    assert isinstance(again, WriteHead) and again.manifest.end_offset == 10


def test_where_the_manifest_is_missing_and_only_the_tier_can_have_the_beginning_nothing_is_written() -> None:
    view = replace(VIEW, end_offset=120, local_start_offset=100)
    machine = often()
    machine.next(0, view)
    assert step(machine, view, ObjectMissingError("x")) is None
    assert machine.state == DIVERGED and "[0, 100)" in machine.error


def orphans_of(machine: Uploader, names: list[str], view: View = VIEW) -> list[str]:
    """What one pass deletes of these."""
    deleted: list[str] = []
    machine.next(0, view)
    operation = machine.next(10**6, view)
    while operation is not None:
        if isinstance(operation, DeleteObjects):
            deleted += operation.names
            operation = step(machine, view, None, 10**6)
        else:
            assert isinstance(operation, ListObjects)
            operation = step(machine, view, listed(machine, operation, names), 10**6)
    return deleted


def test_who_has_made_the_manifest_takes_only_what_came_since_for_orphans() -> None:
    lost, failed = entry(0, epoch=2).name, entry(1, epoch=3).name
    machine = claimed(None, machine=often(epoch=3))
    assert orphans_of(machine, [lost, failed]) == [failed], "older ones may be all that is left of a lost manifest"
    assert machine.manifest is not None
    next_leader = claimed(machine.manifest, machine=often(epoch=4))
    assert orphans_of(next_leader, [lost, failed, entry(2, epoch=4).name]) == [failed, entry(2, epoch=4).name]


def test_what_is_older_than_the_manifest_goes_when_the_start_of_the_log_has_passed_it() -> None:
    writer = Writer(2, 3, "x")
    made = growth.trimmed(growth.empty("t", ID, 0, 0, writer), 10, 0, 0, writer)
    machine = claimed(made, replace(VIEW, start_offset=10), often(epoch=4))
    names = [entry(0, epoch=2).name, entry(1, epoch=2).name]
    assert orphans_of(machine, names, replace(VIEW, start_offset=10)) == names[:1]


def test_an_orphan_pass_over_very_many_pages_ends() -> None:
    writer = Writer(1, 2, "x")
    made, pages = growth.empty("t", ID, 0, 0, Writer(1, 0, "x")), dict[str, Page]()
    for number in range(64 * 42):
        made = growth.added(made, entry(number), writer)
        while (page := growth.page_due(made)) is not None:
            first, end = page.entries[0].first_offset, page.entries[-1].end_offset
            name = layout.page_name(first, end, 2, f"p{len(pages)}")
            pages[name] = page
            made = growth.sealed(made, page, growth.reference(page, name))
    view = replace(VIEW, end_offset=10**6)
    machine = claimed(made, view, often())
    operation: Operation | None = machine.next(0, view)
    reads = 0
    operation = operation or machine.next(10**5, view)
    while operation is not None:
        if isinstance(operation, ListObjects):
            segments = [entry(number).name for number in range(64 * 42)]
            everything = segments if operation.directory == layout.SEGMENTS else sorted(pages)
            left = [name for name in (machine.prefix + one for one in everything) if name > operation.after]
            found = Listing(tuple(ObjectInfo(name, 1) for name in left[:1000]), len(left) > 1000)
            operation = step(machine, view, found, 10**5)
        else:
            assert isinstance(operation, ReadPage), operation
            reads += 1
            assert reads < 300, "for ever"
            page_data = manifest.encode_page(pages[operation.name])
            operation = step(machine, view, Got(page_data, Version("1")), 10**5)
    assert reads >= 40


def removed(bucket: Bucket, prefix: str, writer: Writer) -> None:
    ended: list[StoreError | None] = []
    scripts.play(scripts.remove(prefix, writer), SimStore(bucket), ended.append)
    assert ended == [None]


def test_a_late_removal_spares_a_later_leader_and_another_cluster() -> None:
    for found in (head(entry(0), epoch=9), replace(head(entry(0), epoch=2), cluster="other")):
        bucket, prefix = Bucket(), layout.partition_prefix(ID, 0)
        bucket.put(prefix + layout.MANIFEST, found.encode())
        bucket.put(prefix + entry(0).name, b"x")
        bucket.put(layout.topic_document(ID), b"x")
        before = dict(bucket.objects)
        removed(bucket, layout.topic_prefix(ID), Writer(1, 5, "t", "ours"))
        assert bucket.objects == before
    bucket = Bucket()
    bucket.put(layout.partition_prefix(ID, 0) + layout.MANIFEST, head(entry(0), epoch=5).encode())
    bucket.put(layout.partition_prefix(ID, 0) + entry(0).name, b"x")
    removed(bucket, layout.topic_prefix(ID), Writer(1, 5, "t", "ours"))
    assert not bucket.objects


def test_a_log_that_began_anew_below_an_emptied_tier_is_foreign() -> None:
    emptied = replace(head(), start_offset=1000)
    view = replace(VIEW, end_offset=0, empty=True, epochs=())
    machine = claimed(emptied, view)
    machine.next(0, view)
    assert machine.state == DIVERGED and not machine.related


def test_an_empty_log_cuts_nothing_off_even_where_it_claims_to_share_something() -> None:
    view = replace(VIEW, end_offset=10, local_start_offset=10, empty=True, epochs=((0, 0),))
    machine = claimed(head(entry(0), entry(1)), view)
    assert machine.next(0, view) is None and machine.state == DIVERGED


def test_what_a_former_leader_trimmed_and_did_not_delete_is_collected() -> None:
    trimmed = growth.trimmed(head(entry(0), entry(1), entry(2)), 20, 2, 200, Writer(2, 2, "x"))
    view = replace(VIEW, start_offset=20)
    machine = claimed(trimmed, view, often())
    names = [entry(number).name for number in range(3)]
    assert orphans_of(machine, names, view) == names[:2]


def test_a_head_of_another_cluster_in_our_epoch_is_not_ours() -> None:
    machine = often()
    machine.next(0, VIEW)
    other = replace(head(epoch=3, broker=1), cluster="other")
    assert step(machine, VIEW, Got(other.encode(), Version("1"))) is None
    assert machine.state == FENCED


def test_a_manifest_that_is_being_removed_is_waited_for() -> None:
    machine = often()
    machine.next(0, VIEW)
    gone = growth.tombstone(head(), Writer(2, 2, "x"))
    assert step(machine, VIEW, Got(gone.encode(), Version("1"))) is None
    assert machine.state != FENCED and "deleted" in machine.error
    assert isinstance(machine.next(machine.wake_ms, VIEW), ReadHead)
    assert isinstance(step(machine, VIEW, ObjectMissingError("x"), machine.wake_ms), WriteHead)
