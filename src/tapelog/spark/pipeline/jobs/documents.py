"""Jobs that are pipelines: what their files would say. Checked and run like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tapelog.spark.pipeline.load import declared
from tapelog.spark.pipeline.model import Pipeline
from tapelog.spark.plan.errors import PlanError


def _base(name: str, checkpoint: str, trigger: str, cluster: Mapping[str, str]) -> dict[str, Any]:
    return {"pipeline": {"name": name, "checkpoint": checkpoint, "trigger": trigger}, "cluster": dict(cluster)}


def archive(
    topics: Sequence[str],
    to: str,
    *,
    cluster: Mapping[str, str],
    checkpoint: str,
    trigger: str,
    form: str = "iceberg",
    partition: str = "day(timestamp)",
    decode: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Pipeline:
    """Topics into a table of the lake: everything from the beginning (from the tier, where it is), then the tail."""
    source: dict[str, Any] = {"topics": list(topics), "start": "earliest", **(decode or {})}
    options: dict[str, Any] = {"includeHeaders": "true"} if not decode else {}
    if limit:
        options["maxOffsetsPerTrigger"] = limit
    if decode and partition == "day(timestamp)":
        partition = ""  # a decoded row has its own columns: the caller names the one of event time
    sink = {"from": "records", "lake": to, "format": form, **({"partition": partition} if partition else {})}
    document = _base(f"archive-{topics[0]}", checkpoint, trigger, cluster)
    document |= {"sources": {"records": {**source, "options": options}}, "sinks": {"lake": sink}}
    return declared(document, "archive")


def dedupe(
    topic: str,
    to: str,
    *,
    by: Sequence[str],
    within: str,
    cluster: Mapping[str, str],
    checkpoint: str,
    trigger: str,
    start: str = "earliest",
    partitions: int = 0,
) -> Pipeline:
    """A topic without its duplicates: the first record of each `key`, `value` or header, as it is, goes on."""
    headers = [name.removeprefix("header:") for name in by if name.startswith("header:")]
    plain = [name for name in by if not name.startswith("header:")]
    wrong = [name for name in plain if name not in ("key", "value")]
    if wrong or not by:
        raise PlanError(f"--by {', '.join(wrong) or 'nothing'}: duplicates are told by key, value or header:NAME.")
    made = [
        f"filter(headers, h -> h.key = '{name.replace(chr(39), '')}')[0].value AS _h{number}"
        for number, name in enumerate(headers)
    ]
    keys = [*plain, *(f"_h{number}" for number in range(len(headers)))]
    document = _base(f"dedupe-{topic}", checkpoint, trigger, cluster)
    document["sources"] = {
        "records": {
            "topic": topic,
            "start": start,
            "options": {"includeHeaders": "true"},
            "watermark": {"column": "timestamp", "delay": within},
        }
    }
    document["steps"] = {
        "keyed": {"from": "records", "select": ["*", *made]},
        "first": {"from": "keyed", "dedupe": {"keys": keys, "within": within}},
    }
    sink = {"from": "first", "topic": to, "format": "raw", "value": "value", "partitions": partitions}
    document["sinks"] = {"out": sink}
    return declared(document, "dedupe")


def _change_steps(columns: Sequence[str], keys: Sequence[str], otherwise: str) -> dict[str, Any]:
    """From an event to the row it leaves behind."""
    return {
        # a null value is the tombstone that follows a deletion, for compaction: it says nothing new
        "flat": {
            "from": "events",
            "where": "_value IS NOT NULL",
            "select": [
                "coalesce(payload.op, op) AS _op",
                "coalesce(payload.before, before) AS _before",
                "coalesce(payload.after, after) AS _after",
                *(f"_{name}" for name in ("key", "value", "topic", "partition", "offset", "timestamp")),
            ],
        },
        "known": {
            "from": "flat",
            "expect": [
                {"name": "op is one of c, r, u, d", "rule": "_op IN ('c', 'r', 'u', 'd')", "otherwise": otherwise},
                {
                    "name": "the row has its keys",
                    "rule": " AND ".join(f"if(_op = 'd', _before, _after).`{key}` IS NOT NULL" for key in keys),
                    "otherwise": otherwise,
                },
            ],
        },
        "changes": {"from": "known", "select": ["if(_op = 'd', _before, _after) AS _row", "_op"]},
        "rows": {"from": "changes", "select": [*(f"_row.`{name}` AS `{name}`" for name in columns), "_op"]},
    }


def cdc_apply(
    topic: str,
    table: str,
    *,
    dsn: str,
    schema: str,
    keys: Sequence[str],
    cluster: Mapping[str, str],
    checkpoint: str,
    trigger: str,
    letters: str = "",
) -> Pipeline:
    """Change events (Debezium's JSON, with or without its envelope) into a table that has the current state."""
    from tapelog.spark.pipeline.columns import ddl_columns

    columns = ddl_columns(schema)
    if columns is None:
        raise PlanError(f"--schema {schema!r} is no list of columns: write for example 'id BIGINT, name STRING'.")
    row = f"STRUCT<{', '.join(f'{name}: {kind}' for name, kind in columns)}>"
    event = f"before {row}, after {row}, op STRING"
    inner = f"before: {row}, after: {row}, op: STRING"
    document = _base(f"cdc-{table}", checkpoint, trigger, cluster)
    otherwise = "dead-letter" if letters else "fail"
    document["sources"] = {
        "events": {
            "topic": topic,
            "start": "earliest",
            "format": "json",
            "schema": f"payload STRUCT<{inner}>, {event}",
            "corrupt": otherwise,
        }
    }
    document["steps"] = _change_steps([name for name, _ in columns], keys, otherwise)
    document["sinks"] = {
        "table": {
            "from": "rows",
            "postgres": {"dsn": dsn, "table": table, "keys": list(keys), "delete": "_op = 'd'"},
        }
    }
    if letters:
        document["dead-letters"] = {"topic": letters}
    return declared(document, "cdc-apply")
