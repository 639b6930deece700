"""A node whose replica moves between its log directories, for the tests of moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tapelog.base.ports import DiskError
from tapelog.log import relocation
from tapelog.node import moves
from tapelog.node.core import NodeCore
from tapelog.sim.disk import SimDisk
from tapelog.wire.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tapelog.wire.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tapelog.wire.messages.describe_log_dirs_response import DescribeLogDirsPartition
from tests.support.rig import TOPIC, Rig, values_of

HERE, THERE = "logs", "more"
RECORDS = 30


def core_of(rig: Rig) -> NodeCore:
    assert rig.node.core is not None
    return rig.node.core


def grown(directories: tuple[str, ...] = (HERE, THERE), **configs: Any) -> Rig:
    """Thirty records in some ten segments of the first directory."""
    settings: dict[str, Any] = {"metadata_log_dir": directories[0]} if len(directories) > 2 else {}
    rig = Rig(directories=directories, cordoned_log_dirs=THERE, **settings)
    rig.create(internal_segment_bytes="600", index_interval_bytes="100", **configs)
    for number in range(RECORDS):
        assert rig.produce(rig.batch(value(number))).error_code == 0
    core_of(rig).settings.static.pop("cordoned.log.dirs", None)
    rig.node.settings.pop("cordoned.log.dirs", None)
    assert home(rig) == HERE
    return rig


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relocation, "STEP_BYTES", 400)
    monkeypatch.setattr(moves, "LAST_BYTES", 200)


def value(number: int) -> bytes:
    return b"%03d" % number * 30


def home(rig: Rig) -> str:
    return rig.partition().log.directory.partition("/")[0]


def disk_of(rig: Rig, path: str) -> SimDisk:
    return rig.node.others.get(path, rig.node.disk)


def move(rig: Rig, path: str = THERE, topic: str = TOPIC, index: int = 0) -> int:
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=[index])]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=topics)])
    (result,) = rig.client.call(request, 2).results
    assert result.topic_name == topic
    return int(result.partitions[0].error_code)


def moved(rig: Rig, path: str = THERE) -> bool:
    for _ in range(400):
        if home(rig) == path and not core_of(rig).moves.all:
            return True
        rig.node.pass_time(100)
    return False


def everything(rig: Rig) -> list[bytes | None]:
    found: list[bytes | None] = []
    while True:
        data = rig.fetch(len(found))
        assert data.error_code == 0
        if not values_of(data):
            return found
        found += values_of(data)


def described(rig: Rig, path: str) -> list[DescribeLogDirsPartition]:
    results = rig.client.call(DescribeLogDirsRequest(topics=None), 4).results
    (found,) = [result for result in results if result.log_dir == path]
    return [part for topic in found.topics if topic.name == TOPIC for part in topic.partitions]


def left(rig: Rig, path: str) -> list[str]:
    """What there is of the partition in a directory."""
    return [name for name in disk_of(rig, path).listdir(path) if name.startswith(f"{TOPIC}-0")]


def slow(rig: Rig, rate: int = 1000) -> None:
    core_of(rig).settings.static["replica.alter.log.dirs.io.max.bytes.per.second"] = str(rate)


def quick_jobs(disk: SimDisk) -> None:
    """Jobs of a disk are done at once from now on, however long its flush rounds take."""

    def start_job(work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        failure: Exception | None = None
        try:
            work()
        except (DiskError, OSError) as error:
            failure = error
        done(failure)

    disk.start_job = start_job  # type: ignore[method-assign]
