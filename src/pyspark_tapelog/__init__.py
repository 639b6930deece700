"""Where Spark looks for data sources: it imports every module called pyspark_… and takes its DefaultSource.

With Tapelog installed, `spark.read.format("tapelog")` works without anything else.
"""

from tapelog.spark.source.datasource import TapelogDataSource as DefaultSource
from tapelog.spark.source.datasource import register

__all__ = ["DefaultSource", "register"]
