"""kill -9 at random points under load: every acknowledged record is there, once and in order, after every restart.

TAPELOG_CHAOS_KILLS (10 here, 200 in `make chaos`) and TAPELOG_CHAOS_SEED choose how many and which points.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import pytest

from tapelog.testing import Broker
from tapelog.testing.broker import BrokerError
from tests.chaos.promises import Load

KILLS = int(os.environ.get("TAPELOG_CHAOS_KILLS", "10"))
SEED = int(os.environ.get("TAPELOG_CHAOS_SEED", "1"))


def start_and_kill_at_once(broker: Broker, delay: float) -> None:
    """Kill it while it starts: it may or may not have come up by then."""

    def kill() -> None:
        if broker.running:
            os.kill(broker.pid, signal.SIGKILL)

    timer = threading.Timer(delay, kill)
    timer.start()
    try:
        broker.start()
    except BrokerError:
        pass
    timer.join()
    broker.kill()


@pytest.mark.timeout(400 + 10 * KILLS)
def test_every_acknowledged_record_survives_kills(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    broker = Broker(data=tmp_path / "data")
    broker.start()
    work = Load(broker.bootstrap, "orders", tmp_path)
    longest = 0.0
    try:
        work.progress()
        for number in range(KILLS):
            threading.Event().wait(chance.uniform(0.0, 0.5))  # the random point under load
            if chance.random() < 0.3:
                work.make_topic(number)
            broker.kill()
            if chance.random() < 0.2:
                start_and_kill_at_once(broker, chance.uniform(0.0, 0.3))
            broker.start()
            longest = max(longest, work.progress())
            if number % 20 == 19:
                print(f"seed {SEED}: {number + 1} kills, {len(work.lines())} acknowledgements", flush=True)
        work.finish()
        count = work.verify()
        broker.restart()  # a clean stop and start changes nothing
        assert work.verify() == count
    finally:
        work.stop()
        broker.kill()
    assert count > 20 * KILLS
    print(f"seed {SEED}: {KILLS} kills, {count} records, at most {longest:.2f} s without an acknowledgement")
