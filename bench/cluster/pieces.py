"""Pieces of the measurement, each of which starts what it needs and stops it again: cold starts, three nodes beside
three, and one, two and four nodes. A piece ends when its rows are complete, or when the time is up."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaException

from bench.cluster import measure
from bench.cluster.ledger import Ledger
from bench.cluster.sides import Cluster, KafkaCluster, TapelogCluster
from bench.load import Figures, LoadError
from bench.sides import Missing

PARTITIONS, SIZE, RATE = 6, 1024, 1000
SCALE_PARTITIONS = 4
SCALE_NODES = (1, 2, 4)
KAFKA_WARM_RUNS = 6
IDLE_S = 3.0
SIDES = ("tapelog", "tapelog fsync", "kafka")
"""Tapelog from the page cache and from the disk, and Kafka, which answers from the page cache."""
Clock = Callable[[], bool]
"""Whether there is time for something more."""


def make(side: str, folder: Path, nodes: int) -> Cluster:
    """A cluster of that side, not started."""
    if side == "kafka":
        return KafkaCluster(folder, nodes)
    return TapelogCluster(folder, nodes, fsync=side.endswith("fsync"))


def tell(line: str) -> None:
    """Progress, on stderr."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")


def cold_starts(ledger: Ledger, folder: Path, sides: list[str], nodes: int, reps: int, in_time: Clock) -> bool:
    """New clusters from nothing: seconds until every node names all, and their memory after a while. Whether all is
    there."""
    row = f"{nodes} nodes, nothing to do"
    for rep in range(reps):
        for side in sides:
            if ledger.count(row, side) > rep:
                continue
            if not in_time():
                return False
            cluster = make(side, folder / f"cold-{rep}-{side.replace(' ', '-')}", nodes)
            try:
                first = cluster.start()
                time.sleep(IDLE_S)
                ledger.add(row, side, {"start_s": first, "idle_mb": cluster.memory_mb()})
                tell(f"{row}: {side}: {rep + 1}/{reps}, up after {first:.2f} s")
            except Missing as problem:
                tell(f"{row}: {side}: no figure: {problem}")
                ledger.failed(row, side)
            finally:
                cluster.stop()
                cluster.wipe()
    return True


def side_by_side(
    ledger: Ledger, folder: Path, sides: list[str], nodes: int, reps: int, secs: float, in_time: Clock
) -> bool:
    """All sides live at once and are loaded in turn. Whether all is there."""
    replicas = min(3, nodes)
    many, some = f"acks=all, {replicas} replicas, 1 KiB, as fast as it goes", f"acks=all, {replicas} replicas, {RATE}/s"
    if min(ledger.count(row, side) for row in (many, some) for side in sides) >= reps:
        return True
    clusters = {side: make(side, folder / side.replace(" ", "-"), nodes) for side in sides}
    loaded: dict[str, None] = {}
    try:
        for side, cluster in clusters.items():
            cluster.start()
            tell(f"{side} is up; warming")
            _warm(cluster, side, secs)
        for rep in range(reps):
            turn = rep % len(sides)
            for side in sides[turn:] + sides[:turn]:
                cluster = clusters[side]
                for row, partitions, run in (
                    (many, PARTITIONS, _driving(cluster, PARTITIONS, secs)),
                    (some, 1, _trickling(cluster, secs)),
                ):
                    if ledger.count(row, side) > rep:
                        continue
                    if not in_time():
                        return False
                    loaded[side] = None
                    _once(ledger, row, side, f"{rep + 1}/{reps}", cluster, replicas, partitions, run)
        return True
    finally:
        for side, cluster in clusters.items():
            if side in loaded and len(cluster.pids) == nodes:
                ledger.add(f"{nodes} nodes, after the load", side, {"memory_mb": cluster.memory_mb()})
            cluster.stop()
            cluster.wipe()


def scale(ledger: Ledger, folder: Path, sides: list[str], reps: int, secs: float, in_time: Clock) -> bool:
    """Unreplicated topics on one, two and four nodes, one cluster at a time: what a CPU second moves. Whether all is
    there."""
    for nodes in SCALE_NODES:
        row = f"{nodes} node{'s' if nodes > 1 else ''}, unreplicated, 1 KiB, {SCALE_PARTITIONS} partitions"
        for side in sides:
            if ledger.count(row, side) >= reps:
                continue
            if not in_time():
                return False
            cluster = make(side, folder / f"scale-{nodes}-{side.replace(' ', '-')}", nodes)
            try:
                cluster.start()
                tell(f"{side}, {nodes} node(s): up; warming")
                _warm(cluster, side, secs)
                run = _driving(cluster, SCALE_PARTITIONS, secs)
                while (rep := ledger.count(row, side)) < reps:
                    if not in_time():
                        return False
                    _once(ledger, row, side, f"{rep + 1}/{reps}", cluster, 1, SCALE_PARTITIONS, run)
            except Missing as problem:
                tell(f"{row}: {side}: {problem}")
                ledger.failed(row, side)
            finally:
                cluster.stop()
                cluster.wipe()
    return True


def _driving(cluster: Cluster, partitions: int, secs: float) -> Callable[[str], Figures]:
    return lambda topic: measure.throughput(cluster, topic, partitions, SIZE, secs)


def _trickling(cluster: Cluster, secs: float) -> Callable[[str], Figures]:
    return lambda topic: measure.latency(cluster, topic, RATE, secs)


def _warm(cluster: Cluster, side: str, secs: float) -> None:
    for _ in range(KAFKA_WARM_RUNS if side == "kafka" else 1):
        topic = measure.new_topic(cluster, PARTITIONS, min(3, cluster.count))
        with contextlib.suppress(LoadError, subprocess.TimeoutExpired):  # the first may still wait for producer ids
            measure.throughput(cluster, topic, PARTITIONS, SIZE, secs / 2)
            measure.latency(cluster, topic, RATE, secs / 3)
        measure.drop(cluster, topic)


def _once(
    ledger: Ledger,
    row: str,
    side: str,
    number: str,
    cluster: Cluster,
    replicas: int,
    partitions: int,
    run: Callable[[str], Figures],
) -> None:
    try:
        topic = measure.new_topic(cluster, partitions, replicas)
        try:
            figures = run(topic)
        finally:
            measure.drop(cluster, topic)
    except (LoadError, KafkaException, subprocess.TimeoutExpired) as problem:
        tell(f"{row}: {side}: no figure: {problem}")
        ledger.failed(row, side)
        return
    ledger.add(row, side, figures)
    tell(f"{row}: {side}: {number}, " + "  ".join(f"{key} {value:,.4g}" for key, value in figures.items()))
