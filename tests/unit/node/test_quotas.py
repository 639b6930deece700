"""Storage quotas: batches beyond a bound are refused, or the oldest segments go; what frees room lets them go on."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tapelog.base.ports import DiskError
from tapelog.base.storage_bounds import Bound, longest_prefix, parse_prefix_bounds
from tapelog.log.segment import Segment
from tapelog.node.core import NodeCore
from tapelog.node.quota_sizes import ASK_MS, QuotaSizes
from tapelog.node.quotas import SILENT_MS
from tapelog.replication.quota import Quota
from tapelog.sim.clock import SimClock
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tapelog.wire.messages.describe_log_dirs_response import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.support.rig import Rig

MB = 1 << 20
COUNTED_MS = 1500


def core_of(rig: Rig) -> NodeCore:
    assert rig.node.core is not None
    return rig.node.core


def write(rig: Rig, topic: str = "orders", index: int = 0, size: int = 100_000) -> int:
    return rig.produce(rig.batch(bytes(size)), topic=topic, index=index).error_code


def fill(rig: Rig, topic: str = "orders", most: int = 100) -> int:
    """Write until that is refused; how many batches were taken."""
    for number in range(most):
        if code := write(rig, topic):
            assert code == ErrorCode.POLICY_VIOLATION
            return number
    return most


def size_of(rig: Rig, topic: str = "orders") -> int:
    held = core_of(rig).topics[topic].partitions
    return sum(partition.log.size_bytes for partition in held if partition is not None)


def alter(rig: Rig, name: str, value: str, topic: str | None = None) -> int:
    change = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(
        resource_type=4 if topic is None else 2, resource_name=topic or "", configs=[change]
    )
    code: int = rig.client.call(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0].error_code
    return code


def delete_records(rig: Rig, topic: str, offset: int) -> None:
    part = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[part])], timeout_ms=1000)
    assert rig.client.call(request, 2).topics[0].partitions[0].error_code == 0


def test_a_topic_takes_no_more_than_its_bound_to_the_batch() -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes=str(MB))
    assert fill(rig) == 10
    assert MB - 101_000 < size_of(rig) <= MB
    assert write(rig, size=100) == 0, "what still fits is taken"
    answer = rig.produce(rig.batch(bytes(100_000)))
    assert answer.error_message is not None and "tapelog.max.bytes" in answer.error_message
    assert "raise the bound" in answer.error_message


def test_all_partitions_of_a_topic_count_and_other_topics_do_not() -> None:
    rig = Rig()
    rig.create(partitions=3, tapelog_max_bytes=str(MB))
    rig.create("others")
    for number in range(9):
        assert write(rig, index=number % 3) == 0
    assert fill(rig) == 1
    assert all(write(rig, "others") == 0 for _ in range(20))


def test_a_new_topic_is_bound_from_its_first_batch_on() -> None:
    rig = Rig(tapelog_max_bytes="300000")
    rig.create()
    assert fill(rig) == 2


def test_producers_go_on_when_the_bound_is_raised_or_taken_away() -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes=str(MB))
    fill(rig)
    assert alter(rig, "tapelog.max.bytes", str(2 * MB), "orders") == 0
    assert fill(rig) == 10
    assert alter(rig, "tapelog.max.bytes", "-1", "orders") == 0
    assert fill(rig, most=30) == 30


def test_producers_go_on_when_records_were_deleted() -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes=str(MB))
    fill(rig)
    end = rig.partition().log.end_offset
    delete_records(rig, "orders", end)
    rig.node.pass_time(2 * COUNTED_MS)
    assert size_of(rig) == 0
    assert fill(rig) == 10
    assert rig.partition().log.start_offset == end


def test_producers_go_on_when_retention_has_freed_room() -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes=str(2 * MB), segment_bytes=str(MB), retention_ms="60000")
    taken = fill(rig)
    assert taken >= 19
    rig.node.pass_time(70_000)
    assert fill(rig) >= 19, "near the bound retention does not wait for its turn"


def test_what_is_there_already_counts_after_a_restart() -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes=str(MB))
    fill(rig)
    rig.reboot(rig.node.stop)
    rig.node.pass_time(COUNTED_MS)
    assert fill(rig) == 0


def test_a_prefix_bounds_all_its_topics_together_and_the_longest_one_counts() -> None:
    rig = Rig()
    for name in ("logs.a", "logs.b", "logs.big.c", "else"):
        rig.create(name)
    assert alter(rig, "tapelog.max.bytes.prefixes", f"logs.={MB},logs.big.=2MiB") == 0
    assert all(write(rig, "logs.a") == 0 for _ in range(6))
    assert fill(rig, "logs.b") == 4
    assert fill(rig, "logs.a") == 0
    assert fill(rig, "logs.big.c") == 20
    assert fill(rig, "else", most=30) == 30
    rig.create("logs.new")
    assert fill(rig, "logs.new") == 0
    assert alter(rig, "tapelog.max.bytes.prefixes", "") == 0
    assert write(rig, "logs.a") == 0


def test_a_list_of_prefixes_that_makes_no_sense_is_refused() -> None:
    rig = Rig()
    for value in ("logs.", "logs.=", "logs.=5XB", "a=1,a=2", "a=1:later", "a=-1"):
        assert alter(rig, "tapelog.max.bytes.prefixes", value) == ErrorCode.INVALID_REQUEST, value
    with pytest.raises(ValueError, match=r"logs\.=10GiB:drop-oldest"):
        parse_prefix_bounds("logs.")
    found = parse_prefix_bounds(" a=5 , b.=2KiB:drop-oldest,=1TiB")
    assert found == {"a": Bound(5, "reject"), "b.": Bound(2048, "drop-oldest"), "": Bound(1 << 40, "reject")}
    assert [longest_prefix(found, name) for name in ("abc", "b.x", "c")] == ["a", "b.", ""]
    assert parse_prefix_bounds("") == {} and longest_prefix({}, "x") is None


def test_the_oldest_records_of_all_partitions_go_and_the_newest_stay() -> None:
    rig = Rig()
    rig.create(partitions=2, tapelog_max_bytes=str(8 * MB), tapelog_max_bytes_policy="drop-oldest")
    for number in range(300):
        assert write(rig, index=number // 100 % 2) == 0
        if number % 5 == 4:
            rig.node.pass_time(COUNTED_MS)
    assert size_of(rig) <= 8 * MB + MB
    assert size_of(rig) >= 5 * MB, "no more than needed"
    first, second = rig.partition(index=0).log, rig.partition(index=1).log
    assert (first.end_offset, second.end_offset) == (200, 100)
    assert first.start_offset >= 100 and second.start_offset == 100 - (second.end_offset - second.start_offset)
    assert first.end_offset - first.start_offset >= 40, "partition 0 was written last"
    rig.node.invariants()


@pytest.mark.parametrize("bound", ["topic", "prefix"])
def test_of_more_than_the_bound_between_two_looks_the_newest_records_stay(bound: str) -> None:
    rig = Rig(tapelog_max_bytes_prefixes=f"ord={16 * MB}:drop-oldest" if bound == "prefix" else "")
    own = {"tapelog_max_bytes": str(16 * MB), "tapelog_max_bytes_policy": "drop-oldest"}
    rig.create(**(own if bound == "topic" else {}))
    for _ in range(400):  # 40 MB, and the clock stands still
        assert write(rig) == 0
    rig.node.pass_time(COUNTED_MS)
    assert 13 * MB <= size_of(rig) <= 16 * MB
    rig.node.invariants()


def test_segments_are_as_large_as_ever_once_there_is_no_bound() -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes=str(8 * MB), tapelog_max_bytes_policy="drop-oldest")
    assert alter(rig, "tapelog.max.bytes", "-1", "orders") == 0
    for _ in range(50):
        assert write(rig) == 0
    assert len(rig.partition().log.segments.items) == 1


def test_compacted_topics_refuse_instead_of_losing_keys() -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes=str(MB), tapelog_max_bytes_policy="drop-oldest", cleanup_policy="compact")
    assert fill(rig) == 10
    rig.node.pass_time(COUNTED_MS)
    assert size_of(rig) > MB - 110_000


def test_coordinators_write_on_beyond_any_bound() -> None:
    rig = Rig(tapelog_max_bytes="0")
    rig.create()
    assert fill(rig) == 0
    appended = rig.partition().append_marker(7, 0, True, 0, 0)
    assert appended.base_offset == 0


def test_an_idempotent_producer_that_was_refused_can_send_the_same_batch_again() -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes="150000")
    assert rig.produce(rig.batch(bytes(100_000), producer=(5, 0, 0))).error_code == 0
    again = rig.batch(bytes(100_000), producer=(5, 0, 1))
    assert rig.produce(again).error_code == ErrorCode.POLICY_VIOLATION
    alter(rig, "tapelog.max.bytes", "-1", "orders")
    answer = rig.produce(again)
    assert (answer.error_code, answer.base_offset) == (0, 1)


def test_topics_without_bounds_pay_nothing() -> None:
    rig = Rig()
    rig.create()
    write(rig)
    assert rig.partition().quotas == () and not rig.partition()._hindered
    assert not core_of(rig).quotas.quotas


class Neighbours:
    """As much of a node as asking others needs: two topics, half of whose partitions broker 2 leads."""

    def __init__(self) -> None:
        self.node_id, self.alone = 1, False
        self.clock = SimClock()
        parts = (SimpleNamespace(leader=1), SimpleNamespace(leader=2), SimpleNamespace(leader=-1))
        self.image = SimpleNamespace(topics={name: SimpleNamespace(partitions=parts) for name in ("a", "b")})
        self.asked: list[tuple[int, Any]] = []
        self.answer: Callable[[Any], None] = print

    def to_broker(self, broker: int, lane: str, request: Any, version: int, ms: int, done: Any) -> None:
        self.asked.append((broker, {topic.topic: topic.partitions for topic in request.topics}))
        self.answer = done


def answer_of(**sizes: int) -> DescribeLogDirsResponse:
    topics = [
        DescribeLogDirsTopic(
            name=name, partitions=[DescribeLogDirsPartition(partition_index=1, partition_size=size, offset_lag=0)]
        )
        for name, size in sizes.items()
    ]
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(log_dir="d", topics=topics)])


def test_what_leaders_elsewhere_hold_is_asked_for_now_and_then_and_remembered() -> None:
    node = Neighbours()
    sizes = QuotaSizes(node)  # type: ignore[arg-type]
    sizes.ask(["a", "b", "a"])
    assert node.asked == [(2, {"a": [1], "b": [1]})]
    assert sizes.elsewhere(["a", "b"]) == 0
    node.answer(answer_of(a=100, b=20, c=3))
    assert (sizes.elsewhere(["a", "b"]), sizes.elsewhere(["b"])) == (120, 20)
    sizes.ask(["a"])
    assert len(node.asked) == 1, "not again so soon"
    node.clock.advance(ASK_MS)
    sizes.ask(["a", "b"])
    node.answer(None)
    assert sizes.elsewhere(["a"]) == 100, "nobody answered: what was said last"


def test_others_are_asked_more_often_while_a_bound_is_being_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes=str(60 * MB))
    core = core_of(rig)
    asked: list[int] = []
    monkeypatch.setattr(core.quotas.sizes, "node", node := Neighbours())

    def to_broker(*_: object) -> None:
        asked.append(core.clock.monotonic_ms())

    monkeypatch.setattr(node, "clock", core.clock)
    monkeypatch.setattr(node, "to_broker", to_broker)
    node.image.topics["orders"] = node.image.topics["a"]
    monkeypatch.setattr(NodeCore, "alone", False)

    def often(batches: int) -> float:
        """How often they are asked in a second while so many batches come in a tenth of each."""
        began = len(asked)
        for _ in range(100):
            for _ in range(batches):
                write(rig, size=90_000)
            rig.node.pass_time(100)
        return (len(asked) - began) / 10

    assert often(0) <= 0.3
    assert often(1) <= 0.3, "room for a minute"
    assert often(4) >= 1.5, "in a few seconds it could be full"
    assert fill(rig, most=300) < 300
    rig.node.pass_time(2000)
    assert often(2) <= 0.3, "it is full: nothing is taken"


@pytest.mark.parametrize("silent", [False, True])
def test_what_is_elsewhere_counts_and_each_node_drops_only_its_share(silent: bool) -> None:
    quota = Quota("x", "s", 1000, rejects=True)
    quota.counted(500)
    quota.elsewhere = 400
    quota.check(100)
    with pytest.raises(KafkaError):
        quota.check(101)
    rig = Rig()
    rig.create(tapelog_max_bytes=str(4 * MB), tapelog_max_bytes_policy="drop-oldest", segment_bytes=str(MB))
    core = core_of(rig)
    core.quotas.sizes.elsewhere = lambda topics: 8 * MB  # type: ignore[method-assign]
    for _ in range(80):
        write(rig)
    rig.node.pass_time(COUNTED_MS)
    left = size_of(rig)
    assert 1.5 * MB < left < 4 * MB, "8 MiB of 16 are here, and 12 are too much: half of them go here"
    rig.node.pass_time(10 * COUNTED_MS)
    assert size_of(rig) == left, "what the others said is older than that: they have dropped their half, too"
    if silent:
        rig.node.pass_time(SILENT_MS)
    else:
        core.quotas.sizes.told_ms = core.clock.monotonic_ms()
        rig.node.pass_time(COUNTED_MS)
    assert size_of(rig) < left, "they say it again, or nothing at all"


def test_what_others_hold_is_known_once_all_of_them_have_answered() -> None:
    node = Neighbours()
    sizes = QuotaSizes(node)  # type: ignore[arg-type]
    before = sizes.told_ms
    sizes.ask(["a"])
    assert sizes.told_ms == before, "asked is not answered"
    node.answer(None)
    assert sizes.told_ms == before
    node.clock.advance(ASK_MS)
    asked_ms = node.clock.monotonic_ms()
    sizes.ask(["a"])
    node.clock.advance(700)
    node.answer(answer_of(a=100))
    assert sizes.told_ms == asked_ms, "as it was then"


def test_a_topic_on_hold_refuses_instead_of_losing_records() -> None:
    rig = Rig()
    configs = {"tapelog_max_bytes": str(MB), "tapelog_max_bytes_policy": "drop-oldest", "tapelog_tier_hold": "true"}
    rig.create(segment_bytes=str(MB), **configs)
    rig.create("logs.held", segment_bytes=str(MB), tapelog_tier_hold="true")
    assert alter(rig, "tapelog.max.bytes.prefixes", f"logs.={2 * MB}:drop-oldest") == 0
    assert fill(rig) == 10
    assert fill(rig, "logs.held") == 20
    rig.node.pass_time(5 * COUNTED_MS)
    assert rig.partition().log.start_offset == rig.partition("logs.held").log.start_offset == 0


def test_a_segment_whose_age_cannot_be_read_stays_and_the_node_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    rig.create(tapelog_max_bytes=str(4 * MB), tapelog_max_bytes_policy="drop-oldest", segment_bytes=str(MB))
    for _ in range(60):
        write(rig)
    suspects: list[DiskError] = []
    monkeypatch.setattr(core_of(rig).storage, "suspect", lambda error, disk: suspects.append(error))

    def unreadable(self: Segment) -> int:
        raise DiskError("bad sector")

    monkeypatch.setattr(Segment, "newest_timestamp", unreadable)
    monkeypatch.setattr(core_of(rig).housekeeping, "retain", lambda key: None)
    rig.node.pass_time(COUNTED_MS)
    assert suspects and rig.partition().log.start_offset == 0


def test_what_is_appended_while_it_is_counted_counts_too() -> None:
    quota = Quota("x", "s", 1000, rejects=True)
    quota.took(50)
    quota.begin_count()
    quota.took(10)
    quota.counted(100)
    assert quota.used == 110
