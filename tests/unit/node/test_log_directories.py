"""Several log directories: where partitions go, and what fails with one of them and what does not."""

from __future__ import annotations

import pytest

from tapelog.base.ids import DIR_UNASSIGNED
from tapelog.base.ports import DiskError
from tapelog.metadata.image import NO_LEADER, PartitionImage, TopicImage
from tapelog.node.core import NodeCore
from tapelog.sim.disk import SimDisk
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsResult
from tapelog.wire.messages.find_coordinator_request import FindCoordinatorRequest
from tests.support.rig import TOPIC, Rig, fetch_request, produce_request, wants

HERE, THERE = "logs", "more"


@pytest.fixture
def rig() -> Rig:
    """A topic with two partitions in each of two directories."""
    rig = Rig(directories=(HERE, THERE))
    rig.create(partitions=4)
    rig.node.pass_time(1000)
    return rig


def core_of(rig: Rig) -> NodeCore:
    assert rig.node.core is not None
    return rig.node.core


def where(rig: Rig) -> list[str]:
    """The directory of each partition."""
    return [rig.partition(index=index).log.directory.partition("/")[0] for index in range(4)]


def one_in(rig: Rig, path: str) -> int:
    return where(rig).index(path)


def image(rig: Rig, index: int) -> PartitionImage:
    found = core_of(rig).image.partition(TOPIC, index)
    assert found is not None
    return found


def described(rig: Rig) -> list[DescribeLogDirsResult]:
    results: list[DescribeLogDirsResult] = rig.client.call(DescribeLogDirsRequest(topics=None), 4).results
    return results


def break_there(rig: Rig) -> SimDisk:
    disk = rig.node.others[THERE]
    disk.broken = True
    return disk


def test_new_partitions_go_to_the_directory_with_the_fewest(rig: Rig) -> None:
    assert sorted(where(rig)) == [HERE, HERE, THERE, THERE]
    rig.create("next", partitions=1)
    counts = [len(directory.logs) for directory in core_of(rig).directory.items]
    assert abs(counts[0] - counts[1]) <= 1


def test_the_image_says_in_which_directory_a_replica_is(rig: Rig) -> None:
    ids = {directory.path: directory.directory_id for directory in core_of(rig).directory.items}
    assert ids[HERE] != ids[THERE]
    assert [image(rig, index).directories for index in range(4)] == [(ids[path],) for path in where(rig)]
    assert core_of(rig).image.brokers[1].log_dirs == (ids[HERE], ids[THERE])


def test_every_directory_is_described_with_what_lies_in_it(rig: Rig) -> None:
    here, there = described(rig)
    assert (here.log_dir, there.log_dir) == (HERE, THERE)
    for found in (here, there):
        (topic,) = [topic for topic in found.topics if topic.name == TOPIC]
        assert [part.partition_index for part in topic.partitions] == [
            index for index in range(4) if where(rig)[index] == found.log_dir
        ]


def test_a_cordoned_directory_gets_nothing_new() -> None:
    rig = Rig(directories=(HERE, THERE), cordoned_log_dirs=THERE)
    rig.create(partitions=4)
    assert where(rig) == [HERE] * 4


@pytest.mark.parametrize("how", ["stop", "kill", "power_cut"])
def test_everything_is_found_again_after_a_restart(rig: Rig, how: str) -> None:
    before = where(rig)
    for index in range(4):
        rig.produce(rig.batch(b"%d" % index), index=index)
    rig.reboot(getattr(rig.node, how))
    assert where(rig) == before
    assert [rig.values(index=index) for index in range(4)] == [[b"%d" % index] for index in range(4)]
    assert core_of(rig).directory.clean == (how == "stop")


