"""The power-cut harness itself: it sees every change a process makes, and it finds a program that forgets a sync."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos import appender
from tests.chaos.powercut import FileNode, PowerCut, contents, load, surviving_bytes

pytestmark = pytest.mark.needs("gcc")


def run_and_cut(tmp_path: Path, mode: str, chance: random.Random, lines: int) -> tuple[list[int], list[int]]:
    """Run the appender until it has printed so many lines, kill it, cut the power: (acknowledged, recovered)."""
    data = tmp_path / "data"
    power = PowerCut(data, tmp_path / "scratch")
    acknowledged: list[int] = []
    for _ in range(3):
        power.begin()
        command = [sys.executable, appender.__file__, str(data), mode]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **power.environment()})
        assert process.stdout is not None
        for _ in range(lines):
            acknowledged.append(int(process.stdout.readline()))
        process.send_signal(signal.SIGKILL)
        acknowledged.extend(int(line) for line in process.stdout.read().split())
        process.wait()
        process.stdout.close()
        power.cut(chance)
    return acknowledged, appender.recover(data)


@pytest.mark.parametrize("seed", range(6))
def test_a_right_program_loses_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    acknowledged, recovered = run_and_cut(tmp_path, "right", chance, chance.randint(1, 120))
    assert recovered == list(range(len(recovered)))
    assert set(acknowledged) <= set(recovered)  # and perhaps a line that was written and not acknowledged


@pytest.mark.parametrize("forgets", ["no-sync", "no-directory", "no-content"])
def test_a_program_that_forgets_a_sync_is_found_out(tmp_path: Path, forgets: str) -> None:
    for seed in range(12):
        place = tmp_path / str(seed)
        place.mkdir()
        try:
            acknowledged, recovered = run_and_cut(place, forgets, random.Random(seed), 60)
        except (FileNotFoundError, ValueError):  # it could not even start again
            return
        if not set(recovered) >= set(acknowledged):
            return
    pytest.fail(f"{forgets} lost nothing in twelve runs")


WORK = """
import os, shutil, sys
root = sys.argv[1]
os.makedirs(root + "/a/b")
with open(root + "/a/file", "wb") as f:
    f.write(b"hello" * 1000)
os.rename(root + "/a", root + "/c")
fd = os.open(root + "/c/b/log", os.O_RDWR | os.O_CREAT)
os.pwritev(fd, [b"abc"] * 500, 0)
os.ftruncate(fd, 100)
os.pwrite(fd, b"X", 150)
os.writev(fd, [b"start"])
os.chdir(root)
os.mkdir("d")
open("d/relative", "w").write("r")
os.replace("d/relative", "d/renamed")
os.mkdir("gone"); open("gone/x", "w").close(); shutil.rmtree("gone")
os.truncate("c/file", 10)
"""


def test_the_journal_tells_every_change(tmp_path: Path) -> None:
    data = tmp_path / "data"
    power = PowerCut(data, tmp_path / "scratch")
    power.begin()
    subprocess.run([sys.executable, "-c", WORK, str(data)], check=True, env={**os.environ, **power.environment()})

    told = contents(power.replay().tree)
    assert told == contents(load(data))
    assert told["/c/b/log"] == b"start" + (b"abc" * 40)[5:100] + bytes(50) + b"X"
    power.cut(random.Random(1), "drop")  # nothing was synced: nothing is left
    assert list(data.iterdir()) == []


def test_what_is_certain_survives_in_every_mode() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        node = FileNode(now=bytearray(b"sure" * 3000), certain=b"sure" * 3000)
        for _ in range(chance.randint(0, 5)):
            node.apply(len(node.now), bytes([chance.randint(1, 255)]) * chance.randint(1, 9000))
        for mode in ("drop", "torn", "pages"):
            left = surviving_bytes(node, chance, mode)
            assert left[:12000] == b"sure" * 3000
            assert len(left) <= len(node.now)
