"""What `tape pipeline plan` tells: everything but secrets."""

from __future__ import annotations

import json
from pathlib import Path

from tapelog.spark.pipeline import load, loads, make_plan
from tapelog.spark.pipeline.describe import described
from tapelog.spark.pipeline.starter import starter

SHOP = Path(__file__).parents[4] / "examples" / "pipelines" / "shop.toml"


def test_the_example_is_told_from_source_to_sink() -> None:
    document = described(make_plan(load(SHOP)), master="local[2]")
    kinds = {part["name"]: part["kind"] for part in document["parts"]}
    assert kinds == {
        "orders": "topic",
        "countries": "file",
        "valid": "check",
        "once": "dedupe",
        "enriched": "sql",
        "revenue": "window",
    }
    queries = {query["name"]: query for query in document["queries"]}
    assert queries["revenue"]["to"] == "topic revenue" and queries["revenue"]["promise"] == "exactly once"
    assert queries["dead_letters"]["from"] == ["orders", "valid"]
    assert queries["table"]["checkpoint"].endswith("/table")


def test_secrets_are_not_told() -> None:
    text = """
[pipeline]
name = "p"
[cluster]
bootstrap = "h:1"
kafka.sasl.jaas.config = 'x required username="u" password="unheard-of";'
[sources.a]
topic = "a"
[sinks.p]
from = "a"
postgres = { dsn = "postgresql://u:unheard-of@h/d", table = "t", keys = ["key"] }
[spark]
"spark.hadoop.fs.s3a.secret.key" = "unheard-of"
"""
    told = json.dumps(described(make_plan(loads(text, "p.toml")), master="m"))
    assert "unheard-of" not in told and "\\u2022" in told


def test_what_init_writes_is_a_pipeline_in_both_languages() -> None:
    plans = []
    for name in ("shop.toml", "shop.yaml"):
        files = starter(name, "shop", bootstrap="h:1", topic="orders")
        assert set(files) == {name, "countries.csv"}
        plans.append(make_plan(loads(files[name], name)))
    first, second = ([part.does for part in plan.parts.values()] for plan in plans)
    assert [str(one).split() for one in first] == [str(one).split() for one in second] or first[0] == second[0]
    assert [query.name for query in plans[0].queries] == [query.name for query in plans[1].queries]
