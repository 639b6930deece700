"""AlterReplicaLogDirs: the process or the power ends at any operation of the disks while a replica moves."""

from __future__ import annotations

import os

import pytest

from tapelog.log import relocation
from tapelog.node import moves
from tests.support.rig import TOPIC, Rig, produce_request
from tests.unit.node.moving import HERE, RECORDS, THERE, everything, grown, home, left, move, moved, small_steps, value

__all__ = ["small_steps"]

STRIDE = 1 if os.environ.get("TAPELOG_EVERY_STEP") else 97
"""Crashes at every so-manieth operation of the disks."""


class CrashError(BaseException):
    """The process ends here."""


def bomb(rig: Rig, at: int) -> list[int]:
    """Let the process end at that operation of the disks; counts them."""
    counted = [0]
    for disk in (rig.node.disk, *rig.node.others.values()):
        alive = disk.check_alive

        def check(alive=alive) -> None:  # type: ignore[no-untyped-def]
            counted[0] += 1
            if counted[0] == at:
                raise CrashError
            alive()

        disk.check_alive = check  # type: ignore[method-assign]
    return counted


def live(at: int, how: str) -> int:
    """A move with somebody writing, ended at an operation of the disks; how many there were."""
    rig = grown()
    acknowledged = RECORDS
    move(rig)
    counted = bomb(rig, at)
    try:
        while (home(rig) == HERE or acknowledged < RECORDS + 5) and acknowledged < 200:
            answers = rig.later(produce_request((TOPIC, 0, rig.batch(value(acknowledged)))), 9)
            rig.node.pass_time(10)
            if answers and answers[0].responses[0].partition_responses[0].error_code == 0:
                acknowledged += 1
        rig.node.pass_time(200)
    except CrashError:
        pass
    for disk in (rig.node.disk, *rig.node.others.values()):
        del disk.check_alive
    rig.reboot(getattr(rig.node, how))
    found = everything(rig)
    assert found[:acknowledged] == [value(number) for number in range(acknowledged)]
    assert len(found) <= acknowledged + 1
    rig.node.invariants()
    assert moved(rig) or home(rig) == HERE
    rig.node.pass_time(2000)
    assert everything(rig) == found
    assert sorted(left(rig, HERE) + left(rig, THERE)) == [f"{TOPIC}-0"], "one copy, and nothing else"
    assert rig.produce(rig.batch(b"next")).base_offset == len(found)
    rig.reboot(rig.node.power_cut)
    assert everything(rig) == [*found, b"next"]
    return counted[0]


@pytest.mark.parametrize("steps", ["many", "one"])
@pytest.mark.parametrize("how", ["kill", "power_cut"])
def test_a_crash_at_any_step_loses_nothing_and_leaves_one_copy(
    how: str, steps: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if steps == "one":  # the end comes while the last flush round is still under way
        monkeypatch.setattr(relocation, "STEP_BYTES", 1 << 20)
        monkeypatch.setattr(moves, "LAST_BYTES", 1 << 20)
    total = live(1 << 60, how)
    assert total > 100
    for at in range(1 if how == "kill" else 1 + STRIDE // 2, total, STRIDE):
        live(at, how)
