"""The data pipeline on Spark (ADR 0018): read and write any Kafka-protocol cluster from PySpark, without jars.

    import tapelog.spark

    tapelog.spark.register(spark)  # once per session
    rows = spark.read.format("tapelog").option("kafka.bootstrap.servers", "…").option("subscribe", "orders").load()

`decode` turns record batches into Arrow, `plan` turns options into ranges, `source` holds the Data Source classes.
Imports the client and the codec, never the broker. Neither pyspark nor pyarrow is imported before it is needed.
"""

from __future__ import annotations

from typing import Any

__all__ = ["register"]


def register(spark: Any, *, publish: bool = True, brief: bool = True) -> None:
    """Make format("tapelog") known to this session: see `tapelog.spark.source.datasource.register`."""
    from tapelog.spark.source.datasource import register as registered

    registered(spark, publish=publish, brief=brief)
