"""Ten times the disk's speed: memory stays flat, nobody but producers waits, and what was acknowledged is there.

TAPELOG_OVERLOAD_S=180 floods for minutes instead of seconds.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tapelog.testing.broker import Broker
from tests.chaos.overload import DISK_BYTES_PER_SECOND, MB, UNFLUSHED_MAX, SlowBroker, overload, stored

SECONDS = float(os.environ.get("TAPELOG_OVERLOAD_S", "8"))
SETTLED_S = 3.0
"""From then on memory must not grow."""
BYSTANDER_S_MAX = 3.0

pytestmark = [pytest.mark.needs("gcc"), pytest.mark.slow, pytest.mark.timeout(400 + 3 * SECONDS)]


def test_producers_ten_times_as_fast_as_the_disk_cost_no_memory_and_no_acknowledgement(tmp_path: Path) -> None:
    slow = SlowBroker(tmp_path)
    with slow.broker:
        before = slow.memory()
        story = overload(slow, SECONDS)
        os.kill(slow.broker.pid, signal.SIGKILL)
    assert not story.failures, story.failures[:3]
    settled = [sample for sample in story.samples if sample.second > SETTLED_S]
    memory = [sample.memory for sample in settled]
    assert max(memory) - before < 160 * MB, "bounded"
    late = memory[len(memory) // 2 :]
    assert max(late) < max(memory[: len(memory) // 2]) + 16 * MB, "flat"
    assert all(sample.written - sample.synced < 2 * UNFLUSHED_MAX for sample in settled), "never far ahead of the disk"
    assert settled[-1].stopped_ms == 0, "the kernel never had to stop the loop"
    assert story.slowest_s < BYSTANDER_S_MAX, "who needs no disk does not wait for it"
    rate = (settled[-1].synced - settled[0].synced) / (settled[-1].second - settled[0].second)
    assert settled[-1].read > settled[0].read, "slow consumers go on"
    assert rate > 0.6 * DISK_BYTES_PER_SECOND, "the disk is kept busy"
    with Broker(data=slow.data) as again:
        found = stored(again.bootstrap, story.acknowledged)
    assert found == story.acknowledged, "what was acknowledged is there, where it was said to be"


def test_without_backpressure_the_kernel_stops_the_loop(tmp_path: Path) -> None:
    slow = SlowBroker(tmp_path, plant="unpressed")
    with slow.broker:
        # on a busy machine the flood itself is slow: it has the time that it needs
        story = overload(slow, 60, enough=lambda sample: sample.stopped_ms > 1000)
        os.kill(slow.broker.pid, signal.SIGKILL)
    assert story.samples[-1].stopped_ms > 1000
