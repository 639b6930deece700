"""The process with the Spark session: reads what it is told, line by line, and answers how long it took.

Started by bench.spark.session with any Python that has PySpark 4. A line on standard input is a job (JSON); the answer
goes to the file descriptor named on the command line, since Spark and Java write to the others.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def _orders() -> Any:
    """bench.spark.orders by its path: this file runs with another interpreter and without the repository's packages."""
    spec = importlib.util.spec_from_file_location("orders", Path(__file__).with_name("orders.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Reader:
    """A session, and jobs on it."""

    def __init__(self, jars: str) -> None:
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master("local[*]").appName("bench")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "4g",  # with 1g, consumers that the tuned connector keeps leave no room
            "spark.sql.session.timeZone": "UTC",
            "spark.jars": jars,
        }.items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("OFF")
        import tapelog.spark

        tapelog.spark.register(self.spark, publish=False)

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """Seconds and rows of one read; an error is told in words."""
        began = time.monotonic()
        try:
            rows = (
                self._stream(job) if job["mode"] == "availableNow" else self._sum(self._load(self.spark.read, job), job)
            )
        except Exception as error:
            return {"error": str(error)[:500]}
        return {"seconds": time.monotonic() - began, "rows": rows}

    def _load(self, reader: Any, job: dict[str, Any]) -> Any:
        return reader.format(job["format"]).options(**job["options"]).load()

    def _stream(self, job: dict[str, Any]) -> int:
        found: list[int] = []
        frame = self._load(self.spark.readStream, job)
        with tempfile.TemporaryDirectory(prefix="bench-checkpoint-") as checkpoint:
            query = (
                frame.writeStream.foreachBatch(lambda batch, _: found.append(self._sum(batch, job)))
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
        return sum(found)

    def _sum(self, frame: Any, job: dict[str, Any]) -> int:
        """Look at every column of every row; how many there were."""
        from pyspark.sql import functions as F

        if job["decode"]:
            frame, prefix = self._decoded(frame, job["decode"])
            columns = [F.sum(prefix + "order"), F.sum(F.length(prefix + "customer")), F.sum(F.length(prefix + "item"))]
            columns += [F.sum(prefix + "quantity"), F.sum(prefix + "amount"), F.count(prefix + "country")]
            columns += [F.sum(F.size(prefix + "tags"))]
        else:
            columns = [F.sum(F.length("value")), F.count("key"), F.count("topic"), F.sum("partition"), F.max("offset")]
            columns += [F.max("timestamp"), F.max("timestampType")]
        return int(frame.select(F.count(F.lit(1)), *columns).collect()[0][0])

    def _decoded(self, frame: Any, how: str) -> tuple[Any, str]:
        orders = _orders()
        if how == "from_avro":
            from pyspark.sql.avro.functions import from_avro

            return frame.select(from_avro("value", orders.SCHEMA).alias("value")), "value."
        if how == "fastavro":
            return frame.select("value").mapInArrow(
                _by_hand(orders.SCHEMA, orders.SPARK_SCHEMA), orders.SPARK_SCHEMA
            ), ""
        return frame, "value."


def _by_hand(schema: str, spark_schema: str) -> Any:
    """What people write where from_avro is not at hand: fastavro on each value, in Arrow batches."""

    def decode(batches: Iterator[Any]) -> Iterator[Any]:
        import io

        import fastavro
        import pyarrow

        parsed = fastavro.parse_schema(json.loads(schema))
        names = [field.split()[0] for field in spark_schema.split(", ")]
        types = dict(
            zip(
                names,
                [
                    pyarrow.int64(),
                    pyarrow.string(),
                    pyarrow.string(),
                    pyarrow.int32(),
                    pyarrow.float64(),
                    pyarrow.string(),
                    pyarrow.list_(pyarrow.string()),
                ],
                strict=True,
            )
        )
        target = pyarrow.schema(list(types.items()))
        for batch in batches:
            rows = [fastavro.schemaless_reader(io.BytesIO(v), parsed, None) for v in batch.column(0).to_pylist()]
            yield pyarrow.RecordBatch.from_pylist(rows, schema=target)

    return decode


def main() -> None:
    """Say which PySpark this is, then answer jobs until there are no more."""
    answers = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    import pyspark

    reader = Reader(sys.argv[2])
    answers.write(json.dumps({"pyspark": pyspark.__version__}) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(reader.run(json.loads(line))) + "\n")
    reader.spark.stop()


if __name__ == "__main__":
    main()
