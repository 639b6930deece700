"""A whole job: orders in JSON are read, summed by customer as they come, and written to a topic exactly once.

Run it, with `tape demo --data ./demo-data` or any broker that has a topic of orders and keeps it:
    tape topic create totals --partitions 3
    .venv/bin/python examples/spark/orders.py 127.0.0.1:9092 orders totals
Run it again, and it goes on where it stopped. (Without --data the demo's topic is another one each time: a job that
remembers the one before ends with "Data was lost".)
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import tapelog.spark


def main(bootstrap: str, source: str, target: str) -> None:
    """Everything that is there now, then the end; `.trigger(processingTime="5 seconds")` would go on."""
    spark = SparkSession.builder.appName("orders").getOrCreate()
    tapelog.spark.register(spark)  # errors in three lines, progress as a consumer group
    cluster = {"kafka.bootstrap.servers": bootstrap}
    orders = (
        spark.readStream.format("tapelog")
        .options(**cluster, subscribe=source, startingOffsets="earliest")
        .options(valueFormat="json", valueSchema="customer STRING, amount DOUBLE")
        .load()
    )
    sums = orders.groupBy("value.customer").agg(F.count("*").alias("orders"), F.sum("value.amount").alias("amount"))
    rows = sums.select(F.col("customer").alias("key"), F.to_json(F.struct("orders", "amount")).alias("value"))

    def write(batch: DataFrame, number: int) -> None:
        """A batch that comes again is not written again."""
        to = {**cluster, "topic": target, "txnAppId": f"{source}-to-{target}", "txnVersion": str(number)}
        batch.write.format("tapelog").options(**to).mode("append").save()

    query = (
        rows.writeStream.foreachBatch(write)  # rows that are only added, never updated, can take .format("tapelog")
        .outputMode("update")
        .option("checkpointLocation", str(Path(tempfile.gettempdir()) / f"{source}-to-{target}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    (
        spark.read.format("tapelog")
        .options(**cluster, subscribe=target)
        .load()
        .select(F.col("key").cast("string"), F.col("value").cast("string"))
        .show(10, truncate=False)
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