def test_a_directory_that_fails_takes_its_partitions_offline_and_nothing_else(rig: Rig) -> None:
    lost, kept = one_in(rig, THERE), one_in(rig, HERE)
    rig.produce(rig.batch(b"a"), index=kept)
    parked = rig.later(fetch_request(wants(lost, 0), max_wait_ms=60_000), 12, rig.connect())
    break_there(rig)
    assert rig.produce(index=lost).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert parked[0].responses[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert rig.node.failure is None
    rig.node.pass_time(10_000)
    assert rig.produce(rig.batch(b"b"), index=kept).error_code == 0
    assert rig.values(index=kept) == [b"a", b"b"]
    assert rig.fetch(index=lost).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert [found.error_code for found in described(rig)] == [0, ErrorCode.KAFKA_STORAGE_ERROR]
    rig.node.invariants()


def test_the_metadata_says_that_nobody_leads_what_was_there(rig: Rig) -> None:
    lost, kept = one_in(rig, THERE), one_in(rig, HERE)
    break_there(rig)
    rig.produce(index=lost)
    rig.node.pass_time(100)
    assert (image(rig, lost).leader, image(rig, kept).leader) == (NO_LEADER, 1)
    assert len(core_of(rig).image.brokers[1].log_dirs) == 1


def test_a_failed_sync_takes_one_directory_offline_and_is_not_tried_again(rig: Rig) -> None:
    lost, kept = one_in(rig, THERE), one_in(rig, HERE)
    disk = rig.node.others[THERE]
    disk.syncs_until_failure = 0
    answers = rig.later(produce_request((TOPIC, lost, rig.batch(b"lost"))), 9)
    rig.node.pass_time(20)
    assert answers[0].responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    disk.syncs_until_failure = None
    written = len(disk.trace)
    rig.node.pass_time(60_000)
    assert rig.produce(index=lost).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(disk.trace) == written, "nothing more is asked of it"
    assert rig.produce(index=kept).error_code == 0


@pytest.mark.parametrize("mended", [True, False])
def test_what_was_there_is_back_after_a_restart_with_a_repaired_directory_only(rig: Rig, mended: bool) -> None:
    lost, kept = one_in(rig, THERE), one_in(rig, HERE)
    rig.produce(rig.batch(b"a"), index=lost)
    rig.produce(rig.batch(b"b"), index=kept)
    disk = break_there(rig)
    rig.produce(index=lost)
    rig.node.pass_time(100)
    disk.broken = not mended
    rig.reboot(rig.node.stop)
    rig.node.pass_time(100)
    assert rig.values(index=kept) == [b"b"]
    if mended:
        assert rig.values(index=lost) == [b"a"]
        assert rig.produce(index=lost).base_offset == 1
    else:
        assert image(rig, lost).leader == NO_LEADER
        assert rig.fetch(index=lost).error_code != 0
        assert rig.produce(index=lost).error_code != 0
        assert not core_of(rig).directory.items[0].disk.exists(f"{HERE}/{TOPIC}-{lost}"), "not begun anew elsewhere"


def test_a_disk_that_cannot_be_read_any_more_takes_its_directory_offline(rig: Rig) -> None:
    lost, kept = one_in(rig, THERE), one_in(rig, HERE)
    for index in (lost, kept):
        rig.produce(rig.batch(b"a"), index=index)
    break_there(rig)
    rig.partition(index=lost).log.active.release()
    assert rig.fetch(index=lost).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    rig.node.pass_time(100)
    assert image(rig, lost).leader == NO_LEADER
    assert rig.values(index=kept) == [b"a"]


def test_an_append_that_finds_the_disk_gone_is_a_storage_error(rig: Rig) -> None:
    """After a restart the first append looks at the segment's first batch (seeds 316 and 351)."""
    lost = one_in(rig, THERE)
    rig.produce(rig.batch(b"a"), index=lost)
    rig.reboot(rig.node.stop)
    break_there(rig)
    assert rig.produce(index=lost).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    rig.node.pass_time(100)
    assert image(rig, lost).leader == NO_LEADER
    assert rig.produce(index=one_in(rig, HERE)).error_code == 0


def test_partitions_whose_creation_finds_a_dead_disk_are_created_elsewhere(rig: Rig) -> None:
    break_there(rig)
    rig.create("next", partitions=2)
    rig.node.pass_time(30_000)
    assert [rig.produce(topic="next", index=index).error_code for index in range(2)] == [0, 0]


def test_a_directory_that_fails_before_its_replicas_were_assigned_to_it_costs_their_lead() -> None:
    rig = Rig(directories=(HERE, THERE))
    assignments = core_of(rig).partitions.assignments
    assignments._asking = True  # the controller is away for a moment
    rig.create(partitions=4)
    rig.node.pass_time(1000)
    lost = one_in(rig, THERE)
    break_there(rig)
    assert rig.produce(index=lost).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assignments._asking = False
    assignments._later(0)
    rig.node.pass_time(60_000)
    assert image(rig, lost).leader == NO_LEADER


def test_new_partitions_go_to_what_is_left(rig: Rig) -> None:
    break_there(rig)
    rig.produce(index=one_in(rig, THERE))
    rig.create("next", partitions=4)
    assert [rig.produce(topic="next", index=index).error_code for index in range(4)] == [0] * 4


def test_a_replica_whose_only_directory_was_replaced_is_not_taken_for_an_empty_one(rig: Rig) -> None:
    lost = one_in(rig, THERE)
    rig.produce(rig.batch(b"a"), index=lost)
    rig.node.stop()
    old, new = rig.node.others[THERE], SimDisk(rig.node.entropy.fork(), rig.node.timers)
    rig.node.others[THERE] = new
    rig.reboot(lambda: None)
    assert rig.fetch(index=lost).error_code != 0
    rig.node.pass_time(1000)
    assert rig.produce(index=lost).error_code != 0
    rig.node.stop()
    rig.node.others[THERE] = old.kill(rig.node.timers)
    rig.reboot(lambda: None)
    assert rig.values(index=lost) == [b"a"], "and it is back with its disk"


def test_the_node_stops_when_the_metadata_directory_fails(rig: Rig) -> None:
    rig.node.disk.broken = True
    rig.later(produce_request((TOPIC, one_in(rig, HERE), rig.batch(b"a"))), 9)
    rig.node.pass_time(10_000)
    assert HERE in str(rig.node.failure) and "metadata" in str(rig.node.failure)


def test_the_node_stops_when_the_last_data_directory_fails() -> None:
    rig = Rig(directories=("meta", HERE, THERE), metadata_log_dir="meta")
    rig.create(partitions=4)
    assert [found.log_dir for found in described(rig)] == [HERE, THERE]
    assert rig.node.disk.listdir("meta/__cluster_metadata-0")
    assert not [name for name in rig.node.disk.listdir("meta") if name.startswith(TOPIC)]
    rig.reboot(rig.node.stop)
    assert core_of(rig).directory.clean
    first, last = one_in(rig, HERE), one_in(rig, THERE)
    for path, index in ((HERE, first), (THERE, last)):
        assert rig.node.failure is None
        rig.node.others[path].broken = True
        assert rig.produce(index=index).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "no other one works" in str(rig.node.failure)


@pytest.mark.parametrize("empty", [HERE, THERE])
def test_of_two_the_one_that_never_had_a_record_goes(rig: Rig, empty: str) -> None:
    """A directory that fails while a log is created there leaves it behind, and it is created elsewhere."""
    index = one_in(rig, THERE if empty == HERE else HERE)
    rig.produce(rig.batch(b"a"), index=index)
    rig.node.stop()
    disk = rig.node.disk if empty == HERE else rig.node.others[THERE]
    disk.mkdir(f"{empty}/{TOPIC}-{index}")
    disk.write_file(f"{empty}/{TOPIC}-{index}/{0:020d}.log", b"")
    rig.reboot(lambda: None)
    assert rig.values(index=index) == [b"a"]
    assert f"{TOPIC}-{index}" not in disk.listdir(empty)


def test_a_node_without_its_metadata_directory_does_not_start(rig: Rig) -> None:
    rig.node.stop()
    rig.node.disk.broken = True
    with pytest.raises(DiskError):
        rig.node.boot()


def test_coordinators_in_a_failed_directory_are_given_up_and_the_others_go_on(rig: Rig) -> None:
    rig.client.call(FindCoordinatorRequest(key="g"), 3)
    rig.node.pass_time(100)
    homes = list(core_of(rig).directory.items)
    led = core_of(rig).groups.runtime.partitions()
    assert len(led) == 2
    break_there(rig)
    rig.produce(index=one_in(rig, THERE))
    rig.node.pass_time(100)
    gone = [index for topic, index in homes[1].logs if topic == "__consumer_offsets"]
    assert [index for index in led if index not in gone] == core_of(rig).groups.runtime.partitions()


@pytest.mark.parametrize("starting", [True, False])
def test_a_replica_that_may_be_in_an_offline_directory_is_not_begun_anew_elsewhere(rig: Rig, starting: bool) -> None:
    """Others have copies of it, but if it comes back with its directory there must not be two of it."""
    rig.node.stop()
    rig.node.others[THERE].broken = True
    rig.node.boot()
    core = core_of(rig)
    assert list(core.directory.offline) == [THERE]
    topic = TopicImage("t", b"t" * 16, ())
    known = PartitionImage((1, 2), (2,), 2, 0, 0, directories=(b"x" * 16, b"y" * 16))
    assert core.partitions.homes.plan([(topic, 0, known)], starting=starting) == []
    new = PartitionImage((1, 2), (2,), 2, 0, 0, directories=(DIR_UNASSIGNED, b"y" * 16))
    assert [home.path for home, _ in core.partitions.homes.plan([(topic, 1, new)], starting=starting)] == (
        [] if starting else [HERE]
    )


def test_a_stop_was_clean_if_all_directories_say_so_of_the_same_epoch(rig: Rig) -> None:
    epoch = core_of(rig).metadata.broker_epoch
    rig.reboot(rig.node.stop)
    assert core_of(rig).directory.previous_broker_epoch == epoch
    rig.node.stop()
    rig.node.others[THERE].remove(f"{THERE}/.kafka_cleanshutdown")
    rig.reboot(lambda: None)
    assert core_of(rig).directory.previous_broker_epoch == -1


def test_nothing_is_placed_by_a_node_that_is_about_to_end_without_a_directory(rig: Rig) -> None:
    core = core_of(rig)
    topic, part = core.image.topics[TOPIC], image(rig, 0)
    for disk in (rig.node.others[THERE], rig.node.disk):
        core.storage_broke(DiskError("dead"), disk)
    assert core.failure is not None
    assert core.partitions.homes.plan([(topic, 0, part)], starting=False) == []
