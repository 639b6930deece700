"""The metadata log: nothing is told before it is durable, and a restart finds what was."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.base.ports import DiskFullError
from tapelog.metadata import records, snapshot
from tapelog.metadata.delta import MetadataReplayError
from tapelog.metadata.image import MetadataImage
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.quorum import SNAPSHOT_BYTES_MIN
from tapelog.metadata.record_types import BeginTransactionRecord, EndTransactionRecord, PartitionRecord, TopicRecord
from tapelog.wire.errors import ErrorCode, KafkaError
from tapelog.wire.messages.create_topics_request import CreateTopicsRequest
from tests.unit.metadata.harness import Cluster, MemoryLog, MemorySnapshots
from tests.unit.metadata.test_topics import create, delete, topic


class Caller:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.errors: list[Exception] = []


def propose_topic(cluster: Cluster, name: str) -> Caller:
    caller = Caller()
    request = CreateTopicsRequest(topics=[topic(name)])
    cluster.log.propose(
        lambda image: cluster.controller.create_topics(image, request), caller.answers.append, caller.errors.append
    )
    return caller


def test_an_answer_waits_until_its_records_are_durable() -> None:
    cluster = Cluster()
    caller = propose_topic(cluster, "a")
    assert caller.answers == []
    assert "a" not in cluster.log.image.topics
    assert "a" in cluster.log.latest.topics
    cluster.commit()
    assert caller.answers[0].topics[0].error_code == 0
    assert "a" in cluster.log.image.topics


def test_the_image_is_published_before_the_answer_leaves() -> None:
    cluster = Cluster()
    seen: list[bool] = []
    request = CreateTopicsRequest(topics=[topic("a")])
    cluster.log.propose(
        lambda image: cluster.controller.create_topics(image, request),
        lambda _: seen.append("a" in cluster.published[-1][0].topics),
        lambda error: None,
    )
    cluster.commit()
    assert seen == [True]
    assert [t.name for t in cluster.published[-1][1].changed_topics] == ["a"]


def test_later_proposals_build_on_earlier_ones_that_are_not_durable_yet() -> None:
    cluster = Cluster()
    first, second = propose_topic(cluster, "a"), propose_topic(cluster, "a")
    assert second.answers == []  # the refusal comes from uncommitted state: it waits too
    cluster.commit()
    assert first.answers[0].topics[0].error_code == 0
    assert second.answers[0].topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_answers_leave_in_order_and_only_as_far_as_the_commit_reaches() -> None:
    cluster = Cluster()
    callers = [propose_topic(cluster, name) for name in "abc"]
    ends = [parked.end_offset for parked in cluster.log._parked]
    cluster.log.on_commit(ends[1])
    assert [len(caller.answers) for caller in callers] == [1, 1, 0]
    assert sorted(cluster.log.image.topics) == ["a", "b"]
    cluster.commit()
    assert [len(caller.answers) for caller in callers] == [1, 1, 1]


def test_a_read_only_proposal_on_committed_state_is_answered_at_once() -> None:
    cluster = Cluster()
    answers: list[int] = []
    cluster.log.propose(lambda image: Outcome([], len(image.brokers)), answers.append, pytest.fail)
    assert answers == [1]


def test_a_refusal_reaches_the_caller() -> None:
    cluster = Cluster()
    caller = Caller()
    cluster.log.propose(
        lambda image: cluster.controller.unregister_broker(image, 9), caller.answers.append, caller.errors.append
    )
    assert [error.code for error in caller.errors if isinstance(error, KafkaError)] == [
        ErrorCode.BROKER_ID_NOT_REGISTERED
    ]


def test_what_cannot_be_appended_fails_and_changes_nothing() -> None:
    cluster = Cluster()
    before = cluster.log.latest
    cluster.port.fail = DiskFullError("full")
    caller = propose_topic(cluster, "a")
    assert isinstance(caller.errors[0], DiskFullError)
    assert cluster.log.latest is before
    cluster.port.fail = None
    assert create(cluster, topic("a"))[0].error_code == 0


def test_what_the_log_takes_back_is_forgotten_and_its_callers_are_told() -> None:
    cluster = Cluster()
    kept = propose_topic(cluster, "a")
    end = cluster.port.end_offset
    lost, refused = propose_topic(cluster, "b"), propose_topic(cluster, "b")
    cluster.port.cut(end)
    cluster.log.revert(DiskFullError("full"))
    assert isinstance(lost.errors[0], DiskFullError)
    assert isinstance(refused.errors[0], DiskFullError)
    assert sorted(cluster.log.latest.topics) == ["a"]
    assert kept.errors == []
    cluster.commit()
    assert len(kept.answers) == 1
    assert create(cluster, topic("b"))[0].error_code == 0


def test_a_restart_finds_everything_and_leads_a_new_epoch() -> None:
    cluster = Cluster()
    create(cluster, topic("a", 3, retention_ms="5"))
    create(cluster, topic("b"))
    delete(cluster, ("b", bytes(16)))
    again = cluster.reopened()
    assert again.image == cluster.image
    again.lead(again.last_epoch + 1)
    again.commit()
    assert again.image.epoch == cluster.image.epoch + 1
    assert again.image.controller_id == 1
    assert again.image.same_state(cluster.image)


def test_snapshot_and_tail_give_the_same_image_as_the_whole_log() -> None:
    cluster = Cluster()
    create(cluster, topic("a", 3, retention_ms="5"))
    assert cluster.log.snapshot()
    first = cluster.log.image.offset
    create(cluster, topic("b"))
    assert cluster.log.snapshot()
    assert cluster.port.start_offset == first, "the newest two snapshots and the log from the older one on"
    create(cluster, topic("c"))
    again = cluster.reopened()
    assert again.image.same_state(cluster.image)
    assert (again.image.offset, again.image.epoch) == (cluster.image.offset, cluster.image.epoch)


@pytest.mark.parametrize("snapshots", [1, 2, 3])
def test_a_damaged_newest_snapshot_is_made_up_for_by_the_one_before_and_the_log(snapshots: int) -> None:
    cluster = Cluster()
    for name in "abc"[:snapshots]:
        create(cluster, topic(name))
        assert cluster.log.snapshot()
    create(cluster, topic("d"))
    newest = max(cluster.snapshots.files)
    data = cluster.snapshots.files[newest]
    for damage in (data[:-1], data[:200], b"", data[:-10] + b"\0" * 10):
        cluster.snapshots.files[newest] = damage
        assert cluster.reopened().image.same_state(cluster.image)
        assert newest not in cluster.snapshots.files, "nobody reads it again"


def test_a_log_that_begins_after_the_last_whole_snapshot_is_refused_and_nothing_is_touched() -> None:
    cluster = Cluster()
    for name in "ab":
        create(cluster, topic(name))
        cluster.log.snapshot()
    files = cluster.snapshots.files
    for id in files:
        files[id] = b""
    with pytest.raises(MetadataReplayError, match=r"no whole snapshot reaches there; damaged: 0.*\.checkpoint, 0"):
        cluster.reopened()
    assert len(files) == 2
    files.clear()
    with pytest.raises(MetadataReplayError):
        cluster.reopened()


def test_old_snapshots_are_removed_but_the_last_two_are_kept() -> None:
    cluster = Cluster()
    for name in "abcde":
        create(cluster, topic(name))
        assert cluster.log.snapshot()
    assert len(cluster.snapshots.files) == 2


def test_a_snapshot_is_taken_when_the_log_has_grown_and_then_the_log_is_short() -> None:
    cluster = Cluster()
    assert not cluster.log.maybe_snapshot()
    for round in range(SNAPSHOT_BYTES_MIN // 60_000 + 1):
        create(cluster, topic(f"t{round}", 1000))
    grown = cluster.port.end_offset
    assert cluster.log.maybe_snapshot()
    assert not cluster.log.maybe_snapshot()
    for name in "xyz":
        create(cluster, topic(name, 9_000))
    assert cluster.log.maybe_snapshot()
    assert cluster.port.start_offset == grown
    assert cluster.reopened().image.same_state(cluster.image)


def test_without_news_there_is_no_second_snapshot() -> None:
    cluster = Cluster()
    assert cluster.log.snapshot()
    assert not cluster.log.snapshot()


def test_a_failed_snapshot_changes_nothing_and_can_be_tried_again() -> None:
    class Failing(MemorySnapshots):
        broken = True

        def write(self, id: Any, data: bytes, done: Any) -> None:
            if self.broken:
                done(OSError("no"))
            else:
                super().write(id, data, done)

    store = Failing()
    cluster = Cluster(snapshots=store)
    create(cluster, topic("a"))
    assert cluster.log.snapshot()
    assert store.files == {}
    store.broken = False
    assert cluster.log.snapshot()
    assert len(store.files) == 1


def test_a_transaction_left_open_counts_for_nothing_and_is_aborted_by_the_next_leader() -> None:
    cluster = Cluster()
    half = [BeginTransactionRecord(name="half"), TopicRecord(name="ghost", topic_id=b"g" * 16)]
    cluster.port.append(records.data_batch(half, 1, 1), 1)
    again = cluster.reopened()
    assert "ghost" not in again.image.topics
    again.lead(again.last_epoch + 1)
    again.commit()
    create(again, topic("real"))
    assert sorted(again.reopened().image.topics) == ["real"]


def test_a_log_with_records_of_an_unknown_kind_is_refused_rather_than_half_read() -> None:
    from tapelog.wire import record_batch

    cluster = Cluster()
    value = bytes([1, 18, 0]) + bytes(40)  # an access control entry
    cluster.port.append(record_batch.build_batch([record_batch.Record(0, 1, None, value)]), 1)
    with pytest.raises(records.UnsupportedMetadataError, match="access control"):
        cluster.reopened()


def test_an_empty_log_is_a_new_cluster() -> None:
    cluster = Cluster(port=MemoryLog(), lead=False)
    assert cluster.last_epoch == 0
    assert cluster.image.same_state(MetadataImage(cluster_id=cluster.image.cluster_id))


def test_snapshot_names_are_kafkas() -> None:
    assert snapshot.file_name((180, 7)) == "00000000000000000180-0000000007.checkpoint"
    assert snapshot.parse_name("00000000000000000180-0000000007.checkpoint") == (180, 7)
    for other in ("bootstrap.checkpoint", "00000000000000000180.log", "1-2.checkpoint", "x.checkpoint"):
        assert snapshot.parse_name(other) is None


def test_what_cannot_be_replayed_does_not_get_into_the_log() -> None:
    cluster = Cluster()
    end = cluster.port.end_offset
    stray = PartitionRecord(partition_id=0, topic_id=b"?" * 16, replicas=[1], isr=[1], leader=1)
    with pytest.raises(MetadataReplayError):
        cluster.run(lambda image: Outcome([stray], None))
    assert cluster.port.end_offset == end
    create(cluster, topic("a"))
    assert sorted(cluster.reopened().image.topics) == ["a"]


def test_a_snapshot_that_the_leaders_overtook_changes_nothing() -> None:
    class Slow(MemorySnapshots):
        def __init__(self) -> None:
            super().__init__()
            self.pending: list[Any] = []

        def write(self, id: Any, data: bytes, done: Any) -> None:
            self.files[id] = data
            self.pending.append(done)

    store = Slow()
    cluster = Cluster(snapshots=store)
    create(cluster, topic("a"))
    image = cluster.image
    cluster.log.resigned()
    assert cluster.log.snapshot()
    newer = (image.offset + 10, image.epoch + 1)
    store.files[newer] = snapshot.encode_image(image)
    cluster.log.install_snapshot(newer)
    store.pending[0](None)
    assert cluster.log._snapshot == newer and cluster.log._bytes_since_snapshot == 0
    assert cluster.log.image.offset == newer[0]


def test_no_snapshot_is_taken_while_a_transaction_is_open() -> None:
    cluster = Cluster()
    half = [BeginTransactionRecord(name="half"), TopicRecord(name="held", topic_id=b"h" * 16)]
    cluster.port.append(records.data_batch(half, 1, 1), 1)
    again = cluster.reopened()
    again.checked = False
    assert not again.log.snapshot(), "it would lack what is held back"
    again.port.append(records.data_batch([EndTransactionRecord()], 1, 1), 1)
    again.commit()
    assert "held" in again.image.topics and again.log.snapshot()
