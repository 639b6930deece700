"""`python -m bench.cluster.failover`: how long an acks=all producer waits when the leader of its partition fails.

Four kinds of faults, many times each, on a Tapelog cluster and on an Apache Kafka cluster of three nodes with the same
timeouts: kill -9 and SIGSTOP, of a leader and of a leader that is the active controller too. Both clusters run at the
same time and are hurt at the same moment, with one producer each that writes to all partitions. The figure is the time
from the fault to the first acknowledgement of a record sent after it. Nobody is brought back before both sides have
their figure, and the next fault comes when every replica of both is in sync and led as preferred.

With --json FILE every fault is written down as it happens, and a run that is started again goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict

from bench import procs
from bench.cluster.faults import KINDS, NODES, Hurt
from bench.cluster.probe import CLIENT
from bench.cluster.sides import Cluster, KafkaCluster, TapelogCluster

Results = dict[str, dict[str, list[float]]]
"""Seconds by kind and side."""


class Report(TypedDict):
    """What is written to --json."""

    settings: dict[str, str]
    client: dict[str, str | int | bool]
    results: Results


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.failover", description=__doc__)
    parser.add_argument("--faults", type=int, default=50, help="of each kind, on each side")
    parser.add_argument("--session-ms", type=int, default=3000, help="broker.session.timeout.ms of both (Kafka: 9000)")
    parser.add_argument("--sides", default="tapelog,kafka")
    parser.add_argument("--kinds", default="", help="only kinds that contain this")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no new fault after this")
    parser.add_argument("--json", type=Path, default=None, help="write every fault down here, and go on from there")
    parser.add_argument("--nice", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    if options.nice:
        procs.prioritise(options.nice)
    settings = {
        "broker.session.timeout.ms": str(options.session_ms),
        "broker.heartbeat.interval.ms": str(options.session_ms // 6),
    }
    results = _before(options.json)
    kinds = [kind for kind in KINDS if options.kinds in kind]
    until = time.monotonic() + 60 * options.minutes
    folder = Path(tempfile.mkdtemp(prefix="tapelog-failover-"))
    clusters: dict[str, Cluster] = {}
    hurt: dict[str, Hurt] = {}
    try:
        for side in options.sides.split(","):
            clusters[side] = _cluster(side, folder / side, settings)
            clusters[side].start()
            hurt[side] = Hurt(clusters[side], 1)
        for kind, number in plan(kinds, options.faults):
            done = results.setdefault(kind, {})
            if time.monotonic() > until or min(len(done.get(side, ())) for side in hurt) >= number:
                continue
            for side, took in _fault(hurt, kind).items():
                done.setdefault(side, []).append(took)
            _progress(number, options.faults, kind, done)
            if options.json is not None:
                report = Report(settings=settings, client=CLIENT, results=results)
                options.json.write_text(json.dumps(report, indent=1) + "\n")
    finally:
        for one in hurt.values():
            one.close()
        for cluster in clusters.values():
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(table(results) + "\n")
    return 0


def plan(kinds: list[str], faults: int) -> list[tuple[str, int]]:
    """Kinds in turn, each with the number of its fault, from 1. Stops come every second time and catch up at the end:
    should time be short, there are as many kills as possible."""
    found: list[tuple[str, int]] = []
    for number in range(1, faults + 1):
        for kind in kinds:
            if not kind.startswith("SIGSTOP"):
                found.append((kind, number))
            elif number % 2 == 0:
                found.append((kind, number // 2))
    rest = [(kind, number) for number in range(faults // 2 + 1, faults + 1) for kind in kinds]
    return found + [pair for pair in rest if pair not in found]


def _stop(*_: object) -> None:
    """Told to end: stop what was started."""
    raise KeyboardInterrupt


def _cluster(side: str, folder: Path, settings: dict[str, str]) -> Cluster:
    if side == "kafka":
        return KafkaCluster(folder, NODES, settings, heap="512m", archive=True)
    return TapelogCluster(folder, NODES, settings, fsync=True)


def _before(path: Path | None) -> Results:
    """What an earlier run of this command left."""
    if path is None or not path.exists():
        return {}
    report: Report = json.loads(path.read_text())
    return report["results"]


def _fault(hurt: dict[str, Hurt], kind: str) -> dict[str, float]:
    """One fault on every side at the same moment; seconds by side."""

    def all_at_once(step: Callable[[Hurt], object]) -> list[object]:
        with ThreadPoolExecutor(len(hurt)) as pool:
            return list(pool.map(step, hurt.values()))

    all_at_once(lambda one: one.prepare(kind))
    took = all_at_once(lambda one: one.strike(kind))
    all_at_once(lambda one: one.heal(kind))
    return {side: float(str(seconds)) for side, seconds in zip(hurt, took, strict=True)}


def _progress(number: int, faults: int, kind: str, done: dict[str, list[float]]) -> None:
    last = ", ".join(f"{side} {times[-1]:.2f} s" for side, times in done.items())
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {number}/{faults} {kind}: {last}\n")


def table(results: Results) -> str:
    """Percentiles, as Markdown."""
    lines = ["| fault | side | faults | p50 s | p90 s | max s |", "|---|---|---|---|---|---|"]
    for kind, sides in results.items():
        for side, times in sides.items():
            ordered = sorted(times)
            p90 = ordered[max(0, -(-9 * len(ordered) // 10) - 1)]
            figures = f"{statistics.median(times):.2f} | {p90:.2f} | {max(times):.2f}"
            lines.append(f"| {kind} | {side} | {len(times)} | {figures} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
