"""How the log gets from the leader to the others, and when it counts."""

from __future__ import annotations

from typing import Any

import pytest

from tapelog.base.ports import DiskFullError
from tapelog.raft import control, requests
from tapelog.raft.download import SNAPSHOT_BYTES_MAX
from tapelog.raft.values import OffsetEpoch
from tapelog.wire import record_batch
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from tapelog.wire.messages.fetch_response import FetchResponse
from tapelog.wire.messages.fetch_snapshot_response import FetchSnapshotResponse, PartitionSnapshot, TopicSnapshot
from tapelog.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from tests.simulation.raft_world import CLUSTER, CONFIG, Node, World
from tests.unit.raft.quorums import cut, followers, raft_of, settled, started


def test_what_a_majority_has_on_disk_is_committed_and_everybody_hears_of_it() -> None:
    world = started()
    leader = world.leader()
    assert leader is not None
    end = world.propose(leader)
    assert raft_of(leader).high_watermark < end
    assert world.run(500, lambda: all(node.applied == end for node in world.nodes))


def test_followers_hear_of_a_commit_long_before_their_fetch_would_time_out() -> None:
    world = started()
    leader = world.leader()
    assert leader is not None
    end = world.propose(leader)
    before_ms = world.clock.monotonic_ms()
    assert world.run(500, lambda: all(node.applied == end for node in world.nodes))
    assert world.clock.monotonic_ms() - before_ms < CONFIG.fetch_max_wait_ms


