"""From figures to a table: medians, ratios with their spread, promises met or missed; and the JSON document."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.load import Figures
from bench.runner import Results
from bench.scenarios import Scenario
from bench.sides import KAFKA_VERSION, REPOSITORY

UNITS = {
    "req_s": ("req/s", 1.0),
    "mb_s": ("MB/s", 1.0),
    "cpu_us_req": ("µs CPU/req", 1.0),
    "cpu_s_gb": ("CPU s/GB", 1.0),
    "p50_us": ("µs", 1.0),
    "start_s": ("s", 1.0),
    "online_s": ("s", 1.0),
    "memory_mb": ("MB", 1.0),
    "idle_cpu_pct": ("% CPU", 1.0),
    "txn_s": ("txn/s", 1.0),
    "cpu_us_txn": ("µs CPU/txn", 1.0),
    "rebalance_s": ("s", 1.0),
    "cpu_s": ("CPU s", 1.0),
    "commits_s": ("commits/s", 1.0),
    "back_s": ("s", 1.0),
    "still_p50_s": ("s", 1.0),
}
LOWER_IS_BETTER = (
    *("cpu_us_req", "cpu_s_gb", "p50_us", "p99_us", "start_s", "online_s", "memory_mb", "idle_cpu_pct"),
    *("cpu_us_txn", "rebalance_s", "cpu_s", "back_s", "still_p50_s"),
)
NOISY_PCT = 8.0
STORM_PARTS = ("p50", "p99", "max")
CLIENT_COUNTS = {
    "moved": "moved",
    "sent": "records",
    "missing": "missing",
    "twice": "twice",
    "stuck": "could not leave",
    "leave_max_s": "slowest leave, s",
}


@dataclass(frozen=True, slots=True)
class Spread:
    """Middle, lowest and highest of some repetitions."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread | None:
        """None when there is nothing to summarise."""
        return Spread(statistics.median(values), min(values), max(values)) if values else None


def spread(samples: Sequence[Figures], figure: str) -> Spread | None:
    """Of one figure over the repetitions of one side."""
    return Spread.of([s[figure] for s in samples if figure in s])


def ratio(ours: Sequence[Figures], theirs: Sequence[Figures], figure: str) -> Spread | None:
    """Ours divided by theirs, pairing what ran in the same repetition, so that a busy moment hits both."""
    other = {s["rep"]: s[figure] for s in theirs if figure in s}
    return Spread.of([s[figure] / other[s["rep"]] for s in ours if figure in s and other.get(s["rep"])])


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one promise."""

    scenario: str
    side: str
    figure: str
    promise: str
    value: Spread
    met: bool


def verdicts(scenario: Scenario, results: dict[str, list[Figures]]) -> list[Verdict]:
    """One for every promise of the scenario and every side of ours that was measured; the median decides."""
    out = []
    for side in ("tapelog", "interpreted"):
        for target in scenario.targets:
            ours = results.get(side, [])
            value = (
                spread(ours, target.figure) if target.absolute else ratio(ours, results.get("kafka", []), target.figure)
            )
            if value is not None and (side == "tapelog" or target.absolute):
                out.append(Verdict(scenario.name, side, target.figure, str(target), value, target.met(value.median)))
    return out


def number(value: float) -> str:
    """Three significant digits, thousands separated."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _with_unit(value: Spread | None, figure: str) -> str:
    return f"{number(value.median)} {UNITS.get(figure, (figure,))[0]}" if value else "–"


def _times(value: Spread | None) -> str:
    return f"{value.median:.2f}× ({value.low:.2f}–{value.high:.2f})" if value else "–"


def table(scenarios: Sequence[Scenario], results: Results) -> str:
    """The main comparison as aligned text (also good as Markdown)."""
    rows = [
        ["scenario", "Tapelog", "Kafka", "ratio (min–max)", "cost Tapelog", "cost Kafka", "ratio (min–max)", "promise"]
    ]
    for scenario in scenarios:
        if scenario.kind == "publish" or scenario.name not in results:
            continue
        sides = results[scenario.name]
        kafka = sides.get("kafka", [])
        for side in ("tapelog", "interpreted"):
            ours = sides.get(side, [])
            if not ours and (side == "interpreted" or not kafka):
                continue
            row = [scenario.title + (" (interpreted)" if side == "interpreted" else "")]
            for figure in (scenario.headline, scenario.cost):
                row += [_with_unit(spread(ours, figure), figure), _with_unit(spread(kafka, figure), figure)]
                row.append(_times(ratio(ours, kafka, figure)))
            found = [v for v in verdicts(scenario, sides) if v.side == side]
            row.append(", ".join(f"{v.promise} {'met' if v.met else 'MISSED'}" for v in found))
            rows.append(row)
    return _align(rows)


