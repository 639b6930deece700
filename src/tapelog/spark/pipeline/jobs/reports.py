"""Jobs that read history once and report: the queries behind `skew` and `usage`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tapelog.spark.pipeline.jobs.skew import Held, HotKey, skew_document
from tapelog.spark.pipeline.jobs.usage import Used, header_expression, tenant_expression, usage_document

KEYS_KEPT: Final = 1000
"""Heaviest keys that advice is computed from; fewer are shown."""
_BYTES: Final = "coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0)"


def skew(spark: Any, topic: str, options: Mapping[str, str], *, top: int) -> dict[str, Any]:
    """What partitions and keys of a topic hold."""
    from pyspark.sql import functions as F

    given = {**options, "subscribe": topic, "columns": "key,value,partition"}
    rows = spark.read.format("tapelog").options(**given).load().selectExpr("key", "partition", f"{_BYTES} AS size")
    by_key = rows.groupBy("partition", "key").agg(F.count("*").alias("records"), F.sum("size").alias("bytes")).persist()
    try:
        per_partition = by_key.groupBy("partition").sum("records", "bytes").collect()
        heaviest = by_key.orderBy("bytes", ascending=False).limit(max(top, KEYS_KEPT)).collect()
        distinct = by_key.select("key").distinct().count()
    finally:
        by_key.unpersist()
    held = [Held(row[0], row[1], row[2]) for row in per_partition]
    keys = [
        HotKey(None if row["key"] is None else bytes(row["key"]), row["partition"], row["records"], row["bytes"])
        for row in heaviest
    ]
    document = skew_document(topic, held, keys, distinct)
    document["keys"] = document["keys"][:top]
    return document


def usage(
    spark: Any,
    topics: Sequence[str],
    options: Mapping[str, str],
    *,
    tenant: str | None,
    client: str | None,
    by: str | None,
) -> dict[str, Any]:
    """What topics hold, by tenant, client and time as asked."""
    given = {**options, "columns": "key,value,topic,timestamp"}
    if client is not None:
        given |= {"columns": "key,value,topic,timestamp,headers", "includeHeaders": "true"}
    given |= {"subscribe": ",".join(topics)} if topics else {"subscribePattern": ".*"}
    wanted = {"topic": "topic"}
    if tenant is not None:
        header = tenant.removeprefix("header:")
        is_header = tenant.startswith("header:")
        wanted = {"tenant": header_expression(header) if is_header else tenant_expression(tenant)} | wanted
        if is_header:
            given |= {"columns": "key,value,topic,timestamp,headers", "includeHeaders": "true"}
    if client is not None:
        wanted["client"] = header_expression(client.removeprefix("header:"))
    if by is not None:
        wanted["since"] = f"CAST(date_trunc('{by}', timestamp) AS STRING)"
    names = list(wanted)
    made = [f"{text} AS {name}" for name, text in wanted.items()]
    rows = spark.read.format("tapelog").options(**given).load()
    rows = rows.selectExpr(*made, f"{_BYTES} AS size", "unix_millis(timestamp) AS at")
    rows.createOrReplaceTempView("tapelog_usage")
    listed = ", ".join(names)
    found = spark.sql(
        f"SELECT {listed}, count(*) n, sum(size) b, min(at) a, max(at) z FROM tapelog_usage GROUP BY {listed}"
    ).collect()
    used = [Used(tuple(row[name] for name in names), row["n"], row["b"], row["a"], row["z"]) for row in found]
    return usage_document(names, used)
