"""Built-in jobs: pipelines that are checked like any other, and reports with advice."""

from __future__ import annotations

import pytest

from tapelog.spark.pipeline import make_plan
from tapelog.spark.pipeline.describe import described
from tapelog.spark.pipeline.jobs import documents
from tapelog.spark.pipeline.jobs.skew import Held, HotKey, advice, predicted, skew_document
from tapelog.spark.pipeline.jobs.usage import Used, header_expression, tenant_expression, usage_document
from tapelog.spark.pipeline.model import LakeSink, PostgresSink, TopicSink
from tapelog.spark.plan.errors import PlanError

CLUSTER = {"kafka.bootstrap.servers": "h:1"}


def test_archive_reads_from_the_beginning_into_the_lake() -> None:
    pipeline = documents.archive(
        ["orders"], "file:///lake/o", cluster=CLUSTER, checkpoint="cp", trigger="once", limit=9
    )
    plan = make_plan(pipeline)
    part = plan.parts["records"]
    assert part.does.options["startingOffsets"] == "earliest" and part.does.options["maxOffsetsPerTrigger"] == "9"  # type: ignore[union-attr]
    writes = pipeline.sinks[0].writes
    assert isinstance(writes, LakeSink) and writes.table.partition == "day(timestamp)"
    assert plan.queries[0].stream and described(plan, master="m")["queries"][0]["promise"] == "exactly once"


def test_dedupe_remembers_keys_as_long_as_asked() -> None:
    pipeline = documents.dedupe(
        "a", "b", by=["header:message-id", "key"], within="1h", cluster=CLUSTER, checkpoint="cp", trigger="once"
    )
    plan = make_plan(pipeline)
    assert plan.parts["records"].watermark is not None and plan.parts["records"].watermark.delay == "1 hours"
    assert plan.parts["first"].does.keys == ("key", "_h0")  # type: ignore[union-attr]
    assert isinstance(pipeline.sinks[0].writes, TopicSink)


def test_dedupe_by_something_else_is_refused() -> None:
    with pytest.raises(PlanError, match="header:NAME"):
        documents.dedupe("a", "b", by=["id"], within="1h", cluster=CLUSTER, checkpoint="cp", trigger="once")


def test_changes_become_a_table_and_bad_ones_dead_letters() -> None:
    pipeline = documents.cdc_apply(
        "t",
        "orders",
        dsn="${env:DSN}",
        schema="id BIGINT, total DECIMAL(10, 2), tags ARRAY<STRING>",
        keys=["id"],
        cluster=CLUSTER,
        checkpoint="cp",
        trigger="once",
        letters="t.dead",
    )
    plan = make_plan(pipeline)
    writes = pipeline.sinks[0].writes
    assert isinstance(writes, PostgresSink) and writes.delete == "_op = 'd'"
    assert [query.name for query in plan.queries] == ["table", "dead_letters"]
    assert plan.queries[1].letters == ("events", "known")
    with pytest.raises(PlanError, match="no list of columns"):
        documents.cdc_apply("t", "o", dsn="d", schema="id", keys=["id"], cluster={}, checkpoint="", trigger="once")


def held(*sizes: int) -> list[Held]:
    """Partitions of these sizes."""
    return [Held(number, size, size) for number, size in enumerate(sizes)]


def test_a_hot_key_is_to_be_split_into_as_many_as_it_takes() -> None:
    said = advice(held(100, 100, 900, 100), [HotKey(b"big", 2, 800, 800), HotKey(b"small", 0, 10, 10)])
    assert len(said) == 1 and "'big'" in said[0] and "big#0 to big#5" in said[0], said


def test_several_keys_in_one_partition_want_more_partitions() -> None:
    keys = [HotKey(b"k%d" % number, 0, 50, 50) for number in range(6)]
    said = advice(held(400, 100, 100), keys)
    assert len(said) == 1 and "no single key" in said[0]


def test_an_even_topic_needs_no_advice() -> None:
    assert advice(held(100, 110, 95), [HotKey(b"a", 0, 1, 1)]) == []
    assert advice(held(100), [HotKey(b"a", 0, 100, 100)]) == [] and advice([], []) == []


def test_what_is_predicted_is_where_clients_would_put_the_keys() -> None:
    from tapelog.client.partitioner import partition_for_key

    keys = [HotKey(b"a", 0, 1, 60), HotKey(b"b", 0, 1, 40)]
    same = partition_for_key(b"a", 2) == partition_for_key(b"b", 2)
    assert predicted(keys, 100, 2) == pytest.approx((50 + (100 if same else 60)) / 100)


def test_the_document_of_skew_has_shares() -> None:
    document = skew_document("t", held(300, 100), [HotKey(None, 0, 5, 200), HotKey(b"\xff", 1, 1, 1)], 7)
    assert document["skew"] == 1.5 and document["partitions"][0]["share"] == 0.75
    assert document["keys"][0]["key"] is None and document["keys"][1]["key"] == "\ufffd"


def test_usage_is_sorted_and_has_rates() -> None:
    document = usage_document(["tenant"], [Used(("a",), 1, 100, 0, 1000), Used((None,), 2, 300, None, None)])
    assert [group["tenant"] for group in document["groups"]] == [None, "a"]
    assert document["groups"][1]["bytes_per_s"] == 100.0 and document["groups"][0]["share"] == 0.75


def test_patterns_and_names_are_quoted_for_sql() -> None:
    assert tenant_expression(r"^(\w+)'") == r"nullif(regexp_extract(topic, '^(\\w+)\'', 1), '')"
    assert r"\'" in header_expression("it's")
