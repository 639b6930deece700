"""Power cuts on the real broker: unsynced bytes and names are dropped or torn, and nothing acknowledged is lost.

A broker whose syncs do nothing must fail the same check, or the check would be worth nothing.
TAPELOG_CHAOS_KILLS (10 here, 200 in `make chaos`) and TAPELOG_CHAOS_SEED choose how many cuts and which.
"""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path

import pytest

from tapelog.testing import Broker
from tapelog.testing.broker import BrokerError
from tests.chaos.powercut import PowerCut, contents, load
from tests.chaos.promises import Load, PromiseBroken, topics
from tests.chaos.test_kill import start_and_kill_at_once

CUTS = max(3, int(os.environ.get("TAPELOG_CHAOS_KILLS", "10")) // 2)
SEED = int(os.environ.get("TAPELOG_CHAOS_SEED", "1"))

pytestmark = pytest.mark.needs("gcc")


class Plug:
    """A broker on a disk that can lose its power."""

    def __init__(self, tmp_path: Path, *, ignore_sync: bool = False) -> None:
        data = tmp_path / "data"
        self.power = PowerCut(data / "node-1", tmp_path / "power")
        self.broker = Broker(data=data, env=self.power.environment(ignore_sync=ignore_sync))

    def on(self) -> None:
        """Start; what is on the disk now is certain."""
        self.power.begin()
        self.broker.start()

    def off(self, chance: random.Random, mode: str | None = None) -> str:
        """Kill it and cut the power."""
        self.broker.kill()
        return self.power.cut(chance, mode)


@pytest.mark.timeout(400 + 20 * CUTS)
def test_every_acknowledged_record_survives_power_cuts(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    plug = Plug(tmp_path)
    plug.on()
    work = Load(plug.broker.bootstrap, "orders", tmp_path, rate=1000)
    modes: list[str] = []
    try:
        work.progress()
        for number in range(CUTS):
            threading.Event().wait(chance.uniform(0.0, 0.5))
            if chance.random() < 0.5:
                work.make_topic(number)
            modes.append(plug.off(chance))
            if chance.random() < 0.3:  # again, while it recovers
                plug.power.begin()
                start_and_kill_at_once(plug.broker, chance.uniform(0.0, 0.5))
                modes.append(plug.power.cut(chance))
            plug.on()
            work.progress()
        work.finish()
        count = work.verify()
        plug.off(chance, "drop")
        plug.on()
        assert work.verify() == count
    finally:
        work.stop()
        plug.broker.kill()
    print(f"seed {SEED}: {len(modes)} power cuts ({', '.join(sorted(set(modes)))}), {count} records")


@pytest.mark.timeout(600)
def test_a_broker_that_skips_its_syncs_is_found_out(tmp_path: Path) -> None:
    plug = Plug(tmp_path, ignore_sync=True)
    plug.on()
    work = Load(plug.broker.bootstrap, "orders", tmp_path, rate=1000)
    try:
        work.progress()
        work.finish()
        assert work.verify() > 0
        plug.off(random.Random(SEED), "drop")
        with pytest.raises((PromiseBroken, BrokerError)):
            plug.on()
            work.verify()
    finally:
        work.stop()
        plug.broker.kill()


@pytest.mark.timeout(600)
def test_the_journal_tells_everything_the_broker_does_to_its_files(tmp_path: Path) -> None:
    plug = Plug(tmp_path)
    plug.on()
    work = Load(plug.broker.bootstrap, "orders", tmp_path, rate=3000)
    try:
        work.progress()
        work.make_topic(1)
        work.finish()
    finally:
        work.stop()
        plug.broker.stop()
    replay = plug.power.replay()
    assert replay.syncs > 10
    told, there = contents(replay.tree), contents(load(plug.power.directory))
    assert sorted(told) == sorted(there)
    assert [path for path, data in there.items() if told[path] != data] == []


@pytest.mark.timeout(600)
def test_a_disk_that_is_full_for_a_while_loses_nothing(tmp_path: Path) -> None:
    plug = Plug(tmp_path)
    plug.on()
    work = Load(plug.broker.bootstrap, "orders", tmp_path, rate=1000)
    try:
        work.progress()
        for _ in range(4):
            plug.power.full_sign.touch()
            seen = -1
            while seen != (seen := work.acknowledged()):  # until nothing more is acknowledged
                threading.Event().wait(0.3)
            assert "orders" in topics(plug.broker.bootstrap)  # it still answers
            plug.power.full_sign.unlink()
            work.progress()
        plug.power.full_sign.touch()  # and a crash on a full disk
        threading.Event().wait(0.3)
        plug.off(random.Random(SEED))
        plug.power.full_sign.unlink()
        plug.on()
        work.progress()
        work.finish()
        assert work.verify() > 0
    finally:
        work.stop()
        plug.broker.kill()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3))
def test_a_power_cut_during_the_very_first_start_leaves_a_startable_node(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    plug = Plug(tmp_path)
    for mode in ("drop", "torn", "pages"):
        plug.power.begin()
        start_and_kill_at_once(plug.broker, chance.uniform(0.05, 0.6))
        plug.power.cut(chance, mode)
    plug.on()
    work = Load(plug.broker.bootstrap, "orders", tmp_path, rate=1000)
    try:
        work.progress()
        work.finish()
        assert work.verify() > 0
    finally:
        work.stop()
        plug.broker.kill()
