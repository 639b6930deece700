"""Read topics in Spark with format("tapelog") and with Spark's own Kafka connector, stock and tuned, in one run.

`python -m bench.spark --only 1k-1m,100b-5m --json bench/results/spark.json`

Needs PySpark in this environment (tools/setup spark) or in that of --python, Java 17, and Maven for the connector's
jars. Brokers, Spark and its workers share the machine; topics are read from the page cache. Runs with the same --json
add their scenes and modes to it.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from bench import report
from bench.sides import REPOSITORY, Missing, Tapelog
from bench.spark import connector, tell
from bench.spark.measure import Results, Stage, minutes
from bench.spark.scenes import BROKERS, FRESH, MODES, SCENES, Scene, select
from bench.spark.session import ReadError, Session


def options() -> argparse.ArgumentParser:
    """The command line."""
    names = ", ".join(scene.name for scene in SCENES)
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__, epilog=f"Scenes: {names}.")
    parser.add_argument("--only", default="", metavar="A,B", help="scenes whose names begin so")
    parser.add_argument("--brokers", default=",".join(BROKERS))
    parser.add_argument("--modes", default=",".join(MODES), help="fresh-…: each read in a session of its own")
    parser.add_argument("--reps", type=int, default=3, help="of short scenes")
    parser.add_argument("--long-reps", type=int, default=2, help="of long scenes (4 M × 1 KiB, 20 M × 100 B)")
    parser.add_argument(
        "--python", default=sys.executable, help="an interpreter with PySpark, for another version of it"
    )
    parser.add_argument("--interpreted", action="store_true", help="ignore compiled modules")
    parser.add_argument("--plan", action="store_true", help="say what would run and how long, fetch the jars, and stop")
    parser.add_argument("--json", type=Path, help="every repetition, here, and a chart beside it (.svg)")
    return parser


def main() -> int:
    """Plan, measure, tell; 2 for bad usage, 1 where something is missing."""
    asked = options().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is stopped
    try:
        scenes = select([name for name in asked.only.split(",") if name])
        spark = pyspark_of(asked.python)
        jars = connector.find(spark, say, avro=any(scene.avro for scene in scenes))
    except (ValueError, Missing) as problem:
        say(str(problem))
        return 2 if isinstance(problem, ValueError) else 1
    brokers, modes = asked.brokers.split(","), asked.modes.split(",")
    about = minutes(scenes, modes, len(brokers), asked.reps, asked.long_reps)
    say(f"PySpark {spark}, connector {jars.version}, spark-avro {jars.avro or 'not to be had'}")
    say(f"{', '.join(scene.name for scene in scenes)}: about {about:.0f} minutes on two cores")
    if asked.plan:
        return 0
    with tempfile.TemporaryDirectory(prefix="bench-spark-") as name:
        try:
            results = run(Path(name), asked, scenes, jars)
        except (Missing, ReadError) as problem:
            say(str(problem))
            return 1
    compiled = Tapelog.compiled() and not asked.interpreted
    document: dict[str, Any] = {
        "pyspark": spark,
        "connector": jars.version,
        "commit": commit(),
        "compiled": compiled,
        "machine": report.machine(),
        "results": results,
    }
    if asked.json is not None:
        before = json.loads(asked.json.read_text()) if asked.json.exists() else {}
        document = tell.merged(before, document)
        tell.write(asked.json, document)
    print(tell.versions(document) + "\n")
    print("\n\n".join(part for part in (tell.table(document["results"]), tell.avro_table(document["results"])) if part))
    return 0


def run(folder: Path, asked: argparse.Namespace, scenes: list[Scene], jars: connector.Connector) -> Results:
    """All scenes; what has been measured is kept when it is interrupted."""
    results: Results = {}
    modes = asked.modes.split(",")
    stage = Stage(
        folder,
        lambda: Session(asked.python, jars.jars, Path(mkdtemp(dir=folder)), interpreted=asked.interpreted),
        asked.brokers.split(","),
        interpreted=asked.interpreted,
        tell=say,
    )
    try:
        stage.start()
        say("warming")
        for scene in {scene.avro: scene for scene in reversed(scenes)}.values():
            stage.warm(scene, [mode for mode in modes if not mode.startswith(FRESH)])
        for number, scene in enumerate(scenes, 1):
            say(f"[{number}/{len(scenes)}] {scene.title}")
            results[scene.name] = stage.run(scene, modes, asked.long_reps if scene.long else asked.reps)
    except KeyboardInterrupt:
        say("interrupted: what has been measured is told")
    finally:
        stage.stop()
    return results


def pyspark_of(python: str) -> str:
    """Which PySpark this interpreter has."""
    words = [python, "-c", "import pyspark; print(pyspark.__version__)"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    if found.returncode:
        raise Missing(f"{python} has no PySpark: tools/setup spark, or name an interpreter with --python")
    return found.stdout.strip()


def commit() -> str:
    """Of this checkout."""
    words = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()


def say(line: str) -> None:
    """Progress, with the time."""
    print(time.strftime("%H:%M:%S"), line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
