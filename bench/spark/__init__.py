"""Reading topics in Spark: format("tapelog") beside Spark's own Kafka connector, on Apache Kafka and on Tapelog.

`scenes` says what is read, `fill` puts it there, `reader` is the process with the Spark session, `session` its other
end, `connector` fetches the official jars, `measure` turns all of it round by round, `tell` makes table and chart.
"""
