"""Topics into lake tables and back (ADR 0020): Iceberg, Delta or Parquet, exactly once, without jars.

    orders = lake.table("file:///lake/orders", format="iceberg", partition="day(timestamp)")
    query = lake.stream_to(df, orders, name="orders", checkpoint="file:///lake/_checkpoints/orders")

Executors write Parquet files with pyarrow, the driver commits them. `protocol` is the commit as a machine, `run`
performs it, `tables` are the formats; `stream`, `reading`, `compaction`, `replaying` and `fresh` are what users call.
Nothing of PySpark, pyiceberg or deltalake is imported before it is needed.
"""

from tapelog.spark.lake.compaction import Compacted, compact, tidy
from tapelog.spark.lake.errors import LakeError
from tapelog.spark.lake.fresh import Freshness, freshness
from tapelog.spark.lake.reading import read
from tapelog.spark.lake.replaying import Replayed, replay
from tapelog.spark.lake.run import Result
from tapelog.spark.lake.spec import Table, from_options, table
from tapelog.spark.lake.stream import archive, stream_to, write_batch, writer

__all__ = [
    "Compacted",
    "Freshness",
    "LakeError",
    "Replayed",
    "Result",
    "Table",
    "archive",
    "compact",
    "freshness",
    "from_options",
    "read",
    "replay",
    "stream_to",
    "table",
    "tidy",
    "write_batch",
    "writer",
]
