"""The query under test, a driver of its own: topic → topic (or lake table), until it is killed.

Some rows take their time, so that there is always a task to kill and one to speculate on.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

SLOW_ROW = "java_method('java.lang.Thread', 'sleep', cast({ms} as bigint))"


def session(args: argparse.Namespace) -> Any:
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master(args.master)
        .appName("kills")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", "1")
        .config("spark.task.maxFailures", "8")
        .config("spark.speculation", "true")
        .config("spark.speculation.interval", "100ms")
        .config("spark.speculation.quantile", "0.5")
        .config("spark.speculation.multiplier", "1.2")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    )
    if args.archive:
        builder = builder.config("spark.archives", f"{args.archive}#tapelog-spark").config(
            "spark.executorEnv.PYTHONPATH", "tapelog-spark"
        )
    return builder.getOrCreate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("master", "archive", "bootstrap", "source", "target", "checkpoint", "delivery", "sink"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--per-trigger", type=int, default=400)
    parser.add_argument("--slow-ms", type=int, default=150)
    args = parser.parse_args()
    spark = session(args)
    spark.sparkContext.setLogLevel("ERROR")
    from tapelog.spark.source.datasource import register

    register(spark, publish=False)
    rows = (
        spark.readStream.format("tapelog")
        .option("kafka.bootstrap.servers", args.bootstrap)
        .option("subscribe", args.source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", args.per_trigger)
        .load()
    )
    slow = SLOW_ROW.format(ms=args.slow_ms)
    shown = rows.selectExpr(
        "key",
        "timestamp",
        f"concat('out-', cast(value as string), if(offset % 101 = 7, substring({slow}, 1, 0), '')) as value",
    )
    if args.sink == "lake":
        from tapelog.spark import lake

        table = lake.table(args.target, format="iceberg")
        often = {"processingTime": "100 milliseconds"}
        query = lake.stream_to(shown, table, name="kills", checkpoint=args.checkpoint, trigger=often)
    else:
        query = (
            shown.writeStream.format("tapelog")
            .option("kafka.bootstrap.servers", args.bootstrap)
            .option("topic", args.target)
            .option("delivery", args.delivery or "exactlyOnce")
            .option("checkpointLocation", args.checkpoint)
            .trigger(processingTime="100 milliseconds")
            .start()
        )
    print("started", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[3]), str(Path(__file__).resolve().parents[3] / "src")]
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
