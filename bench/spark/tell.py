"""From repetitions to a page: a table for each broker, what was promised, and a chart of the ratios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.chart import Bar, svg
from bench.load import Figures
from bench.report import Spread, ratio, spread
from bench.spark.measure import Results, key
from bench.spark.scenes import BROKERS, MODES, OURS, SCENES, STOCK, TUNED, Scene

NAMES = {"kafka": "Apache Kafka", "tapelog": "Tapelog"}
NEVER_SLOWER = 0.97
"""Of the tuned connector: less than this is slower; the rest is noise."""


def times(results: dict[str, list[Figures]], broker: str, mode: str, rival: str) -> Spread | None:
    """How many times as fast as this one ours is, pairing what ran in the same round."""
    ours, theirs = results.get(key(broker, mode, OURS), []), results.get(key(broker, mode, rival), [])
    return ratio(ours, theirs, "rows_s")


def table(results: Results) -> str:
    """Everything read without decoding."""
    head = ["read", "broker", "mode", "official, s", "tuned, s", "tapelog, s", "against stock", "against tuned"]
    head += ["Spark CPU s: official, tuned, tapelog", "broker CPU s: official, tuned, tapelog", "promise"]
    lines = [_row(head), "|" + "---|" * len(head)]
    for scene, broker, mode, found in _measured(results, avro=False):
        stock, tuned = times(found, broker, mode, STOCK), times(found, broker, mode, TUNED)
        cells = [scene.title, NAMES[broker], mode]
        cells += [_seconds(found.get(key(broker, mode, source), [])) for source in scene.sources]
        cells += [_times(stock), _times(tuned)]
        for figure in ("spark_cpu_s", "broker_cpu_s"):
            cells.append(", ".join(_middle(found.get(key(broker, mode, s), []), figure) for s in scene.sources))
        lines.append(_row([*cells, _verdict(scene, stock, tuned)]))
    return "\n".join(lines)


def avro_table(results: Results) -> str:
    """Reads that decode Avro."""
    lines = ["| read | broker | mode | by | s | tapelog against it | Spark CPU s | promise |", "|" + "---|" * 8]
    for scene, broker, mode, found in _measured(results, avro=True):
        for source in scene.sources:
            samples = found.get(key(broker, mode, source), [])
            if samples:
                against = None if source == OURS else times(found, broker, mode, source)
                met = "" if against is None or source != scene.rival else _word(against.median >= scene.at_least, scene)
                cells = [
                    scene.title,
                    NAMES[broker],
                    mode,
                    source,
                    _seconds(samples),
                    _times(against) if against else "",
                ]
                lines.append(_row([*cells, _middle(samples, "spark_cpu_s"), met]))
    return "\n".join(lines) if len(lines) > 2 else ""


def chart(document: dict[str, Any]) -> str:
    """Ratios to the stock connector; marks are what was promised."""
    rows = []
    for avro in (False, True):
        for scene, broker, mode, found in _measured(document["results"], avro=avro):
            value = times(found, broker, mode, scene.rival)
            if value is not None:
                label = f"{scene.title}, {NAMES[broker]}, {mode}"
                rows.append(Bar(label, value, scene.at_least, value.median >= scene.at_least))
    title = 'Reading topics in Spark: format("tapelog") against Spark\'s own Kafka connector'
    about = f"{versions(document)}; times as fast as stock, lines from lowest to highest"
    return svg(title, about, rows)


def versions(document: dict[str, Any]) -> str:
    """Of everything that took part."""
    compiled = "compiled" if document["compiled"] else "interpreted"
    return f"PySpark {document['pyspark']}, connector {document['connector']}, commit {document['commit']}, {compiled}"


def merged(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What this run measured beside what earlier ones did; what was measured again is replaced."""
    kept = before.get("results", {})
    return {**before, **now, "results": kept | {name: kept.get(name, {}) | new for name, new in now["results"].items()}}


def write(path: Path, document: dict[str, Any]) -> None:
    """The figures, and the chart beside them."""
    path.write_text(json.dumps(document, indent=1) + "\n")
    path.with_suffix(".svg").write_text(chart(document))


def _measured(results: Results, *, avro: bool) -> list[tuple[Scene, str, str, dict[str, list[Figures]]]]:
    return [
        (scene, broker, mode, results[scene.name])
        for scene in SCENES
        if scene.name in results and scene.avro == avro
        for broker in BROKERS
        for mode in MODES
        if any(name.startswith(key(broker, mode, "")) for name in results[scene.name])
    ]


def _verdict(scene: Scene, stock: Spread | None, tuned: Spread | None) -> str:
    words = [] if stock is None else [_word(stock.median >= scene.at_least, scene)]
    if tuned is not None and tuned.median < NEVER_SLOWER:
        words.append("SLOWER than tuned")
    return ", ".join(words)


def _word(met: bool, scene: Scene) -> str:
    return f"≥ {scene.at_least:g}× {'met' if met else 'MISSED'}"


def _times(value: Spread | None) -> str:
    return f"{value.median:.2f}× ({value.low:.2f}–{value.high:.2f})" if value else "–"


def _seconds(samples: list[Figures]) -> str:
    found = spread(samples, "seconds")
    return f"{found.median:.2f} ({found.low:.2f}–{found.high:.2f})" if found else "–"


def _middle(samples: list[Figures], figure: str) -> str:
    found = spread(samples, figure)
    return f"{found.median:.1f}" if found else "–"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