def latency_table(scenarios: Sequence[Scenario], results: Results) -> str:
    """The tails of the latency scenarios."""
    rows = [["latency, µs", "side", "p50", "p90", "p99", "p99.9"]]
    for scenario in scenarios:
        if scenario.kind in ("latency", "endtoend"):
            for side, samples in results.get(scenario.name, {}).items():
                middle = [spread(samples, f) for f in ("p50_us", "p90_us", "p99_us", "p999_us")]
                rows.append(
                    [scenario.title.replace(" p50", ""), side, *(number(m.median) if m else "–" for m in middle)]
                )
    return _align(rows) if len(rows) > 1 else ""


def storm_table(scenarios: Sequence[Scenario], results: Results) -> str:
    """How long partitions stood still while members came and went."""
    rows = [["a partition without an owner, s in all", "side", "p50", "p99", "most", "longest gap"]]
    for scenario in scenarios:
        if scenario.kind == "storm":
            for side, samples in results.get(scenario.name, {}).items():
                found = [spread(samples, f) for f in ("still_p50_s", "still_p99_s", "still_max_s", "gap_max_s")]
                rows.append([scenario.title, side, *(f"{m.median:.2f}" if m else "–" for m in found)])
    return _align(rows) if len(rows) > 1 else ""


def clients_table(scenarios: Sequence[Scenario], results: Results) -> str:
    """What librdkafka's consumers saw of a storm: how long partitions stood still, whether every record came once."""
    head = ["seconds without a delivery, lowest and highest of the repetitions in brackets", "side"]
    rows = [[*head, *("sum p50", "p99", "most", "longest gap p50", "p99", "most"), *CLIENT_COUNTS.values()]]
    for scenario in scenarios:
        if scenario.kind == "storm-clients":
            for side, samples in results.get(scenario.name, {}).items():
                times = [spread(samples, f"{what}_{which}_s") for what in ("still", "gap") for which in STORM_PARTS]
                cells = [f"{m.median:.1f} ({m.low:.1f}–{m.high:.1f})" if m else "–" for m in times]
                counts = [spread(samples, figure) for figure in CLIENT_COUNTS]
                rows.append([scenario.title, side, *cells, *(number(m.median) if m else "–" for m in counts)])
    return _align(rows) if len(rows) > 1 else ""


def others_table(scenarios: Sequence[Scenario], results: Results) -> str:
    """All message brokers that were measured at the same publishes."""
    rows = [["1 KiB publishes, confirmed", "msg/s (min–max)", "server CPU µs/msg", "CPU s/GB", "client CPU"]]
    for scenario in scenarios:
        if scenario.kind == "publish":
            for side, samples in results.get(scenario.name, {}).items():
                rate = spread(samples, "req_s")
                if rate:
                    cells = [f"{number(rate.median)} ({number(rate.low)}–{number(rate.high)})"]
                    for figure in ("cpu_us_req", "cpu_s_gb", "client_pct"):
                        value = spread(samples, figure)
                        cells.append(number(value.median) + (" %" if figure == "client_pct" else "") if value else "–")
                    rows.append([side, *cells])
    return _align(rows) if len(rows) > 1 else ""


def noise(results: Results) -> list[str]:
    """Scenarios during which other processes used a good part of the machine."""
    out = []
    for name, sides in results.items():
        worst = max((s.get("other_pct", 0.0) for samples in sides.values() for s in samples), default=0.0)
        if worst > NOISY_PCT:
            out.append(f"{name} ({worst:.0f} %)")
    return out


def _align(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def machine() -> dict[str, object]:
    """Where and with what this ran."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), ""
    )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return {
        "finished": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "kafka": KAFKA_VERSION,
        "kernel": platform.release(),
        "cpu": model,
        "cores": os.cpu_count(),
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def document(scenarios: Sequence[Scenario], results: Results, settings: dict[str, object]) -> str:
    """Everything as JSON: settings, machine, every repetition, the verdicts."""
    judged = [v for s in scenarios for v in verdicts(s, results.get(s.name, {}))]
    out = {
        "machine": machine(),
        "settings": settings,
        "scenarios": {
            s.name: {"title": s.title, "headline": s.headline, "cost": s.cost, "sides": results[s.name]}
            for s in scenarios
            if s.name in results
        },
        "verdicts": [
            {
                "scenario": v.scenario,
                "side": v.side,
                "figure": v.figure,
                "promise": v.promise,
                "median": round(v.value.median, 4),
                "min": round(v.value.low, 4),
                "max": round(v.value.high, 4),
                "met": v.met,
            }
            for v in judged
        ],
    }
    return json.dumps(out, indent=1, ensure_ascii=False) + "\n"
