"""The uploader, rule by rule: what goes up and when, who is fenced, what is deleted, what a hold keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tapelog.log.tier import growth, layout, manifest
from tapelog.log.tier.growth import Writer
from tapelog.log.tier.manifest import Manifest, SegmentEntry
from tapelog.log.tier.operations import (
    CopySegment,
    DeleteObjects,
    ListObjects,
    Operation,
    ReadHead,
    Result,
    Sealed,
    View,
    WriteHead,
)
from tapelog.log.tier.store import (
    ABSENT,
    ConflictError,
    Got,
    Listing,
    ObjectInfo,
    ObjectMissingError,
    UnavailableError,
    Version,
)
from tapelog.log.tier.uploader import DIVERGED, FENCED, Uploader
from tapelog.sim.entropy import SimEntropy

ID = b"\x07" * 16
VIEW = View(10**6, 0, 100, False, ((0, 0),), (), 0, -1, -1, 1000, False, True)


def uploader(epoch: int = 3, broker: int = 1) -> Uploader:
    return Uploader("t", ID, 0, broker=broker, leader_epoch=epoch, entropy=SimEntropy(1), orphan_check_ms=10**9)


def entry(number: int, epoch: int = 0, timestamp: int = 5) -> SegmentEntry:
    base = number * 10
    name = layout.segment_name(base, base + 10, epoch, f"{number}")
    return SegmentEntry(name, base, base, base + 10, timestamp, base, 100, (0,) * 5, 1, 2, ((epoch, base),))


def head(*entries: SegmentEntry, epoch: int = 2, broker: int = 2) -> Manifest:
    writer = Writer(broker, epoch, "x")
    made = replace(growth.empty("t", ID, 0, 0, writer), since_epoch=0)
    for one in entries:
        made = growth.added(made, one, writer)
    return made


def step(machine: Uploader, view: View, result: Result | None, now_ms: int = 0) -> Operation | None:
    """The next operation; the one before ends with this result."""
    if machine.operation is not None:
        machine.done(now_ms, view.wall_ms, result)
    return machine.next(now_ms, view)


def claimed(found: Manifest | None, view: View = VIEW, machine: Uploader | None = None) -> Uploader:
    """A machine that has read this head and made it its own."""
    machine = machine if machine is not None else uploader()
    assert isinstance(machine.next(0, view), ReadHead)
    got = ObjectMissingError("none") if found is None else Got(found.encode(), Version("1"))
    operation = step(machine, view, got)
    assert isinstance(operation, WriteHead)
    assert operation.condition == (ABSENT if found is None else Version("1"))
    assert operation.manifest.leader_epoch == machine.leader_epoch
    machine.done(0, view.wall_ms, Version("2"))
    return machine


def test_a_leader_claims_the_manifest_before_anything_else() -> None:
    machine = claimed(head(entry(0)))
    assert machine.manifest is not None and machine.manifest.broker == 1
    assert machine.next(0, VIEW) is None and machine.related


@pytest.mark.parametrize(("epoch", "broker"), [(4, 2), (3, 2), (7, 1)])
def test_a_leader_that_finds_a_later_one_or_another_of_its_epoch_stops(epoch: int, broker: int) -> None:
    machine = uploader(epoch=3)
    machine.next(0, VIEW)
    assert step(machine, VIEW, Got(head(epoch=epoch, broker=broker).encode(), Version("1"))) is None
    assert machine.state == FENCED and "epoch" in machine.error
    assert machine.next(10**9, replace(VIEW, sealed=(Sealed(0, 10, 5),))) is None


def test_a_lost_race_for_the_manifest_is_noticed() -> None:
    machine = claimed(None)
    view = replace(VIEW, sealed=(Sealed(0, 10, 5),))
    assert isinstance(step(machine, view, None), CopySegment)
    write = step(machine, view, entry(0, epoch=3))
    assert isinstance(write, WriteHead) and write.condition == Version("2")
    assert isinstance(step(machine, view, ConflictError("somebody")), ReadHead)
    assert step(machine, view, Got(head(epoch=4).encode(), Version("9"))) is None
    assert machine.state == FENCED and machine.manifest is not None and machine.manifest.count == 0


def test_a_write_whose_answer_was_lost_is_found_when_the_head_is_read_again() -> None:
    machine = claimed(None)
    view = replace(VIEW, sealed=(Sealed(0, 10, 5),))
    step(machine, view, None)
    write = step(machine, view, entry(0, epoch=3))
    assert isinstance(write, WriteHead)
    assert step(machine, view, UnavailableError("lost")) is None, "wait a little"
    assert machine.failing_since_ms == view.wall_ms
    assert isinstance(machine.next(machine.wake_ms, view), ReadHead)
    after = step(machine, view, Got(write.manifest.encode(), Version("7")), machine.wake_ms)
    assert after is None and machine.manifest == write.manifest and machine.error == ""


def test_segments_go_up_in_order_behind_what_is_there() -> None:
    machine = claimed(head(entry(0)))
    view = replace(VIEW, sealed=(Sealed(5, 15, 5), Sealed(15, 30, 5)))
    operation = machine.next(0, view)
    assert isinstance(operation, CopySegment)
    assert operation.segment.base_offset == 5 and operation.first_offset == 10, "the rest counts in the one before"
    span = layout.parse_span(operation.name)
    assert span is not None and span.leader_epoch == 3


def test_nothing_is_copied_while_copying_is_off() -> None:
    machine = claimed(None)
    assert machine.next(0, replace(VIEW, sealed=(Sealed(0, 10, 5),), copying=False)) is None


@pytest.mark.parametrize(
    ("change", "start"),
    [
        ({"retention_bytes": 200}, 10),
        ({"retention_bytes": 0}, 30),
        ({"retention_ms": 10}, 20),
        ({"start_offset": 12}, 12),
        ({"retention_bytes": 250, "untiered_bytes": 150}, 20),
    ],
)
def test_retention_counts_over_everything_and_moves_the_start(change: dict[str, int], start: int) -> None:
    young = 10**6 - 5
    machine = claimed(head(entry(0), entry(1), entry(2, timestamp=young)))
    write = machine.next(0, replace(VIEW, **change))
    assert isinstance(write, WriteHead) and write.manifest.start_offset == start
    assert write.manifest.count == sum(1 for one in write.manifest.segments)
    held = claimed(head(entry(0), entry(1), entry(2, timestamp=young)))
    assert held.next(0, replace(VIEW, **change, hold=True)) is None, "a hold keeps everything"


def test_retention_by_time_goes_by_when_a_segment_was_written_where_no_record_has_a_timestamp() -> None:
    old, young = (replace(entry(number, timestamp=-1), written_ms=10**6 - 15 + 10 * number) for number in (0, 1))
    unknown = entry(2, timestamp=-1)
    machine = claimed(head(old, young, unknown))
    write = machine.next(0, replace(VIEW, retention_ms=10))
    assert isinstance(write, WriteHead) and write.manifest.start_offset == 10
    write = claimed(head(old, young, unknown)).next(0, replace(VIEW, retention_ms=1))
    assert isinstance(write, WriteHead) and write.manifest.start_offset == 20, "nothing tells of the last one"


def test_objects_go_after_the_manifest_and_not_before_the_delay() -> None:
    view = replace(VIEW, start_offset=10)
    machine = claimed(head(entry(0), entry(1)))
    assert isinstance(machine.next(0, view), WriteHead)
    assert step(machine, view, Version("3")) is None
    assert machine.next(999, view) is None
    assert machine.next(1000, view) == ListObjects(layout.SEGMENTS, "")
    names = [machine.prefix + one.name for one in (entry(0), entry(1))]
    listing = Listing(tuple(ObjectInfo(name, 1) for name in names), False)
    assert step(machine, view, listing, 1000) == DeleteObjects((entry(0).name,))


@pytest.mark.parametrize("lost", [False, True])
def test_the_delay_begins_when_the_manifest_is_stored_and_not_when_that_was_first_tried(lost: bool) -> None:
    machine = claimed(head(entry(0), entry(1)))
    view = replace(VIEW, start_offset=10)
    write = step(machine, view, None)
    assert isinstance(write, WriteHead)
    step(machine, view, UnavailableError("no answer"), 100)
    assert isinstance(machine.next(5_000, view), ReadHead), "long after the delay"
    assert machine.manifest is not None
    found = write.manifest if lost else machine.manifest
    again = step(machine, view, Got(found.encode(), Version("2")), 5_000)
    if not lost:
        assert isinstance(again, WriteHead)
        again = step(machine, view, Version("3"), 5_000)
    assert again is None and machine.manifest.start_offset == 10
    assert machine.next(5_999, view) is None, "readers may not have heard of it"
    assert isinstance(machine.next(6_000, view), ListObjects)


def test_what_the_leader_before_has_trimmed_at_the_last_moment_goes_after_the_delay_too() -> None:
    found = head(entry(0), entry(1))
    trimmed = growth.trimmed(found, 10, 1, 100, Writer(2, 2, "x"))
    machine = uploader()
    machine.next(0, VIEW)
    assert isinstance(step(machine, VIEW, Got(found.encode(), Version("1"))), WriteHead)
    assert isinstance(step(machine, VIEW, ConflictError("somebody")), ReadHead)
    assert isinstance(step(machine, VIEW, Got(trimmed.encode(), Version("2"))), WriteHead)
    assert step(machine, VIEW, Version("3")) is None, "readers may not have heard of it"
    assert machine.next(999, VIEW) is None
    assert isinstance(machine.next(1_000, VIEW), ListObjects)


def test_what_the_leader_does_not_share_is_cut_off_and_nothing_at_all_is_not_touched() -> None:
    view = replace(VIEW, end_offset=25, epochs=((0, 0), (2, 20)))
    found = head(entry(0), entry(1), entry(2, epoch=1))
    machine = claimed(found, view)
    assert not machine.related
    write = machine.next(0, view)
    assert isinstance(write, WriteHead) and write.manifest.end_offset == 20
    empty = replace(VIEW, end_offset=0, empty=True, epochs=())
    machine = claimed(found, empty)
    assert machine.next(0, empty) is None and machine.state == DIVERGED and not machine.related


def test_a_damaged_manifest_stops_everything_until_it_is_mended() -> None:
    machine = uploader()
    machine.next(0, VIEW)
    data = head(entry(0)).encode()
    assert step(machine, VIEW, Got(data[:-2] + b"x\n", Version("1"))) is None
    assert "damaged" in machine.error and machine.manifest is None
    assert isinstance(machine.next(machine.wake_ms, VIEW), ReadHead)


def test_back_off_grows_and_ends_with_success() -> None:
    machine = uploader()
    now, waits = 0, []
    for _ in range(12):
        machine.next(now, VIEW)
        machine.done(now, 0, UnavailableError("gone"))
        waits.append(machine.wake_ms - now)
        now = machine.wake_ms
    assert waits[0] <= 500 and 20_000 < waits[-1] <= 30_000
    machine.next(now, VIEW)
    machine.done(now, 0, ObjectMissingError("none"))
    assert machine.error == "" and isinstance(machine.next(now, VIEW), WriteHead)


def test_the_head_that_is_written_can_be_read() -> None:
    machine = claimed(head(entry(0), entry(1)))
    assert machine.manifest is not None
    assert manifest.decode(machine.manifest.encode()) == machine.manifest
