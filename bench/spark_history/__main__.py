"""History from object storage, read by Spark: broker CPU seconds per 10 GB, and MB/s, beside the same read by Fetch.

`python -m bench.spark_history --mb 2048 --reps 5 --json FILE` (`--server versitygw` or `moto` for S3)

A topic is written, and all but its last segments leave the broker's disk for an S3 server, or for a directory, which
needs no server. The broker is started anew, with the pauses between its rounds that it has by default. Then Spark reads
the rest of the topic again and again, in turn straight from the store (`history`) and through the broker (`fetch`),
counting rows and bytes. CPU is that of the broker's process from the beginning of a read to its end, idling included.
PYTHON is one with PySpark; `--pause` waits for a line on standard input when everything is ready, to measure alone on
the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import procs
from bench.sides import REPOSITORY, Missing
from bench.tier_reads.servers import KEYS, SERVERS, Server
from bench.tier_reads.stage import URL, Stage

TOPIC = "history"
WAYS = ["history", "fetch"]
AIM = 1.0
"""Broker CPU seconds per 10 GB, at most."""


class Directory(Server):
    """No server: the tier is a directory, which broker and Spark both see."""

    name = "directory"

    def start(self) -> None:
        """Only the directory."""
        self.endpoint = ""
        self.folder.mkdir(parents=True, exist_ok=True)

    def stop(self) -> None:
        """It goes with the bench's own directory."""


PLACES = SERVERS | {"directory": Directory}


class Session:
    """Spark, in a process of its own."""

    def __init__(self, python: str, slots: int, folder: Path) -> None:
        receiving, sending = os.pipe()
        words = [python, str(Path(__file__).with_name("reader.py")), str(sending), str(slots)]
        env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
        self._log = folder / "spark.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=log, stderr=log, env=env, pass_fds=(sending,), text=True
            )
        os.close(sending)
        self._answers = os.fdopen(receiving)
        self.version = self._answer()["pyspark"]

    def read(self, options: dict[str, str]) -> dict[str, Any]:
        """One read."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(options) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def cpu_s(self) -> float:
        """Of the JVM and its Python workers."""
        return procs.cpu_s(self._process.pid)

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            raise Missing(f"Spark ended: {self._log.read_text(errors='replace')[-1500:]}")
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise Missing(str(found["error"]))
        return found

    def stop(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def options(stage: Stage, way: str, columns: str) -> dict[str, str]:
    """What Spark is told: everything that only the store has."""
    ends = {str(number): offset for number, offset in enumerate(stage.until[TOPIC])}
    given = {"kafka.bootstrap.servers": stage.address, "subscribe": TOPIC, "columns": columns}
    given["endingOffsets"] = json.dumps({TOPIC: ends})
    if way == "history" and isinstance(stage.server, Directory):
        given["tier.url"] = stage.broker.settings["tapelog.tier.url"]
    elif way == "history":
        given |= {
            "tier.url": URL,
            "tier.endpoint": stage.server.endpoint,
            "tier.accessKeyId": KEYS["AWS_ACCESS_KEY_ID"],
            "tier.secretAccessKey": KEYS["AWS_SECRET_ACCESS_KEY"],
            "tier.region": KEYS.get("AWS_REGION", "us-east-1"),
        }
    return given


def measure(
    stage: Stage, session: Session, reps: int, columns: str, ways: list[str]
) -> dict[str, list[dict[str, float]]]:
    """These ways in turn, once unmeasured."""
    results: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for rep in range(reps + 1):
        for way in ways if rep % 2 else reversed(ways):
            broker, spark = procs.cpu_s(stage.broker.pid), session.cpu_s()
            found = session.read(options(stage, way, columns))
            broker, spark = procs.cpu_s(stage.broker.pid) - broker, session.cpu_s() - spark
            gigabytes = found["bytes"] / 1e9
            one = {
                "mb_s": found["bytes"] / found["seconds"] / 1e6,
                "seconds": found["seconds"],
                "gigabytes": gigabytes,
                "rows": found["rows"],
                "broker_cpu_s_per_10_gb": broker * 10 / gigabytes,
                "spark_cpu_s_per_gb": spark / gigabytes,
            }
            shown = f"{one['mb_s']:7.0f} MB/s, broker {one['broker_cpu_s_per_10_gb']:.2f} CPU s per 10 GB"
            sys.stderr.write(f"{rep or 'warm'} {way:8} {found['rows']} rows in {found['seconds']:.1f} s, {shown}\n")
            if rep:
                results[way].append(one)
    return results


def table(results: dict[str, list[dict[str, float]]]) -> str:
    """As Markdown: of all repetitions together."""
    lines = ["| read | GB | MB/s | broker CPU s per 10 GB | Spark CPU s per GB |", "|---|---|---|---|---|"]
    for way, samples in results.items():
        total, seconds = sum(one["gigabytes"] for one in samples), sum(one["seconds"] for one in samples)
        broker = sum(one["broker_cpu_s_per_10_gb"] * one["gigabytes"] for one in samples) / total
        spark = sum(one["spark_cpu_s_per_gb"] * one["gigabytes"] for one in samples) / total
        lines.append(f"| {way} | {total:.1f} | {total * 1000 / seconds:.0f} | {broker:.2f} | {spark:.2f} |")
    return "\n".join(lines)


def _stage(server: str, folder: Path, interpreted: bool) -> Stage:
    stage = Stage(PLACES[server](folder / "store"), folder, interpreted, {})
    if server == "directory":
        del stage.broker.settings["tapelog.tier.endpoint"]
        stage.broker.settings["tapelog.tier.url"] = f"file://{folder / 'store'}"
    return stage


def _restart(stage: Stage) -> None:
    """With the broker's own pace: to fill, it looked for segments twice a second."""
    stage.broker.stop()
    del stage.broker.settings["log.retention.check.interval.ms"]
    stage.broker.start()


def main() -> int:
    """Fill, measure, tell."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark_history", description=__doc__)
    parser.add_argument("--server", choices=sorted(PLACES), default="directory")
    parser.add_argument("--mb", type=int, default=1024)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--record-bytes", type=int, default=1024)
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--columns", default="value")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--python", default=sys.executable, help="one with PySpark")
    parser.add_argument("--interpreted", action="store_true", help="ignore compiled modules")
    parser.add_argument("--pause", action="store_true", help="wait for a line before measuring")
    parser.add_argument("--json", type=Path, help="every repetition, here")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped
    if asked.interpreted:
        os.environ["TAPELOG_HOT"] = "interpreted"
    with tempfile.TemporaryDirectory(prefix="spark-history-") as name:
        folder = Path(name)
        session: Session | None = None
        try:
            stage = _stage(asked.server, folder, asked.interpreted)
        except Missing as error:
            sys.stderr.write(f"{error}\n")
            return 1
        try:
            stage.start()
            sys.stderr.write(f"{asked.mb} MB into {asked.partitions} partitions\n")
            stage.fill(TOPIC, asked.partitions, asked.mb << 20, asked.record_bytes)
            _restart(stage)
            session = Session(asked.python, asked.slots, folder)
            if asked.pause:
                sys.stderr.write("ready\n")
                sys.stdin.readline()
            results = measure(stage, session, asked.reps, asked.columns, asked.ways)
        except Missing as error:
            sys.stderr.write(f"{error}\n")
            return 1
        finally:
            if session is not None:
                session.stop()
            stage.stop()
    print(table(results))
    if asked.json is not None:
        about = {"server": asked.server, "mb": asked.mb, "record_bytes": asked.record_bytes, "aim": AIM}
        asked.json.write_text(json.dumps({**about, "results": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
