"""Orders from a topic as a streaming table, and revenue per region as a view of it."""

from __future__ import annotations

import os
from typing import Any

from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

SCHEMA = "order BIGINT, customer STRING, item STRING, quantity INT, amount DOUBLE, country STRING"


@dp.table
def orders() -> Any:
    """Every order that could be decoded, once."""
    spark = SparkSession.active()
    records = (
        spark.readStream.format("tapelog")
        .option("kafka.bootstrap.servers", os.environ.get("TAPELOG_BOOTSTRAP", "127.0.0.1:9092"))
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .load()
    )
    order = F.from_json(F.col("value").cast("string"), SCHEMA)
    return records.select(order.alias("o"), "timestamp").select("o.*", "timestamp").where("amount > 0")


@dp.materialized_view
def revenue() -> Any:
    """What came in per country."""
    spark = SparkSession.active()
    return spark.read.table("orders").groupBy("country").agg(F.round(F.sum("amount"), 2).alias("revenue"))
