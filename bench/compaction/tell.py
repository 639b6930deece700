"""The figures as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.load import Figures
from bench.report import Spread

ROWS = (
    ("seconds", "seconds until all is clean", "{:,.0f}"),
    ("mb_s", "MB of log per second", "{:,.1f}"),
    ("cpu_s", "CPU seconds of the cleaner", "{:,.0f}"),
    ("cpu_s_gb", "CPU seconds per GB of log", "{:,.1f}"),
    ("rounds", "rounds", "{:,.0f}"),
    ("memory_mb", "most memory, all processes, MB", "{:,.0f}"),
)


def beside(pairs: Sequence[Mapping[str, Figures]], pooled: Mapping[str, Figures]) -> str:
    """Latencies without and with the cleaner, and their ratio, pair by pair: median, least and greatest; and of all
    requests together."""
    lines = ["| Produce, acks=all, µs | without | with the cleaner | ratio (min–max) |", "|---|---|---|---|"]
    for name in ("p50_us", "p90_us", "p99_us", "p999_us"):
        without, beside_it = (Spread.of([pair[kind][name] for pair in pairs]) for kind in ("without", "with"))
        ratio = Spread.of([pair["with"][name] / pair["without"][name] for pair in pairs])
        if without is not None and beside_it is not None and ratio is not None:
            cells = f"{_cell(without)} | {_cell(beside_it)} | {ratio.median:.2f}× ({ratio.low:.2f}–{ratio.high:.2f})"
            lines.append(f"| {name.removesuffix('_us').replace('p999', 'p99.9')} | {cells} |")
    for name in ("p50_us", "p90_us", "p99_us", "p999_us") if len(pooled) == 2 else ():
        one, other = pooled["without"][name], pooled["with"][name]
        title = name.removesuffix("_us").replace("p999", "p99.9")
        lines.append(f"| {title} of all together | {one:,.0f} | {other:,.0f} | {other / one:.2f}× |")
    share = Spread.of([pair["with"]["cleaner_share"] for pair in pairs])
    speed = Spread.of([pair["with"]["cleaner_mb_s"] for pair in pairs])
    if share is not None and speed is not None:
        lines.append(f"| of a core, the cleaner had | 0 | {share.median:.2f} ({share.low:.2f}–{share.high:.2f}) | |")
        lines.append(f"| MB/s it read and wrote | 0 | {speed.median:,.0f} ({speed.low:,.0f}–{speed.high:,.0f}) | |")
    return "\n".join(lines)


def _cell(value: Spread) -> str:
    return f"{value.median:,.0f} ({value.low:,.0f}–{value.high:,.0f})"


def keys(results: Mapping[str, Figures]) -> str:
    """One column per side."""
    head = "| | " + " | ".join(results) + " |"
    lines = [head, "|---" * (len(results) + 1) + "|"]
    for name, title, form in ROWS:
        lines.append(f"| {title} | " + " | ".join(form.format(one[name]) for one in results.values()) + " |")
    return "\n".join(lines)
