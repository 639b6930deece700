"""What each loop promises, shown by kill -9 at random moments. tests/chaos kills the broker too, and more often."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.tidy.rules import ROOT
from tests.toolkit.cluster import Cluster

KILLS = int(os.environ.get("TAPELOG_TOOLKIT_KILLS", "4"))
RECORDS = 3000


def start(*words: str) -> subprocess.Popen[bytes]:
    """A worker."""
    env = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, str(ROOT / "tests" / "toolkit" / "worker.py"), *words]
    return subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL)


def tormented(cluster: Cluster, kind: str, source: str, out: str, group: str, store: str) -> None:
    """Run the worker, kill it again and again, and let the last one finish."""
    words = (kind, cluster.bootstrap, group, source, out, store)
    cluster.fill(source, range(RECORDS), partitions=3)
    for _ in range(KILLS):
        worker = start(*words)
        time.sleep(random.uniform(0.8, 2.0))
        worker.kill()
        worker.wait()
    worker = start(*words)
    try:
        until(lambda: sum(cluster.committed(group, source).values()) == RECORDS, "the last one finishes")
    finally:
        with suppress(ProcessLookupError):
            worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["exactly_once", "at_least_once", "at_most_once", "idempotent"])
def test_what_a_killed_process_leaves_is_what_its_loop_promises(cluster: Cluster, kind: str, tmp_path: Path) -> None:
    source, out, group, store = cluster.topic(3), cluster.topic(2), cluster.fresh(), tmp_path / "store.db"
    tormented(cluster, kind, source, out, group, str(store))
    if kind == "idempotent":
        seen = Counter(text for (text,) in sqlite3.connect(store).execute("SELECT value FROM effects"))
    else:
        seen = Counter(cluster.texts(out))
    calls = Counter(Path(f"{store}.calls").read_text().split())
    missing = [number for number in range(RECORDS) if not seen[str(number)]]
    twice = [text for text, times in seen.items() if times > 1]
    again = [text for text, times in calls.items() if times > 1]
    told = f"{len(missing)} missing, {len(twice)} more than once, {len(again)} handled more than once"
    print(f"{kind}: {told}, after {KILLS} kills")
    if kind == "at_most_once":
        assert not again
    else:
        assert not missing
    if kind != "at_least_once":
        assert not twice
