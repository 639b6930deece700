"""Cold reads: MB/s from an S3 server through the broker, against what the server gives to a plain reader.

`python -m bench.tier_reads --server versitygw --mb 1024 --partitions 1,8 --reps 5 --json FILE`

Server, broker and readers share one machine. Four readers in turn, repetition by repetition, the order turning too:
`raw` and `raw-16`, parallel ranged reads of the objects, as many at a time as the broker makes at most, of 4 and 16 MB,
as the broker's smallest and largest are; `librdkafka`, through the broker; and `plain`, a Fetch client that looks at
nothing but offsets. A ratio pairs what ran in the same repetition. `--pause` waits for a line on standard input when
everything is in the store, for who wants to measure alone on the machine.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.sides import REPOSITORY, Missing, Tapelog
from bench.tier_reads.report import AIM, Results, heading, rows
from bench.tier_reads.servers import SERVERS
from bench.tier_reads.stage import Stage

WAYS = ("raw", "raw-16", "librdkafka", "plain")


def measure(stage: Stage, partitions: list[int], reps: int) -> Results:
    """All ways to read all topics, once unmeasured, then so many times."""
    results: Results = {}
    for rep in range(reps + 1):
        for count in partitions:
            turn = rep % len(WAYS)
            for way in (*WAYS[turn:], *WAYS[:turn]):
                found = stage.run(way, f"cold-{count}")
                shown = f"{found['mb_s']:7.0f} MB/s, CPU s/GB: server {found['server_cpu']:.2f}"
                shown += f", broker {found['broker_cpu']:.2f}, client {found['client_cpu']:.2f}"
                shown += f", network {found['network_cpu']:.2f}"
                shown += f"; peak {found['broker_peak_mb']:.0f} MB, others {found['others_cpu_s']:.1f} s"
                sys.stderr.write(f"{rep or 'warm'} {count} partitions {way:10} {shown}\n")
                if rep:
                    results.setdefault(str(count), {}).setdefault(way, []).append({**found, "rep": rep})
    return results


def main() -> int:
    """Fill, measure, tell."""
    parser = argparse.ArgumentParser(prog="python -m bench.tier_reads", description=__doc__)
    parser.add_argument("--server", choices=sorted(SERVERS), default="moto")
    parser.add_argument("--mb", type=int, default=1024, help="of each topic")
    parser.add_argument("--partitions", default="1,8", help="one topic for each number")
    parser.add_argument("--record-bytes", type=int, default=8192)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--interpreted", action="store_true", help="ignore compiled modules")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="settings of the broker")
    parser.add_argument("--pause", action="store_true", help="wait for a line before measuring")
    parser.add_argument("--json", type=Path, help="every repetition, here")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped
    settings = dict(one.split("=", 1) for one in asked.set)
    partitions = [int(count) for count in asked.partitions.split(",")]
    with tempfile.TemporaryDirectory(prefix="tier-reads-") as name:
        folder = Path(name)
        try:
            stage = Stage(SERVERS[asked.server](folder / "store"), folder, asked.interpreted, settings)
        except Missing as error:
            sys.stderr.write(f"{error}\n")
            return 1
        try:
            stage.start()
            for count in partitions:
                sys.stderr.write(f"{asked.mb} MB into {count} partitions\n")
                stage.fill(f"cold-{count}", count, asked.mb << 20, asked.record_bytes)
            if asked.pause:
                sys.stderr.write("ready\n")
                sys.stdin.readline()
            results = measure(stage, partitions, asked.reps)
        except Missing as error:
            sys.stderr.write(f"{error}\n")
            return 1
        finally:
            stage.stop()
    print(heading())
    print(rows(asked.server, results))
    if asked.json is not None:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False
        ).stdout.strip()
        compiled = Tapelog.compiled() and not asked.interpreted
        about = {"server": asked.server, "mb": asked.mb, "record_bytes": asked.record_bytes, "settings": settings}
        found = {**about, "commit": commit, "compiled": compiled, "aim": AIM, "results": results}
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
