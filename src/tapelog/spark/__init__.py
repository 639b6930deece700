"""The data pipeline on Spark (ADR 0018): read and write any Kafka-protocol cluster from PySpark, without jars.

`decode` turns record batches into Arrow, `plan` turns options into ranges, `source` holds the Data Source classes.
Imports the client and the codec, never the broker. Neither pyspark nor pyarrow is imported before it is needed.
"""