def test_without_a_majority_nothing_is_committed() -> None:
    world = started()
    leader = world.leader()
    assert leader is not None
    for node in followers(world):
        node.crash()
    end = world.propose(leader)
    world.run(CONFIG.check_quorum_ms // 2)
    assert raft_of(leader).high_watermark < end
    world.run(CONFIG.check_quorum_ms)
    assert not raft_of(leader).is_leader


def test_a_follower_whose_disk_is_slow_is_not_counted_before_it_is_done() -> None:
    world = started()
    leader = world.leader()
    assert leader is not None
    slow, gone = followers(world)
    gone.crash()
    slow.slow = True
    end = world.propose(leader)
    assert world.run(2000, lambda: raft_of(leader).high_watermark >= end)
    assert slow.log.durable_end >= end


def test_what_an_old_leader_wrote_alone_is_cut_off_when_it_comes_back() -> None:
    world = started()
    old = world.leader()
    assert old is not None
    cut(world, old)
    lost = [world.propose(old) for _ in range(3)]
    world.run(CONFIG.fetch_timeout_ms * 3)
    new = world.leader()
    assert new is not None and new is not old
    kept = world.propose(new)
    world.cuts.clear()
    settled(world)
    assert old.log.entries == new.log.entries
    assert kept <= lost[-1] + 2 and world.proposed == 4


def behind_a_snapshot() -> tuple[World, Node, Node]:
    """A world, its leader, and a node, not booted, whose log ends before the leader's begins."""
    world = started()
    leader = world.leader()
    assert leader is not None
    late = followers(world)[0]
    late.crash()
    for _ in range(20):
        world.propose(leader)
        world.run(20)
    leader.snapshot()
    world.run(100)
    assert leader.log.start_offset > late.log.end_offset
    return world, leader, late


def test_a_replica_far_behind_begins_with_a_snapshot() -> None:
    world, leader, late = behind_a_snapshot()
    for node in world.nodes:
        node.snapshot()
    world.run(100)
    late.boot()
    settled(world)
    assert late.log.start_offset > 0 and late.state == leader.state
    assert raft_of(late).voters == raft_of(leader).voters, "the snapshot says who votes"


def test_a_crash_between_snapshot_and_log_is_mended_at_the_next_start() -> None:
    world = started()
    leader = world.leader()
    assert leader is not None
    late = followers(world)[0]
    for _ in range(5):
        world.propose(leader)
        world.run(20)
    late.crash()
    leader.snapshot()
    world.run(100)
    (id, data), *_ = leader.disk.snapshots.items()
    late.disk.entries = late.disk.entries[:1]
    late.disk.snapshots[id] = data
    late.boot()
    assert (late.log.start_offset, late.log.last_epoch) == id
    settled(world)


def test_a_fetch_is_answered_by_the_leader_only_and_of_its_epoch_only() -> None:
    world = started()
    leader, follower = world.leader(), followers(world)[0]
    assert leader is not None
    epoch = raft_of(leader).epoch

    def code(asked: object, at_epoch: int) -> int:
        got: list[FetchResponse] = []
        request = requests.fetch(CLUSTER, follower.key, at_epoch, OffsetEpoch(0, 0), 0, 0, 0, 1000)
        raft_of(asked).fetch(request, got.append)  # type: ignore[arg-type]
        return got[0].responses[0].partitions[0].error_code

    assert code(follower, epoch) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert code(leader, epoch - 1) == ErrorCode.FENCED_LEADER_EPOCH
    assert code(leader, epoch + 1) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert code(leader, epoch) == 0


def test_a_newer_fetch_of_a_replica_releases_the_one_before() -> None:
    world = started()
    leader, follower = world.leader(), followers(world)[0]
    assert leader is not None
    follower.crash()
    world.run(CONFIG.fetch_max_wait_ms)
    got: list[FetchResponse] = []
    end = raft_of(leader).quorum.end()
    request = requests.fetch(CLUSTER, follower.key, raft_of(leader).epoch, end, 0, 1 << 40, 150, 1000)
    for expected in (0, 1, 2):
        raft_of(leader).fetch(request, got.append)
        assert len(got) == expected


def test_who_waits_at_a_leader_hears_when_it_leads_no_more() -> None:
    world = started()
    leader, follower = world.leader(), followers(world)[0]
    assert leader is not None
    follower.crash()
    world.run(CONFIG.fetch_max_wait_ms)
    got: list[FetchResponse] = []
    epoch, end = raft_of(leader).epoch, raft_of(leader).quorum.end()
    raft_of(leader).fetch(requests.fetch(CLUSTER, follower.key, epoch, end, 0, 1 << 40, 150, 1000), got.append)
    assert got == []
    raft_of(leader).quorum.become_unattached(epoch + 1)
    assert got != [], "at once, not when its time is over"


def test_observers_follow_without_being_counted() -> None:
    world = started(nodes=1, spares=2)
    leader = world.leader()
    assert leader is world.nodes[0]
    end = world.propose(leader)
    assert world.run(1000, lambda: all(node.applied == end for node in world.nodes))
    for node in world.nodes[1:]:
        node.crash()
    end = world.propose(leader)
    assert world.run(100, lambda: leader.applied == end)


def test_describe_tells_voters_observers_and_how_far_they_are() -> None:
    world = started(nodes=2, spares=1)
    leader = world.leader()
    assert leader is not None
    world.propose(leader)
    world.run(300)
    topics = [TopicData(topic_name=name, partitions=[PartitionData()]) for name in ("__cluster_metadata", "other")]
    response = raft_of(leader).describe_quorum(DescribeQuorumRequest(topics=topics))
    ours, other = (topic.partitions[0] for topic in response.topics)
    assert (ours.leader_id, ours.leader_epoch) == (leader.id, raft_of(leader).epoch)
    assert ours.high_watermark == leader.log.end_offset
    end = leader.log.end_offset
    assert [(v.replica_id, v.log_end_offset) for v in ours.current_voters] == [(1, end), (2, end)]
    assert [v.replica_id for v in ours.observers] == [3]
    assert ours.observers[0].last_caught_up_timestamp > 0
    assert other.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    follower = raft_of(followers(world)[0]).describe_quorum(DescribeQuorumRequest(topics=topics[:1]))
    assert follower.topics[0].partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_leader_that_cannot_write_lets_another_try() -> None:
    world = started()
    leader = world.leader()
    assert leader is not None
    world.disk_full_percent = 100
    world.propose(leader)
    world.disk_full_percent = 0
    assert not raft_of(leader).is_leader
    settled(world)


def test_the_only_voter_leads_on_when_its_disk_has_room_again() -> None:
    world = World(1, nodes=1)
    world.disk_full_percent = 100
    world.nodes[0].boot()
    world.run(5000)
    world.disk_full_percent = 0
    settled(world)


def test_a_follower_whose_disk_is_full_asks_again_at_leisure() -> None:
    world = started()
    leader, full = world.leader(), followers(world)[0]
    assert leader is not None
    asked: list[int] = []
    send = full.raft.quorum._send if full.raft is not None else None
    assert send is not None

    def counted(*message: Any) -> None:
        asked.append(world.clock.monotonic_ms())
        send(*message)

    raft_of(full).quorum._send = counted
    full.full = True
    end = world.propose(leader)
    world.run(1000)
    assert full.log.end_offset < end and 3 < len(asked) < 30
    full.full = False
    settled(world)


def test_describe_leaves_out_a_removed_voter_that_never_came() -> None:
    world = started(nodes=3, spares=1)
    world.run(500)
    leader = world.leader()
    assert leader is not None
    for node in world.nodes:
        node.crash()
    absent = world.nodes[2]
    for node in world.nodes:
        if node is not absent:
            node.boot()
    leader = settled(world)
    told: list[object] = []
    raft_of(leader).remove_voter(RemoveRaftVoterRequest(CLUSTER, *absent.key), told.append)
    leader.settle()
    assert world.run(1000, lambda: told == [None])
    topics = [TopicData(topic_name="__cluster_metadata", partitions=[PartitionData()])]
    part = raft_of(leader).describe_quorum(DescribeQuorumRequest(topics=topics)).topics[0].partitions[0]
    assert [observer.replica_id for observer in part.observers] == [4]


def test_damaged_batches_are_asked_for_again() -> None:
    world = started()
    follower = followers(world)[0]
    batch = record_batch.build_batch([record_batch.Record(0, 0, None, b"value")])
    assert control.batch_ends(batch + batch[:40]) == (0, 1), "an unfinished one is left out"
    following = raft_of(follower).following
    for data in (b"?", b"?" * 100, batch[:16] + b"\7" + batch[17:], batch[:8] + b"\0\0\0\1" + batch[12:]):
        assert not following._append(data)
    settled(world)


def test_a_snapshot_may_take_longer_to_write_than_a_leader_may_be_silent() -> None:
    world, _, late = behind_a_snapshot()
    late.boot()
    files: Any = raft_of(late).quorum.snapshots
    files.later = lambda finish: late.timers.after(2 * CONFIG.fetch_timeout_ms, finish)
    settled(world)
    assert world.events["snapshot installed"] == 1


def test_a_download_that_the_leader_stops_answering_is_begun_again() -> None:
    world, leader, late = behind_a_snapshot()
    late.boot()
    assert world.run(1000, lambda: raft_of(late).following.download.under_way)
    world.cuts[(leader.id, late.id)] = None
    world.run(CONFIG.fetch_timeout_ms + 50)
    assert not raft_of(late).following.download.under_way, "whether the leader is there, a fetch finds out"
    world.cuts.clear()
    settled(world)
    assert world.events["snapshot installed"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"error_code": int(ErrorCode.SNAPSHOT_NOT_FOUND)},
        {"error_code": int(ErrorCode.POSITION_OUT_OF_RANGE)},
        {"size": SNAPSHOT_BYTES_MAX + 1},
        {"position": 7},
    ],
)
def test_a_snapshot_that_cannot_be_had_is_given_up_and_asked_for_anew(wrong: dict[str, int]) -> None:
    world, _, late = behind_a_snapshot()
    late.boot()
    download = raft_of(late).following.download
    assert world.run(1000, lambda: download.under_way)
    part = PartitionSnapshot(index=0, size=200, unaligned_records=b"x" * 20)
    for name, value in wrong.items():
        setattr(part, name, value)
    topic = TopicSnapshot(name="__cluster_metadata", partitions=[part])
    assert download._id is not None
    download._answered(download._id, FetchSnapshotResponse(topics=[topic]))
    assert not download.under_way
    settled(world)
    assert world.events["snapshot installed"] == 1


