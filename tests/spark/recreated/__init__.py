"""What becomes of reads and writes whose topic is deleted and made anew: ours beside Spark's own Kafka connector.

`cases` runs one case, `table` compares both sources, `__main__` runs the whole matrix on Tapelog and on Apache Kafka.
The cases of our own source are tests, too: tests/spark/test_recreated.py.
"""
