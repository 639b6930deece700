"""From repetitions to a table and a chart: `python -m bench.tier_reads.report A.json B.json --svg FILE`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench.chart import Bar, svg
from bench.report import ratio, spread
from bench.tier_reads.stage import RAW, Figures

AIM = 0.7
COLUMNS = ("S3 server", "partitions", "reader", "MB/s", "of raw (min–max)", "of raw-16 (min–max)")
COLUMNS_CPU = ("CPU s/GB: server", "broker", "client", "in all", "broker's peak MB")

Results = dict[str, dict[str, list[Figures]]]


def heading() -> str:
    """The head of the table."""
    columns = (*COLUMNS, *COLUMNS_CPU)
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def rows(server: str, results: Results) -> str:
    """A line for each reader of each topic."""
    lines = []
    for count, ways in results.items():
        for way in sorted(ways, key=("raw", "raw-16", "librdkafka", "plain").index):
            samples = ways[way]
            parties = [_middle(samples, figure) for figure in ("server_cpu", "broker_cpu", "client_cpu")]
            through = way not in RAW
            cells = [server, count, way, f"{_middle(samples, 'mb_s'):,.0f}"]
            cells += [_ratio(samples, ways.get(raw, [])) if through else "" for raw in RAW]
            cells += [f"{parties[0]:.2f}", f"{parties[1]:.2f}" if through else "", f"{parties[2]:.2f}"]
            cells.append(f"{sum(parties):.2f}")
            cells.append(f"{_middle(samples, 'broker_peak_mb'):,.0f}" if through else "")
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _ratio(samples: list[Figures], raw: list[Figures]) -> str:
    found = ratio(samples, raw, "mb_s")
    return "" if found is None else f"{found.median:.2f} ({found.low:.2f}–{found.high:.2f})"


def _middle(samples: list[Figures], figure: str) -> float:
    found = spread(samples, figure)
    assert found is not None
    return found.median


def bars(server: str, results: Results) -> list[Bar]:
    """The speed through the broker as a part of the server's own, asked for in whichever way it is the faster."""
    out = []
    for count, ways in results.items():
        own = max((raw for raw in RAW if raw in ways), key=lambda raw: _middle(ways[raw], "mb_s"))
        for way in ("librdkafka", "plain"):
            found = ratio(ways.get(way, []), ways[own], "mb_s")
            if found is not None:
                label = f"{server}, {count} partition{'s' if count != '1' else ''}, {way}"
                out.append(Bar(label, found, AIM, found.median >= AIM))
    return out


def main() -> None:
    """Tables of several runs, and one chart."""
    parser = argparse.ArgumentParser(prog="python -m bench.tier_reads.report", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, help="what --json of the bench has written")
    parser.add_argument("--svg", type=Path)
    asked = parser.parse_args()
    found = [json.loads(path.read_text()) for path in asked.runs]
    print(heading())
    for run in found:
        print(rows(run["server"], run["results"]))
    if asked.svg is not None:
        all_bars = [bar for run in found for bar in bars(run["server"], run["results"])]
        title = "Cold reads through the broker, as a part of the S3 server's own speed (1× is all of it)"
        about = (
            f"commit {found[0]['commit']}, server, broker and client on the same two cores; the mark is the aim, 0.7×"
        )
        asked.svg.write_text(svg(title, about, all_bars))


if __name__ == "__main__":
    main()