@pytest.mark.parametrize("response", [None, FetchSnapshotResponse(error_code=-1), FetchSnapshotResponse()])
def test_a_snapshot_that_nobody_gives_is_given_up(response: FetchSnapshotResponse | None) -> None:
    world, _, late = behind_a_snapshot()
    late.boot()
    download = raft_of(late).following.download
    assert world.run(1000, lambda: download.under_way)
    assert download._id is not None
    download._answered(download._id, response)
    assert not download.under_way
    settled(world)


def test_a_damaged_snapshot_does_not_take_the_place_of_the_log() -> None:
    world, leader, late = behind_a_snapshot()
    ((id, good),) = leader.disk.snapshots.items()
    leader.disk.snapshots[id] = good[:-1] + bytes([good[-1] ^ 1])
    late.boot()
    world.run(1000)
    assert late.log.start_offset == 0 and late.disk.snapshots == {}
    leader.disk.snapshots[id] = good
    raft_of(leader).serving._snapshot = None
    settled(world)


def test_an_observer_that_could_not_note_a_new_epoch_goes_on_when_there_is_room_again() -> None:
    world = started(nodes=3, spares=1)
    leader, observer = world.leader(), world.nodes[3]
    assert leader is not None
    world.run(500)
    store: Any = raft_of(observer).quorum.store
    write = store.write
    complaints: list[Exception] = []

    def full(_: bytes) -> None:
        raise DiskFullError("no space left")

    store.write = full
    raft_of(observer).quorum.trouble = complaints.append
    leader.crash()
    world.run(5000)
    new = world.leader()
    assert new is not None and new is not leader
    assert raft_of(observer).epoch < raft_of(new).epoch and 3 < len(complaints) < 100
    store.write = write
    settled(world)
    assert raft_of(observer).epoch == raft_of(new).epoch
