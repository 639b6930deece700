"""python -m tests.spark.kills: see the package. Needs PySpark, Java, and for --on kafka its jars.

Example: python -m tests.spark.kills --rounds 30 --on tapelog --report out.json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from tests.spark.kills.accounts import Feeder, LakeReader, Reader, compared, whole
from tests.spark.kills.brokers import Brokers, Kafka, Tapelog
from tests.spark.kills.moments import WAYS, LakeOutput, Moments, Output, TopicOutput
from tests.spark.kills.rounds import VICTIMS, Harness, summary
from tests.spark.kills.standalone import ROOT, Driver, Standalone

END_S_MAX = 300.0
"""How long the rows that were fed last may take. What has not come out by then is missing."""
PARTITIONS = 4


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--on", choices=("tapelog", "kafka"), default="tapelog")
    parser.add_argument("--nodes", type=int, default=1, help="of Tapelog")
    parser.add_argument("--delivery", choices=("exactlyOnce", "atLeastOnce"), default="exactlyOnce")
    parser.add_argument("--sink", choices=("topic", "lake"), default="topic")
    parser.add_argument("--executors", type=int, default=2, help="0: local mode, without an archive")
    parser.add_argument("--victims", default=",".join(VICTIMS), help="whom to choose among, separated by commas")
    parser.add_argument("--in-turn", action="store_true", help="not by chance: the victims one after the other")
    parser.add_argument("--moments", default=",".join(WAYS), help="what to wait for before a kill, chosen among")
    parser.add_argument("--archive", default="", help="made by tape spark pack; made anew if not given")
    parser.add_argument("--rate", type=int, default=150, help="rows per second that are fed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="a file for the result as JSON")
    args = parser.parse_args(given)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit("told to end"))
    result = run(args)
    print(json.dumps(result, indent=1), flush=True)
    if args.report:
        args.report.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if result["missing"] == result["twice"] == result["strange"] == result["hidden"] == 0 else 1


def run(args: argparse.Namespace) -> dict[str, Any]:
    """All rounds; what came of them."""
    place = Path(tempfile.mkdtemp(prefix="tapelog-kills-"))
    brokers: Brokers
    brokers = Kafka() if args.on == "kafka" else Tapelog(args.nodes)
    told = {name: getattr(args, name) for name in ("on", "sink", "delivery", "executors", "seed")}
    try:
        archive = _archive(args, place)
        with brokers:
            return told | _rounds(args, place, archive, brokers)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _rounds(args: argparse.Namespace, place: Path, archive: str, brokers: Brokers) -> dict[str, Any]:
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    source, topic = _topics(brokers)
    target = _lake(place) if args.sink == "lake" else topic
    spark = Standalone(place, args.executors)
    checkpoint = place / "checkpoint"
    options = {"master": spark.master, "archive": archive, "bootstrap": brokers.bootstrap, "source": source}
    options |= {"target": target, "checkpoint": str(checkpoint), "delivery": args.delivery, "sink": args.sink}
    driver = Driver(place, [f"--{name}={value}" for name, value in options.items()])
    lake = args.sink == "lake"
    reader = LakeReader(target) if lake else Reader(brokers.bootstrap, target, PARTITIONS)
    output = LakeOutput(target) if lake else TopicOutput(brokers.bootstrap, target, PARTITIONS)
    feeder = Feeder(brokers.bootstrap, source, args.rate, lambda: len(reader.seen))
    chance, moments = random.Random(args.seed), Moments(checkpoint, output, tuple(args.moments.split(",")))
    victims = tuple(args.victims.split(","))
    harness = Harness(spark, driver, brokers, reader, moments, chance, say)
    try:
        feeder.start()
        reader.start()
        harness.progress(0)
        say(f"the query runs: {args.delivery}, {args.on}, {spark.master}")
        for number in range(1, args.rounds + 1):
            harness.round(number, victims[(number - 1) % len(victims)] if args.in_turn else chance.choice(victims))
        fed = feeder.stop()
        say(f"{fed} rows were fed: waiting for the rest of {fed - len(reader.seen)}")
        _wait_for_all(harness, output, fed)
    finally:
        driver.end()
        spark.stop()
        reader.stop()
    put_in = compared(fed, [row.number for row in whole(brokers.bootstrap, source, PARTITIONS)])
    assert put_in["missing"] == put_in["twice"] == put_in["strange"] == 0, f"the input itself is wrong: {put_in}"
    verdict = compared(fed, output.numbers()) | {"hidden": output.hidden()}
    return summary(harness, args.rounds, time.monotonic() - began) | verdict | {"hit": moments.phases(feeder.place)}


def _topics(brokers: Brokers) -> tuple[str, str]:
    """A fresh one to read and a fresh one to write."""
    source, target = (f"kills-{name}-{uuid.uuid4().hex[:6]}" for name in ("in", "out"))
    admin = AdminClient({"bootstrap.servers": brokers.bootstrap, "log_level": 0})
    new = [NewTopic(name, PARTITIONS, brokers.replicas) for name in (source, target)]
    for made in admin.create_topics(new).values():
        made.result(60)
    return source, target


def _lake(place: Path) -> str:
    (place / "lake").mkdir()
    return f"file://{place}/lake/orders"


def _wait_for_all(harness: Harness, output: Output, fed: int) -> None:
    """Until every number was seen and nothing is hidden or under way any more; or the time is over."""
    over = time.monotonic() + END_S_MAX
    while time.monotonic() < over:
        if len(harness.reader.seen) >= fed and harness.moments.under_way() is None and not output.hidden():
            return
        harness.keep_running(0.5)


def _archive(args: argparse.Namespace, place: Path) -> str:
    if not args.executors:
        return ""
    if args.archive:
        return str(Path(args.archive).resolve())
    made = place / "tapelog-spark.tar"
    command = [sys.executable, "-m", "tapelog", "spark", "pack", "-o", str(made), "--leave-out", "pandas"]
    subprocess.run([*command, "--leave-out", "numpy"], check=True, cwd=ROOT, env=_with_sources(), capture_output=True)
    return str(made)


def _with_sources() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT / "src")}


if __name__ == "__main__":
    sys.exit(main())
