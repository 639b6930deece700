"""Producers that are ahead of the disk are held back, nobody else is, and nothing that was taken is lost."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.node.core import NodeCore
from tapelog.node.pressure import LIMIT_FIRST, LIMIT_LEAST, Limit
from tapelog.replication.partition import BATCH_COST
from tapelog.wire.errors import ErrorCode
from tests.support.rig import HeldFlushes, Rig, produce_request

pytestmark = pytest.mark.both_ways

MB = 1 << 20


def core_of(rig: Rig) -> NodeCore:
    assert rig.node.core is not None
    return rig.node.core


def slow_rig() -> Rig:
    return Rig(tapelog_unflushed_max_bytes=str(MB))


def flood(rig: Rig, count: int, value: bytes = bytes(50_000), topic: str = "orders") -> list[list[Any]]:
    """Many producers send one batch each, without waiting."""
    return [rig.later(produce_request((topic, 0, rig.batch(value))), 9, rig.connect()) for _ in range(count)]


def answered(answers: list[list[Any]]) -> list[int]:
    return [one[0].responses[0].partition_responses[0].error_code for one in answers if one]


def test_no_produce_starts_while_more_than_the_bound_is_not_durable() -> None:
    rig = slow_rig()
    rig.create()
    held = rig.hold_flushes()
    answers = flood(rig, 100)
    taken = rig.partition().log.end_offset
    assert MB <= taken * (50_000 + BATCH_COST) <= MB + 3 * (50_000 + BATCH_COST)
    assert core_of(rig).dispatcher.pressed and not answered(answers)
    rig.node.pass_time(1000)
    assert rig.partition().log.end_offset == taken
    held.release()
    rig.node.pass_time(1000)
    assert answered(answers) == [0] * 100
    assert rig.partition().log.end_offset == 100
    assert not core_of(rig).dispatcher.pressed and core_of(rig).hub.unflushed_bytes == 0


def test_fetches_and_everything_else_go_on_while_producers_wait() -> None:
    rig = slow_rig()
    rig.create()
    rig.produce(rig.batch(b"before"))
    held = rig.hold_flushes()
    flood(rig, 100)
    assert core_of(rig).dispatcher.pressed
    assert rig.values() == [b"before"]
    assert rig.offset_at(-1).offset == 1
    held.release()


def test_acks_0_is_held_back_too() -> None:
    rig = slow_rig()
    rig.create()
    held = rig.hold_flushes()
    clients = [rig.connect() for _ in range(100)]
    for client in clients:
        client.send(produce_request(("orders", 0, rig.batch(bytes(50_000))), acks=0), 9, None)
    assert rig.partition().log.end_offset < 30
    held.release()
    rig.node.pass_time(1000)
    assert rig.partition().log.end_offset == 100


def test_many_small_batches_count_for_what_their_senders_cost() -> None:
    rig = slow_rig()
    rig.create()
    held = rig.hold_flushes()
    flood(rig, 400, b"small")
    assert rig.partition().log.end_offset < MB // BATCH_COST + 10
    held.release()


def test_a_partition_that_is_deleted_takes_its_share_of_the_pressure_with_it() -> None:
    rig = slow_rig()
    rig.create()
    held = rig.hold_flushes()
    flood(rig, 2, bytes(100_000))
    flood(rig, 2, bytes(100_000))
    core = core_of(rig)
    assert core.hub.unflushed_bytes > 400_000
    core.partitions.remove([core.image.topics["orders"]])
    held.release()
    rig.node.pass_time(1000)
    assert core.hub.unflushed_bytes == 0


def test_the_bound_can_be_changed_while_it_runs() -> None:
    rig = slow_rig()
    core = core_of(rig)
    assert core.pressure.written.value == MB
    core.pressure.bound(8 * MB)
    core.pressure.written.synced(MB, 10)
    assert core.pressure.written.value == 2 * MB


def test_topics_in_the_page_cache_are_held_back_until_a_checkpoint_is_synced() -> None:
    rig = Rig()
    rig.create(tapelog_flush="page-cache")
    core = core_of(rig)
    core.pressure.remember(8 * MB)
    assert core.pressure.cached.value == MB
    answers = flood(rig, 100)
    assert core.dispatcher.pressed
    assert len(answered(answers)) < 30
    rig.node.pass_time(60_000)
    assert answered(answers) == [0] * 100
    assert not core.dispatcher.pressed
    assert core.hub.cached_bytes == 0


def test_what_a_checkpoint_did_not_account_for_does_not_hold_producers_back_for_ever() -> None:
    rig = Rig()
    rig.create(tapelog_flush="page-cache")
    core = core_of(rig)
    core.hub.cached_bytes = core.pressure.cached.value + 1  # nothing more is written, and all is synced
    core.settle()
    assert core.dispatcher.pressed
    rig.node.pass_time(15_000)
    assert not core.dispatcher.pressed and core.hub.cached_bytes == 0


def test_more_partitions_than_files_may_be_open_are_written_in_several_rounds() -> None:
    rig = Rig()
    rig.create(partitions=60)
    core = core_of(rig)
    most = core.rounds.each[0].partitions_max
    assert most < 30
    held = rig.hold_flushes()
    request = produce_request(*[("orders", index, rig.batch(b"%d" % index)) for index in range(60)])
    answer = rig.later(request, 9)
    written = sum(rig.partition(index=index).log.written_end for index in range(60))
    assert written == most and len(core.hub.dirty) == 60 - most
    assert core.dispatcher.pressed, "no more is taken until there is room"
    held.release()
    rig.node.pass_time(1000)
    codes = [part.error_code for topic in answer[0].responses for part in topic.partition_responses]
    assert codes == [0] * 60
    assert all(rig.partition(index=index).high_watermark == 1 for index in range(60))
    assert not core.hub.dirty and not core.dispatcher.pressed


def test_what_waits_for_room_is_told_when_its_time_is_over() -> None:
    rig = Rig()
    rig.create(partitions=60)
    held = rig.hold_flushes()
    request = produce_request(*[("orders", index, rig.batch()) for index in range(60)])
    request.timeout_ms = 2000
    answer = rig.later(request, 9)
    rig.node.pass_time(4000)
    codes = [part.error_code for topic in answer[0].responses for part in topic.partition_responses]
    assert codes == [7] * 60
    held.release()
    rig.node.pass_time(1000)
    rig.node.invariants()


def test_the_limit_follows_the_disk() -> None:
    limit = Limit(256 * MB, 1000)
    assert limit.value == LIMIT_FIRST
    limit.synced(60 * MB, 100)
    assert limit.value == 2 * LIMIT_FIRST, "a fast disk may have more"
    limit.synced(MB, 10)
    assert limit.value == 2 * LIMIT_FIRST, "if it is asked for more"
    for _ in range(10):
        limit.synced(256 * MB, 100)
    assert limit.value == 256 * MB
    limit.synced(200 * MB, 4000)
    assert limit.value == 50 * MB
    limit.synced(50 * MB, 50_000)
    assert limit.value == LIMIT_LEAST
    limit.synced(0, -1)
    assert limit.value == LIMIT_LEAST, "a round that failed says nothing"


def two_disks() -> tuple[Rig, HeldFlushes, int, int]:
    """A node whose second disk hangs: its partition, and one on the first."""
    rig = Rig(directories=("logs", "more"), tapelog_unflushed_max_bytes=str(MB))
    rig.create(partitions=2)
    there = rig.node.others["more"]
    hung = next(index for index in range(2) if rig.partition(index=index).log.disk is there)
    return rig, HeldFlushes(rig, there), hung, 1 - hung


def test_a_disk_of_several_that_hangs_holds_back_nobody_else() -> None:
    rig, held, hung, well = two_disks()
    for _ in range(100):
        rig.later(produce_request(("orders", hung, rig.batch(bytes(50_000)))), 9, rig.connect())
    assert core_of(rig).dispatcher.pressed
    taken = rig.partition(index=hung).log.end_offset
    rig.node.pass_time(10_000)
    assert not core_of(rig).dispatcher.pressed
    assert all(rig.produce(rig.batch(bytes(50_000)), index=well).error_code == 0 for _ in range(50))
    assert rig.produce(index=hung).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert rig.partition(index=hung).log.end_offset <= taken + 100, "nothing more is taken for it"
    held.release()
    rig.node.pass_time(10_000)
    assert rig.produce(index=hung).error_code == 0
    assert core_of(rig).hub.unflushed_bytes == 0


def test_checkpoints_of_other_directories_go_on_while_a_disk_hangs() -> None:
    rig, held, hung, well = two_disks()
    there = rig.node.others["more"]
    plain, waiting = there.start_job, []
    there.start_job = lambda job, done: waiting.append((job, done))  # type: ignore[method-assign,misc,assignment]
    rig.produce(index=well)
    rig.later(produce_request(("orders", hung, rig.batch())), 9, rig.connect())
    rig.node.pass_time(10_000)
    rig.produce(index=well)
    rig.node.pass_time(60_000)
    assert rig.partition(index=well).log.checkpointed_end == 2
    there.start_job = plain  # type: ignore[method-assign]
    for job, done in waiting:
        plain(job, done)
    held.release()
    rig.node.pass_time(60_000)
    rig.node.invariants()
