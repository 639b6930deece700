"""The end of a move is the loop's: next to nothing may be left to copy and to sync by then."""

from __future__ import annotations

import pytest

from tapelog.log import relocation
from tapelog.log.relocation import Relocation, Step
from tapelog.node import moves
from tapelog.sim.disk import SimDisk
from tapelog.sim.nodes import FileNode
from tests.support.rig import Rig
from tests.unit.node.moving import RECORDS, everything, grown, home, move, moved, value

SIZE = 4000


def unsynced(disk: SimDisk, directory: str) -> int:
    """Bytes of batches there that a sync would have to write."""
    node = disk.root
    for part in directory.split("/"):
        node = node.names[part]  # type: ignore[assignment]
    files = [file for name, file in node.names.items() if name.endswith(".log")]
    assert files
    return sum(len(data or b"") for file in files if isinstance(file, FileNode) for _, data in file.pending)


class Ends:
    """What was left to do when a move came to its end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.copy_unsynced: list[int] = []
        self.source_unsynced: list[int] = []
        self.segments: list[int] = []
        settle, complete, run = Relocation.settle_source, Relocation.complete, Step.run

        def settling(copy: Relocation) -> None:
            self.source_unsynced.append(unsynced(copy.log.disk, copy.log.directory))  # type: ignore[arg-type]
            settle(copy)

        def completing(copy: Relocation, high_watermark: int) -> None:
            self.copy_unsynced.append(unsynced(copy.home.disk, copy.path))  # type: ignore[arg-type]
            self.segments.append(0)
            complete(copy, high_watermark)

        def running(step: Step) -> None:
            if self.segments:
                self.segments[-1] += 1
            run(step)

        monkeypatch.setattr(Relocation, "settle_source", settling)
        monkeypatch.setattr(Relocation, "complete", completing)
        monkeypatch.setattr(Step, "run", running)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    monkeypatch.setattr(relocation, "STEP_BYTES", SIZE)
    monkeypatch.setattr(moves, "LAST_BYTES", SIZE)
    return Ends(monkeypatch)


def test_what_was_copied_of_the_newest_segment_is_durable_before_the_end(ends: Ends) -> None:
    rig = Rig(directories=("logs", "more"), cordoned_log_dirs="more")
    rig.create()
    for number in range(200):
        assert rig.produce(rig.batch(value(number))).error_code == 0
    rig.node.core.settings.static.pop("cordoned.log.dirs", None)  # type: ignore[union-attr]
    assert rig.partition().log.size_bytes > 5 * SIZE
    assert move(rig) == 0
    assert moved(rig)
    assert ends.copy_unsynced == [0]


def test_what_a_topic_leaves_to_the_page_cache_is_synced_in_the_background(ends: Ends) -> None:
    rig = grown(tapelog_flush="page-cache")
    log = rig.partition().log
    assert unsynced(log.disk, log.directory) > SIZE  # type: ignore[arg-type]
    assert move(rig) == 0
    assert moved(rig)
    assert ends.source_unsynced == [0]


def test_very_many_small_segments_are_not_left_to_the_end(ends: Ends) -> None:
    rig = grown()
    log = rig.partition().log
    assert len(log.segments.items) > 2 * moves.LAST_SEGMENTS
    assert log.size_bytes < 2 * SIZE
    assert move(rig) == 0
    assert moved(rig)
    assert len(ends.segments) == 1
    assert ends.segments[0] <= moves.LAST_SEGMENTS
    assert everything(rig) == [value(number) for number in range(RECORDS)]
    assert home(rig) == "more"
