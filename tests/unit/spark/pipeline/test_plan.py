"""A file becomes a plan without Spark, and every mistake is told by its line and by what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapelog.spark.pipeline import DocumentError, load, loads, make_plan
from tapelog.spark.pipeline.model import Dedupe, Sql, TopicSink, TopicSource, Window

SHOP = Path(__file__).parents[4] / "examples" / "pipelines" / "shop.toml"

BASE = """\
[pipeline]
name = "p"
[cluster]
bootstrap = "127.0.0.1:9092"
[sources.orders]
topic = "orders"
format = "json"
schema = "id BIGINT, amount DOUBLE, at TIMESTAMP"
[sources.people]
file = "people.csv"
schema = "id BIGINT, name STRING"
"""
SCREEN = """
[sinks.screen]
from = "step"
console = true
"""


def problems(text: str, file: str = "p.toml") -> list[str]:
    """What is told about a document."""
    with pytest.raises(DocumentError) as error:
        make_plan(loads(text, file))
    assert len(str(error.value).splitlines()) <= 3
    return [problem.told(file) for problem in error.value.problems]


def test_the_example_is_planned() -> None:
    plan = make_plan(load(SHOP))
    assert [query.name for query in plan.queries] == ["revenue", "table", "dead_letters"]
    assert plan.queries[0].parts == ("orders", "countries", "valid", "once", "enriched", "revenue")
    assert plan.queries[2].letters == ("orders", "valid") and plan.queries[2].parts == ("orders", "valid")
    assert plan.streams == {"orders", "valid", "once", "enriched", "revenue"} and not plan.warnings
    assert plan.parts["enriched"].inputs == ("once", "countries")
    assert isinstance(plan.parts["revenue"].does, Window) and isinstance(plan.parts["once"].does, Dedupe)
    known = plan.columns["revenue"]
    assert known is not None and [name for name, _ in known][:3] == ["window_start", "window_end", "region"]
    assert plan.columns["enriched"] is None, "what SQL makes of it, Spark knows"


def test_the_same_in_yaml_is_the_same_pipeline() -> None:
    yaml = pytest.importorskip("yaml")
    import tomllib
    from dataclasses import replace

    toml = loads(BASE + '[steps.step]\nsql = "SELECT * FROM orders"\n' + SCREEN, "p.toml")
    text = yaml.safe_dump(
        tomllib.loads(BASE + '[steps.step]\nsql = "SELECT * FROM orders"\n' + SCREEN), sort_keys=False
    )
    other = loads(text, "p.yaml")
    assert [part.does for part in other.parts] == [part.does for part in toml.parts]
    assert [replace(sink, line=0) for sink in other.sinks] == [replace(sink, line=0) for sink in toml.sinks]


def test_options_of_the_cluster_are_those_of_every_topic() -> None:
    text = BASE.replace('bootstrap = "127.0.0.1:9092"', 'bootstrap = "h:1"\nkafka.security.protocol = "SSL"')
    text += '[sinks.out]\nfrom = "orders"\ntopic = "out"\noptions = { "kafka.client.id" = "me" }\n'
    pipeline = loads(text, "p.toml")
    source, sink = pipeline.parts[0].does, pipeline.sinks[0].writes
    assert isinstance(source, TopicSource) and isinstance(sink, TopicSink)
    common = {"kafka.bootstrap.servers": "h:1", "kafka.security.protocol": "SSL"}
    assert source.options == {**common, "subscribe": "orders"}
    assert sink.options == {**common, "topic": "out", "kafka.client.id": "me"}


@pytest.mark.parametrize(
    ("step", "line", "words"),
    [
        ('[steps.step]\nfrm = "orders"\n', 13, "Did you mean from?"),
        ('[steps.step]\nfrom = "order"\n', 12, "Did you mean orders?"),
        ('[steps.step]\nsql = "SELECT * FROM ordrs"\n', 12, "Did you mean orders?"),
        ('[steps.step]\nsql = "DELETE FROM orders"\n', 13, "begins with SELECT"),
        ('[steps.step]\nfrom = "orders"\nsql = "SELECT 1"\n', 13, "leave from out"),
        ('[steps.step]\nfrom = "orders"\ndedupe = { keys = ["id"] }\n', 12, "for ever"),
        ('[steps.step]\nfrom = "orders"\ndedupe = { within = "1h" }\n', 14, "needs keys"),
        ('[steps.step]\nfrom = "orders"\njoin = { with = "people" }\n', 14, "needs on"),
        ('[steps.step]\nfrom = "orders"\njoin = { with = "people", on = "nr" }\n', 12, "'nr' that is not there"),
        (
            '[steps.step]\nfrom = "orders"\njoin = { with = "people", on = "id", how = "lef" }\n',
            14,
            "Did you mean left?",
        ),
        ('[steps.step]\nfrom = "people"\njoin = { with = "orders", on = "id", how = "left" }\n', 12, "no stream"),
        ('[steps.step]\nfrom = "orders"\nwindow = { column = "at", size = "1 min" }\n', 12, "needs aggregate"),
        (
            '[steps.step]\nfrom = "orders"\nwindow = { column = "at", size = "soon" }\naggregate = { n = "sum(1)" }\n',
            14,
            "such as '10 seconds'",
        ),
        (
            '[steps.step]\nfrom = "orders"\nwindow = { column = "att", size = "1m" }\naggregate = { n = "count(*)" }\n',
            12,
            "Did you mean at?",
        ),
        (
            '[steps.step]\nfrom = "orders"\nwindow = { column = "at", size = "1m" }\naggregate = { n = "count(*)" }\n',
            12,
            "needs a watermark",
        ),
        ('[steps.step]\nfrom = "orders"\nwatermark = { column = "at" }\n', 14, "needs delay"),
        ('[steps.step]\nfrom = "orders"\npython = "nowhere"\n', 14, "file.py:function"),
        ('[steps.step]\nfrom = "orders"\nsql = "SELECT 1"\njoin = 3\n', 15, "a step of each"),
        ('[steps.step]\nfrom = "orders"\n[[steps.step.expect]]\nrule = "id > 0"\notherwise = "ignore"\n', 16, "drop"),
        (
            '[steps.step]\nfrom = "orders"\n[[steps.step.expect]]\nrule = "id > 0"\notherwise = "dead-letter"\n',
            14,
            "nowhere to go",
        ),
        ('[steps.step]\nfrom = "other"\n[steps.other]\nfrom = "step"\n', 12, "circle"),
        ('[steps.step]\nfrom = "orders"\n[steps.Orders]\nfrom = "orders"\n', 14, "line 5"),
        ('[steps."step two"]\nfrom = "orders"\n[steps.step]\nfrom = "orders"\n', 12, "begins with a letter"),
        ('[stepts.step]\nfrom = "orders"\n[steps.step]\nfrom = "orders"\n', 12, "Did you mean steps?"),
    ],
)
def test_a_mistake_in_a_step_is_told_by_its_line(step: str, line: int, words: str) -> None:
    told = problems(BASE + step + SCREEN)
    assert any(one.startswith(f"p.toml:{line}: ") and words in one for one in told), told


@pytest.mark.parametrize(
    ("sink", "line", "words"),
    [
        ('topic = "out"\nkey = "idd"\n', 12, "Did you mean id?"),
        ('topik = "out"\n', 14, "Did you mean topic?"),
        ('topic = "out"\nconsole = true\n', 12, "more than one of"),
        ('topic = "out"\nmode = "complete"\n', 15, "use update"),
        ('file = "out"\nmode = "update"\n', 15, "appended to"),
        ('topic = "out"\nformat = "string"\n', 15, "needs value"),
        ('postgres = { table = "t", keys = ["id"] }\n', 14, "needs dsn"),
        ('postgres = { dsn = "d", table = "t" }\n', 14, "needs keys"),
        ('postgres = { dsn = "d", table = "t", keys = ["nr"] }\n', 12, "no column 'nr'"),
        ('lake = "x"\nformat = "icberg"\n', 15, "Did you mean iceberg?"),
        ('console = true\nrows = "many"\n', 15, "whole number"),
        ('console = true\ntrigger = "now"\n', 15, "expected once"),
    ],
)
def test_a_mistake_in_a_sink_is_told_by_its_line(sink: str, line: int, words: str) -> None:
    told = problems(BASE + '[sinks.out]\nfrom = "orders"\n' + sink)
    assert any(one.startswith(f"p.toml:{line}: ") and words in one for one in told), told


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ('name = "p"', 'nam = "p"', 2, "Did you mean name?"),
        ('name = "p"', 'name = "p"\ntrigger = "often"', 3, "once, or a time"),
        ('bootstrap = "127.0.0.1:9092"', "", 5, "nobody says where"),
        ('topic = "orders"', 'topic = "orders"\nstart = "erliest"', 7, "earliest, latest or a time"),
        ('topic = "orders"', "topic = 3", 6, "expected a text"),
        ('schema = "id BIGINT, amount DOUBLE, at TIMESTAMP"', "", 7, "json needs a schema"),
        ('format = "json"', 'format = "jsn"', 7, "Did you mean json?"),
        ("[sources.people]", "[sources.people]\nstream = true\nformat = 'orc'", 10, ""),
        ("[pipeline]\nname", "name", 1, "needs a table [pipeline]"),
    ],
)
def test_a_mistake_elsewhere_is_told_by_its_line(before: str, after: str, line: int, words: str) -> None:
    text = BASE.replace(before, after) + '[sinks.out]\nfrom = "orders"\nconsole = true\n'
    if not words:
        make_plan(loads(text, "p.toml"))  # this one is fine
        return
    told = problems(text)
    assert any(one.startswith(f"p.toml:{line}: ") and words in one for one in told), told


def test_all_mistakes_are_found_and_three_lines_are_told() -> None:
    wrong = BASE + "".join(f'[sinks.s{n}]\nfrom = "orders"\ntopc = "x"\n' for n in range(5))
    with pytest.raises(DocumentError) as error:
        loads(wrong, "p.toml")
    assert len(error.value.problems) >= 5
    lines = str(error.value).splitlines()
    assert len(lines) == 3 and "more: `tape pipeline plan p.toml --json`" in lines[2]


def test_what_is_not_written_is_not_run_and_said() -> None:
    plan = make_plan(loads(BASE + '[sinks.out]\nfrom = "orders"\nconsole = true\n', "p.toml"))
    assert list(plan.parts) == ["orders"]
    assert plan.warnings == ("p.toml:9: nothing is written from people: it does not run.",)


def test_names_with_dots_in_sql_are_left_to_the_catalog() -> None:
    plan = make_plan(loads(BASE + '[steps.step]\nsql = "SELECT * FROM db.t JOIN orders"\n' + SCREEN, "p.toml"))
    assert isinstance(plan.parts["step"].does, Sql) and plan.parts["step"].inputs == ("orders",)


def test_a_file_that_is_not_there_says_how_to_begin() -> None:
    with pytest.raises(DocumentError, match="tape pipeline init"):
        load("/nowhere/shop.toml")
