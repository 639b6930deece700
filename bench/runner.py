"""Runs scenarios interleaved: repetition by repetition, every side in turn, the order turning too."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from bench import admin, coordination, others, procs
from bench.admin import AdminError
from bench.fleet import Fleet
from bench.load import Figures, LoadError
from bench.scenarios import Scenario
from bench.sides import Missing, Side

PARTITIONS = 1000
IDLE_S = 3.0
STORM_REPS = {"storm": 2, "storm-clients": 3}
"""At most: a storm takes a minute."""
STORM_LEAD_IN_S = 15.0
LEAD_IN_MAX, LEAD_IN_GAIN = 6, 0.95
Results = dict[str, dict[str, list[Figures]]]
"""Scenario name, then side, then one entry per repetition that worked."""
Tell = Callable[[str], None]


def run(fleet: Fleet, scenarios: Sequence[Scenario], sides: Sequence[str], reps: int, tell: Tell) -> Results:
    """Measure all scenarios on all sides; what fails is told and left out."""
    results: Results = {}
    for number, scenario in enumerate(scenarios, 1):
        tell(f"[{number}/{len(scenarios)}] {scenario.title}")
        taking = _sides_for(scenario, sides)
        results[scenario.name] = (
            _publish(fleet, scenario, taking, reps, tell)
            if scenario.kind == "publish"
            else (_interleave(fleet, scenario, taking, reps, tell))
        )
    return results


def _sides_for(scenario: Scenario, sides: Sequence[str]) -> list[str]:
    """Start-up and memory always show the interpreted broker too: that is what `make run` starts."""
    taking = list(sides)
    if scenario.kind in ("start", "idle") and "tapelog" in taking and "interpreted" not in taking:
        taking.append("interpreted")
    return taking


def turned(sides: Sequence[str], rep: int) -> list[str]:
    """The order of a repetition: every side is first in its turn."""
    at = rep % len(sides)
    return [*sides[at:], *sides[:at]]


def _interleave(
    fleet: Fleet, scenario: Scenario, sides: Sequence[str], reps: int, tell: Tell
) -> dict[str, list[Figures]]:
    out: dict[str, list[Figures]] = {side: [] for side in sides}
    kept: dict[str, str] = {}
    if scenario.cost and scenario.kind in ("produce", "fetch", "latency", "txn", "commits"):
        for side in sides:
            _lead_in(fleet, scenario, side, kept, tell)
    if scenario.kind == "storm-clients":
        short = replace(scenario, shape=replace(scenario.shape, secs=min(scenario.shape.secs, STORM_LEAD_IN_S)))
        for side in sides:
            _once_unmeasured(fleet, short, side, tell)
    for rep in range(min(reps, STORM_REPS.get(scenario.kind, reps))):
        for side in turned(sides, rep):
            try:
                figures = _once(fleet, scenario, side, rep, kept)
            except (LoadError, Missing, AdminError, OSError) as problem:
                tell(f"    {side}: no figure: {problem}")
                continue
            out[side].append({**figures, "rep": float(rep)})
            tell(f"    {side:<12} {_short(scenario, figures)}")
    for side, topic in kept.items():
        fleet.drop(fleet.get(side), topic)
    return out


def _lead_in(fleet: Fleet, scenario: Scenario, side: str, kept: dict[str, str], tell: Tell) -> None:
    """Run without measuring until the side no longer gets cheaper: a virtual machine still compiles for new work."""
    costs: list[float] = []
    try:
        while not settled(costs):
            costs.append(_once(fleet, scenario, side, -1, kept)[scenario.cost])
    except (LoadError, Missing, AdminError, OSError) as problem:
        tell(f"    {side}: lead-in: {problem}")


def _once_unmeasured(fleet: Fleet, scenario: Scenario, side: str, tell: Tell) -> None:
    try:
        _once(fleet, scenario, side, -1, {})
    except (LoadError, Missing, AdminError, OSError) as problem:
        tell(f"    {side}: lead-in: {problem}")


def settled(costs: Sequence[float]) -> bool:
    """Whether the last run was hardly cheaper than the best before it; or there have been enough."""
    if len(costs) >= LEAD_IN_MAX:
        return True
    return len(costs) > 1 and costs[-1] > min(costs[:-1]) * LEAD_IN_GAIN


def _short(scenario: Scenario, figures: Figures) -> str:
    names = [scenario.headline, *([scenario.cost] if scenario.cost else []), "p99_us", "other_pct"]
    return "  ".join(f"{name} {figures[name]:,.4g}" for name in names if name in figures)


def _once(fleet: Fleet, scenario: Scenario, side: str, rep: int, kept: dict[str, str]) -> Figures:
    if scenario.kind in ("start", "idle"):
        return _start(fleet, scenario, side, rep)
    if scenario.kind == "load":
        return coordination.load(fleet, side, rep)
    server = fleet.get(side, fsync=scenario.fsync)
    if scenario.kind in ("txn", "members", "commits", "storm", "storm-clients"):
        return coordination.once(fleet, server, scenario)
    if scenario.kind == "partitions":
        return _partitions(server, rep)
    if scenario.kind == "fetch":
        if side not in kept:
            kept[side] = fleet.topic(server, scenario)
            fleet.fill(server, kept[side], scenario.shape.partitions)
        return fleet.drive(server, kept[side], scenario)
    topic = fleet.topic(server, scenario)
    try:
        return fleet.drive(server, topic, scenario)
    finally:
        fleet.drop(server, topic)


def _start(fleet: Fleet, scenario: Scenario, side: str, rep: int) -> Figures:
    """A fresh process on an empty data folder (Kafka's is formatted before), then again on what it left."""
    server = fleet.make(side, label=f"-{scenario.kind}-{rep}")
    try:
        first = server.start()
        if scenario.kind == "idle":
            before = procs.cpu_s(server.pid)
            time.sleep(IDLE_S)
            used = procs.cpu_s(server.pid) - before
            memory = {"memory_mb": procs.memory_mb(server.pid, "Rss"), "pss_mb": procs.memory_mb(server.pid)}
            return {**memory, "idle_cpu_pct": used / IDLE_S * 100}
        server.stop()
        return {"start_s": first, "restart_s": server.start()}
    finally:
        server.stop()
        server.wipe()


def _partitions(server: Side, rep: int) -> Figures:
    """From sending CreateTopics until every partition answers ListOffsets."""
    topic = f"bench-many-{rep}"
    with admin.Admin(server.port) as a:
        begin, cpu = time.monotonic(), procs.cpu_s(server.pid)
        a.create(topic, PARTITIONS, {})
        created = time.monotonic() - begin
        a.wait_online(topic, PARTITIONS)
        figures = {"online_s": time.monotonic() - begin, "created_s": created, "cpu_s": procs.cpu_s(server.pid) - cpu}
        a.delete(topic)
    _calm(server)
    return figures


def _calm(server: Side, wait_s: float = 15.0) -> None:
    """Until the server is done with work it does behind our back (bounded)."""
    end = time.monotonic() + wait_s
    while time.monotonic() < end:
        before = procs.cpu_s(server.pid)
        time.sleep(0.5)
        if procs.cpu_s(server.pid) - before < 0.05:
            return


def _publish(fleet: Fleet, scenario: Scenario, sides: Sequence[str], reps: int, tell: Tell) -> dict[str, list[Figures]]:
    """Our two sides in both flush modes, and every other message broker that is installed, one after another."""
    runs = others.runs(fleet, scenario, sides)
    out: dict[str, list[Figures]] = {name: [] for name in runs}
    try:
        for rep in range(reps):
            for name in turned(list(runs), rep):
                try:
                    figures = runs[name].once()
                except (LoadError, Missing, AdminError, OSError) as problem:
                    tell(f"    {name}: no figure: {problem}")
                    continue
                out[name].append({**figures, "rep": float(rep)})
                tell(f"    {name:<22} {_short(scenario, figures)}")
    finally:
        for made in runs.values():
            made.close()
    return {name: samples for name, samples in out.items() if samples}
