"""Producers ten times as fast as the disk, for minutes: memory over time, as a table, JSON and a picture.

`python -m bench.overload 200 --json bench/results/overload.json` (needs gcc; see tests/chaos/overload.py).
Eight producers keep 160 requests of a megabyte under way into a disk of 8 MB/s, 20 consumers ask and do not read, eight
read from the beginning, a little too slowly. At the end the broker is killed, and a consumer looks whether everything
acknowledged is there.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
from dataclasses import asdict
from pathlib import Path

from tapelog.testing.broker import Broker
from tests.chaos.overload import DISK_BYTES_PER_SECOND, MB, Sample, SlowBroker, Story, overload, stored

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 980, 340, 70, 60, 40
COLOURS = {"memory of the broker, MB": "#2a78b8", "written and not durable, MB": "#c4552d"}


def measure(seconds: float) -> tuple[Story, int]:
    """Flood, kill, look: the story, and how many acknowledged records are not there."""
    with tempfile.TemporaryDirectory(prefix="overload-") as directory:
        slow = SlowBroker(Path(directory))
        with slow.broker:
            story = overload(slow, seconds)
            os.kill(slow.broker.pid, signal.SIGKILL)
        with Broker(data=slow.data) as again:
            found = stored(again.bootstrap, story.acknowledged)
    return story, sum(found.get(where) != key for where, key in story.acknowledged.items())


def table(story: Story, lost: int, rows: int = 20) -> str:
    """What was seen, in Markdown."""
    out = [
        "| second | memory MB | written MB | durable MB | stopped ms | acknowledged | slow consumers read MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in story.samples[:: max(1, len(story.samples) // rows)]:
        out.append(
            f"| {one.second:.0f} | {one.memory / MB:.1f} | {one.written / MB:,.0f} | {one.synced / MB:,.0f} "
            f"| {one.stopped_ms} | {one.acknowledged:,} | {one.read / MB:,.0f} |"
        )
    first, last = story.samples[0], story.samples[-1]
    rate = (last.synced - first.synced) / (last.second - first.second) / DISK_BYTES_PER_SECOND
    out.append("")
    out.append(
        f"Acknowledged: {len(story.acknowledged):,} of a megabyte each, of which {lost} were missing after kill -9; "
        f"refused: {len(story.failures)}; slowest answer to a bystander: {story.slowest_s * 1000:.0f} ms; "
        f"the disk was busy {rate:.0%} of the time."
    )
    return "\n".join(out)


def picture(samples: list[Sample]) -> str:
    """Memory, and what is ahead of the disk, over time: one SVG."""
    lines = {
        "memory of the broker, MB": [one.memory / MB for one in samples],
        "written and not durable, MB": [(one.written - one.synced) / MB for one in samples],
    }
    top = 1.25 * max(max(values) for values in lines.values())
    end = samples[-1].second

    def place(second: float, value: float) -> str:
        x = LEFT + (WIDTH - LEFT - 20) * second / end
        return f"{x:.1f},{HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top:.1f}"

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">']
    out.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    for number, (name, values) in enumerate(lines.items()):
        points = " ".join(place(one.second, value) for one, value in zip(samples, values, strict=True))
        out.append(f'<polyline fill="none" stroke="{COLOURS[name]}" stroke-width="2" points="{points}"/>')
        out.append(f'<text x="{LEFT + 300 * number}" y="30" fill="{COLOURS[name]}" font-size="14">{name}</text>')
    for step in range(5):
        x, y = place(0, top * step / 4).split(",")
        out.append(f'<text x="{float(x) - 10}" y="{y}" font-size="12" text-anchor="end">{top * step / 4:.0f}</text>')
        out.append(f'<line x1="{x}" x2="{WIDTH - 20}" y1="{y}" y2="{y}" stroke="#c9ced6" stroke-width="0.5"/>')
        x, _ = place(end * step / 4, 0).split(",")
        out.append(f'<text x="{x}" y="{HEIGHT - 15}" font-size="12" text-anchor="middle">{end * step / 4:.0f} s</text>')
    return "\n".join([*out, "</svg>", ""])


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float, nargs="?", default=200.0)
    parser.add_argument("--json", type=Path, help="write every sample here, and the picture beside it (.svg)")
    asked = parser.parse_args()
    story, lost = measure(asked.seconds)
    print(table(story, lost))
    if asked.json is not None:
        told = {
            "samples": [asdict(one) for one in story.samples],
            "acknowledged": len(story.acknowledged),
            "lost": lost,
            "failures": story.failures,
            "slowest_s": story.slowest_s,
        }
        asked.json.write_text(json.dumps(told, indent=1) + "\n")
        asked.json.with_suffix(".svg").write_text(picture(story.samples))


if __name__ == "__main__":
    main()
