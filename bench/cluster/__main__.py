"""`python -m bench.cluster`: three nodes of Tapelog and three of Apache Kafka on one machine, in one run.

Repetition by repetition both clusters run in turn; both live through all of it. Prints a table and writes JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import procs
from bench.cluster import measure
from bench.cluster.sides import Cluster, KafkaCluster, TapelogCluster
from bench.load import Figures, LoadError

PARTITIONS, SIZE, RATE = 6, 1024, 1000
KAFKA_WARM_RUNS = 6
Results = dict[str, dict[str, list[Figures]]]


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--secs", type=float, default=6.0)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--scale", action="store_true", help="one, two and four nodes of Tapelog: MB per CPU second")
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--nice", type=int, default=0)
    options = parser.parse_args()
    if options.nice:
        procs.prioritise(options.nice)
    folder = Path(tempfile.mkdtemp(prefix="tapelog-cluster-bench-"))
    results: Results = {}
    try:
        procs.touch_memory(procs.available_mb() // 2)
        if options.scale:
            _scale(folder, options.reps, options.secs, results)
        else:
            _side_by_side(folder, options.nodes, options.reps, options.secs, results)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write("\n" + table(results) + "\n")
    if options.json is not None:
        options.json.write_text(json.dumps({"settings": vars(options), "results": results}, default=str, indent=1))
    return 0


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")


def _side_by_side(folder: Path, nodes: int, reps: int, secs: float, results: Results) -> None:
    sides: dict[str, Cluster] = {
        "tapelog": TapelogCluster(folder / "tapelog", nodes, fsync=False),
        "tapelog fsync": TapelogCluster(folder / "tapelog-fsync", nodes, fsync=True),
        "kafka": KafkaCluster(folder / "kafka", nodes),
    }
    try:
        for name, cluster in sides.items():
            first = cluster.start()
            time.sleep(3)
            idle = cluster.memory_mb()
            results.setdefault("cold start", {})[name] = [{"start_s": first, "idle_memory_mb": idle}]
            _tell(f"{name}: up after {first:.2f} s, {idle:.0f} MB")
        _warm(sides["kafka"], secs, KAFKA_WARM_RUNS)
        _warm(sides["tapelog"], secs, 1)
        _warm(sides["tapelog fsync"], secs, 1)
        replicas = min(3, nodes)
        many = f"acks=all, {replicas} replicas, {SIZE} B"
        some = f"acks=all, {replicas} replicas, {RATE}/s"
        for rep in range(reps):
            order = list(sides)[rep % len(sides) :] + list(sides)[: rep % len(sides)]
            for name in order:
                cluster = sides[name]
                _once(results, many, name, rep, cluster, replicas, PARTITIONS, _driving(cluster, secs))
                _once(results, some, name, rep, cluster, replicas, 1, _trickling(cluster, secs))
        for name, cluster in sides.items():
            results.setdefault("memory after the load", {})[name] = [{"memory_mb": cluster.memory_mb()}]
    finally:
        for cluster in sides.values():
            cluster.stop()


def _scale(folder: Path, reps: int, secs: float, results: Results) -> None:
    """Unreplicated topics over one, two and four nodes: what a CPU second moves."""
    clusters: dict[str, Cluster] = {
        f"{count} node(s)": TapelogCluster(folder / f"n{count}", count, fsync=False) for count in (1, 2, 4)
    }
    try:
        for cluster in clusters.values():
            cluster.start()
            _warm(cluster, secs, 1)
        for rep in range(reps):
            for name, cluster in clusters.items():
                _once(results, "unreplicated, 1 KiB", name, rep, cluster, 1, 4, _driving(cluster, secs, partitions=4))
    finally:
        for cluster in clusters.values():
            cluster.stop()


def _driving(cluster: Cluster, secs: float, partitions: int = PARTITIONS) -> Callable[[str], Figures]:
    return lambda topic: measure.throughput(cluster, topic, partitions, SIZE, secs)


def _trickling(cluster: Cluster, secs: float) -> Callable[[str], Figures]:
    return lambda topic: measure.latency(cluster, topic, RATE, secs)


def _warm(cluster: Cluster, secs: float, runs: int) -> None:
    for _ in range(runs):
        topic = measure.new_topic(cluster, PARTITIONS, min(3, cluster.count))
        with contextlib.suppress(LoadError):  # the first one may still wait for producer ids
            measure.throughput(cluster, topic, PARTITIONS, SIZE, secs)
            measure.latency(cluster, topic, RATE, secs / 2)
        measure.drop(cluster, topic)


def _once(
    results: Results,
    row: str,
    name: str,
    rep: int,
    cluster: Cluster,
    replicas: int,
    partitions: int,
    run: Callable[[str], Figures],
) -> None:
    topic = measure.new_topic(cluster, partitions, replicas)
    try:
        figures = run(topic)
    except LoadError as problem:
        _tell(f"{row}: {name}: no figure: {problem}")
        return
    finally:
        measure.drop(cluster, topic)
    results.setdefault(row, {}).setdefault(name, []).append({**figures, "rep": float(rep)})
    _tell(f"{row}: {name}: " + "  ".join(f"{key} {value:,.4g}" for key, value in figures.items()))


def table(results: Results) -> str:
    """Medians with the least and the greatest, as Markdown."""
    lines = ["| | side | figure | median | least–most |", "|---|---|---|---|---|"]
    for row, sides in results.items():
        for side, runs in sides.items():
            for figure in runs[0]:
                if figure in ("rep", "other_pct"):
                    continue
                values = [run[figure] for run in runs]
                spread = f"{min(values):,.4g}–{max(values):,.4g}"
                lines.append(f"| {row} | {side} | {figure} | {statistics.median(values):,.4g} | {spread} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
