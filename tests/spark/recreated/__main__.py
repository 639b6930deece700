"""python -m tests.spark.recreated: see the package. Needs PySpark, Java, Apache Kafka's jars and Spark's connector.

Example: python -m tests.spark.recreated --on tapelog --report out.md
It fails if some case ends worse than with the connector: rows are passed over where the connector reads them or stops.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.spark.conftest import ROOT, Topic, connector_jars
from tests.spark.kills.brokers import Brokers, Kafka, Tapelog
from tests.spark.recreated import cases
from tests.spark.recreated.table import CASES, WORSE, Case, table


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", default="tapelog,kafka", help="brokers, separated by commas")
    parser.add_argument("--sources", default="kafka,tapelog", help="formats to try, separated by commas")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--report", type=Path, help="a file for the tables")
    args = parser.parse_args(given)
    if "kafka" in args.sources and not connector_jars():
        sys.exit("Spark's own connector is not here: python -m bench.spark.connector fetches it")
    place = Path(tempfile.mkdtemp(prefix="tapelog-recreated-"))
    spark = session()
    parts = []
    try:
        for name in args.on.split(","):
            brokers: Brokers = Kafka() if name == "kafka" else Tapelog(1)
            with brokers:
                parts.append(table(name, _outcomes(spark, brokers, place / name, args)))
    finally:
        spark.stop()
        shutil.rmtree(place, ignore_errors=True)
    text = "\n\n".join(parts)
    print(text, flush=True)
    if args.report:
        args.report.write_text(text + "\n")
    return 1 if WORSE in text else 0


def _outcomes(spark: Any, brokers: Brokers, place: Path, args: argparse.Namespace) -> dict[Case, dict[str, Any]]:
    found: dict[Case, dict[str, Any]] = {}
    for number, case in enumerate(CASES):
        if args.only not in case.name:
            continue
        for source in args.sources.split(","):
            options = case.options_of(source)
            if options is None:
                continue
            topic = Topic(brokers.bootstrap, case.before)
            run = getattr(cases, case.run)
            outcome = run(
                spark, source, topic, place / f"{number}-{source}", partitions=case.after, count=case.count, **options
            )
            outcome = replace(outcome, error=outcome.error.replace(topic.name, "t"))
            found.setdefault(case, {})[source] = outcome
            print(f"{case.name}, {case.loss or '-'}, {source}: {outcome}", file=sys.stderr, flush=True)
    return found


def session() -> Any:
    """Two slots, quiet, our sources where workers find them, and the connector."""
    from pyspark.sql import SparkSession

    from tapelog.spark.source.datasource import register

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.jars", ",".join(map(str, connector_jars())))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    register(spark, publish=False, brief=False)
    return spark


if __name__ == "__main__":
    sys.exit(main())
