"""Exactly once, by force: a streaming query from topic to topic whose tasks, executors, driver and brokers are killed.

`python -m tests.spark.kills --rounds 30 --on tapelog` starts standalone Spark with executors that have nothing but the
archive of `tape spark pack`, kills somebody at random each round (-9), and compares what a `read_committed` reader of
another make has seen with what was put in. The exit code is 0 if every input's output is there exactly once; with
`--delivery atLeastOnce` it should not be.
"""
