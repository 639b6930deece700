"""A Spark session that reads what it is told, line by line: options as JSON in, rows, bytes and seconds out.

Runs with a Python that has PySpark, in a process of its own: `python reader.py FD SLOTS`. Answers go to the descriptor
FD, since Spark writes to the standard ones.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    """Until standard input ends."""
    from pyspark.sql import SparkSession

    answers = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{sys.argv[2]}]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    answers.write(json.dumps({"pyspark": spark.version}) + "\n")
    for line in sys.stdin:
        begun = time.monotonic()
        try:
            frame = spark.read.format("tapelog").options(**json.loads(line)).load()
            row = frame.selectExpr("count(*) rows", "sum(length(value)) bytes").collect()[0]
            found: dict[str, object] = {"rows": row.rows, "bytes": row.bytes, "seconds": time.monotonic() - begun}
        except Exception as error:
            found = {"error": str(error)[-1500:]}
        answers.write(json.dumps(found) + "\n")
    spark.stop()


main()
