"""Declared pipelines on a real Spark and a real broker: from a topic to every kind of sink, exactly once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.conftest import where
from tests.spark.conftest import Topic, before_42, limits_are_told

pytest.importorskip("pyspark", reason="needs pyspark (requirements/spark.txt)")

from tapelog.spark.pipeline import DocumentError, loads, make_plan
from tapelog.spark.pipeline.jobs import documents, reports
from tapelog.spark.pipeline.run.engine import Orders, QueryError, Report, run_plan
from tapelog.spark.pipeline.runs import Runs

DOCUMENT = """
[pipeline]
name = "{name}"
checkpoint = "./checkpoints"
trigger = "once"

[cluster]
bootstrap = "{bootstrap}"

[sources.orders]
topic = "{topic}"
start = "earliest"
format = "json"
schema = "id BIGINT, amount DOUBLE, country STRING, at TIMESTAMP"
corrupt = "dead-letter"

[sources.countries]
file = "countries.csv"
schema = "country STRING, region STRING"
options = {{ header = true }}

[steps.valid]
from = "orders"
watermark = {{ column = "at", delay = "1 minute" }}
expect = [
    {{ rule = "amount > 0", otherwise = "dead-letter" }},
    {{ rule = "id < 1000", otherwise = "drop" }},
]

[steps.once]
from = "valid"
dedupe = {{ keys = ["id"], within = "1m" }}

[steps.enriched]
sql = "SELECT o.*, coalesce(c.region, 'elsewhere') AS region FROM once o LEFT JOIN countries c ON o.country = c.country"

[steps.tagged]
from = "enriched"
python = "steps.py:tag"

[steps.revenue]
from = "tagged"
window = {{ column = "at", size = "1 minute", by = ["region"] }}
aggregate = {{ orders = "count(*)", revenue = "sum(amount)" }}

[sinks.files]
from = "tagged"
file = "out"

[sinks.revenue]
from = "revenue"
topic = "{topic}-revenue"
key = "region"
partitions = 2

[dead-letters]
topic = "{topic}-dead"
"""
STEPS = "def tag(frame):\n    return frame.withColumn('tag', frame.id % 2)\n"


def order(number: int, **more: Any) -> bytes:
    """An order of the minute that its number says."""
    made = {
        "id": number,
        "amount": 1.5,
        "country": "DE" if number % 2 else "??",
        "at": f"2026-05-01T12:{number // 10:02}:00Z",
    }
    return json.dumps(made | more).encode()


class Shop:
    """A pipeline in a directory of its own, on a topic of its own."""

    def __init__(self, spark: Any, topic: Topic, place: Path) -> None:
        self.spark, self.topic, self.place = spark, topic, place
        self.producer = Producer({"bootstrap.servers": topic.bootstrap})
        self.runs = Runs(place / "runs")
        self.shown: list[Any] = []
        (place / "countries.csv").write_text("country,region\nDE,Europe\n")
        (place / "steps.py").write_text(STEPS)

    def send(self, *values: bytes) -> None:
        for value in values:
            self.producer.produce(self.topic.name, value, b"k", partition=0)
        self.producer.flush(30)

    def text(self) -> str:
        return DOCUMENT.format(name=self.topic.name, bootstrap=self.topic.bootstrap, topic=self.topic.name)

    def run(self, text: str | None = None) -> Report:
        file = self.place / "shop.toml"
        file.write_text(text or self.text())
        plan = make_plan(loads(file.read_text(), str(file)))
        show = lambda name, frame, rows: self.shown.extend(frame.collect())  # noqa: E731
        return run_plan(plan, Orders(spark=self.spark, runs=self.runs, show=show))

    def records(self, topic: str) -> list[Any]:
        reader = self.spark.read.format("tapelog").option("kafka.bootstrap.servers", self.topic.bootstrap)
        options = {"subscribe": topic, "includeHeaders": "true", "kafka.isolation.level": "read_committed"}
        return list(reader.options(**options).load().collect())


@pytest.fixture
def shop(spark: Any, topic: Topic, tmp_path: Path) -> Iterator[Shop]:
    """The shop; views of its names are forgotten afterwards."""
    yield Shop(spark, topic, tmp_path)
    for name in ("orders", "countries", "valid", "once", "enriched", "tagged", "revenue", "bills", "timely", "paid"):
        spark.catalog.dropTempView(name)


@pytest.mark.skipif(not limits_are_told(), reason="PySpark before 4.2 makes a run one batch: see the next test")
def test_orders_go_from_a_topic_to_every_sink_once(shop: Shop) -> None:
    bad = [order(3, amount=-1.0), b"{ broken", order(5000, at="2026-05-01T12:01:00Z")]
    shop.send(*(order(number) for number in range(40)), order(7), *bad)
    report = shop.run()
    again, late = [order(39), order(45)], order(850, at="2026-05-01T12:00:00Z")
    shop.send(late, *(order(number) for number in range(40, 60)), *again, order(900, at="2026-05-01T13:30:00Z"))
    shop.run()

    written = shop.spark.read.parquet(str(shop.place / "out")).collect()
    assert sorted(row.id for row in written) == [*range(60), 900], "none twice, in one run or in two; none too late"
    assert {(row.region, row.tag) for row in written} == {("Europe", 1), ("elsewhere", 0)}
    assert not [name for name in written[0].asDict() if name.startswith("_")]

    revenue = [(row.key.decode(), json.loads(row.value)) for row in shop.records(f"{shop.topic.name}-revenue")]
    starts = sorted((value["window_start"], value["region"]) for _, value in revenue)
    assert len(set(starts)) == len(starts) == 12, "each window of each region once it is over, and once only"
    assert {(value["orders"], value["revenue"]) for _, value in revenue} == {(5, 7.5)}
    assert all(key == value["region"] for key, value in revenue)

    letters = shop.records(f"{shop.topic.name}-dead")
    assert sorted(bytes(row.value) for row in letters) == sorted(bad[:2]), "as they came"
    headers = [{one.key: bytes(one.value).decode() for one in row.headers} for row in letters]
    assert {one["error-class"] for one in headers} == {"CorruptRecord", "ExpectationFailed"}
    assert {one["original-topic"] for one in headers} == {shop.topic.name}
    assert sorted(int(one["original-offset"]) for one in headers) == [41, 42]
    assert any(one["error-message"] == "expectation failed: amount > 0" for one in headers)

    tally = report.queries["files"]
    assert tally.rows == 44 and tally.expectations["valid"] == {"rows": 43, "amount > 0": 1, "id < 1000": 1}
    told = shop.runs.read(shop.topic.name)
    assert told is not None and told.state == "ended" and told.queries["files"]["rows"] > 0


@before_42
def test_where_a_run_is_one_batch_the_next_but_one_writes_the_windows_that_a_run_has_ended(shop: Shop) -> None:
    shop.send(*(order(number) for number in range(40)), order(7), order(3, amount=-1.0), b"{ broken")
    shop.run()
    for number in (900, 901):
        shop.send(order(number, at=f"2026-05-01T13:{number - 870}:00Z"))
        shop.run()
    written = shop.spark.read.parquet(str(shop.place / "out")).collect()
    assert sorted(row.id for row in written) == [*range(40), 900, 901]
    revenue = [json.loads(row.value) for row in shop.records(f"{shop.topic.name}-revenue")]
    starts = {(value["window_start"], value["region"]) for value in revenue}
    assert len(starts) == len(revenue) == 8 and {value["orders"] for value in revenue} == {5}
    assert len(shop.records(f"{shop.topic.name}-dead")) == 2


def test_a_rule_that_must_hold_stops_the_run_and_names_its_line(shop: Shop) -> None:
    shop.send(order(1), order(2, amount=-1.0))
    text = shop.text().replace('"amount > 0", otherwise = "dead-letter"', '"amount > 0", otherwise = "fail"')
    text = text[: text.index("[sinks.revenue]")].replace('corrupt = "dead-letter"', "")
    with pytest.raises(QueryError) as error:
        shop.run(text)
    lines = str(error.value).splitlines()
    line = text[: text.index("[sinks.files]")].count("\n") + 1
    assert f"shop.toml:{line}: [sinks.files] stopped" in lines[0] and "'amount > 0' of valid failed" in lines[0]
    assert len(lines) <= 3
    told = shop.runs.read(shop.topic.name)
    assert told is not None and told.state == "failed" and "amount > 0" in told.error


def test_sql_that_spark_does_not_understand_is_told_by_line(shop: Shop) -> None:
    shop.send(order(1))
    text = shop.text().replace("o.country = c.country", "o.cuontry = c.country")
    with pytest.raises(DocumentError) as error:
        shop.run(text)
    line = text[: text.index("[steps.enriched]")].count("\n") + 1
    assert f"shop.toml:{line}: [steps.enriched]" in str(error.value) and "cuontry" in str(error.value)
    assert len(str(error.value).splitlines()) <= 3


def test_two_streams_are_joined_in_time(shop: Shop) -> None:
    bills = Topic(shop.topic.bootstrap, 1)
    shop.send(order(1), order(2), order(30))
    for number, minute in ((1, 2), (2, 9), (30, 4)):
        bill = {"order_id": number, "paid": f"2026-05-01T12:{minute:02}:00Z"}
        shop.producer.produce(bills.name, json.dumps(bill).encode())
    shop.producer.flush(30)
    text = shop.text()
    text = text[: text.index("[sources.countries]")].replace('corrupt = "dead-letter"', "") + (
        f'[sources.bills]\ntopic = "{bills.name}"\nstart = "earliest"\nformat = "json"\n'
        'schema = "order_id BIGINT, paid TIMESTAMP"\nwatermark = { column = "paid", delay = "1 minute" }\n'
        '[steps.timely]\nfrom = "orders"\nwatermark = { column = "at", delay = "1 minute" }\n'
        '[steps.paid]\nfrom = "timely"\njoin = { with = "bills", '
        'condition = "id = order_id AND paid BETWEEN at AND at + INTERVAL 5 MINUTES" }\n'
        '[sinks.screen]\nfrom = "paid"\nconsole = true\n'
    )
    shop.run(text)
    assert sorted(row.id for row in shop.shown) == [1, 30], "the second was paid too late"


def test_tables_are_written_at_once_and_joined(shop: Shop) -> None:
    text = shop.text()
    head = text[: text.index("[sources.orders]")]
    (shop.place / "people.csv").write_text("id,country\n1,DE\n2,FR\n")
    text = head + (
        '[sources.people]\nfile = "people.csv"\nschema = "id BIGINT, country STRING"\noptions = { header = true }\n'
        '[sources.countries]\nfile = "countries.csv"\nschema = "country STRING, region STRING"\noptions.header = true\n'
        '[steps.joined]\nfrom = "people"\njoin = { with = "countries", on = "country", how = "left" }\n'
        '[sinks.screen]\nfrom = "joined"\nconsole = true\n'
    )
    shop.run(text)
    assert sorted(tuple(row) for row in shop.shown) == [("DE", 1, "Europe"), ("FR", 2, None)]


@pytest.mark.skipif(where("postgres") is None or where("initdb") is None, reason="needs PostgreSQL")
def test_changes_become_the_current_state_in_postgres(shop: Shop) -> None:
    import psycopg

    from tests.toolkit.servers import postgres_server

    def change(op: str, before: Any, after: Any) -> bytes:
        return json.dumps({"payload": {"op": op, "before": before, "after": after}}).encode()

    one, two = {"id": 1, "name": "a"}, {"id": 2, "name": "b"}
    with postgres_server() as dsn:
        apply = documents.cdc_apply(
            shop.topic.name,
            "people",
            dsn=dsn,
            schema="id BIGINT, name STRING",
            keys=["id"],
            cluster={"kafka.bootstrap.servers": shop.topic.bootstrap},
            checkpoint=str(shop.place / "cdc"),
            trigger="once",
        )
        for events in (
            [change("c", None, one), change("r", None, two), change("u", one, one | {"name": "c"})],
            [change("d", two, None), json.dumps({"op": "c", "before": None, "after": {"id": 3, "name": "d"}}).encode()],
            [],
        ):
            shop.send(*events)
            run_plan(make_plan(apply), Orders(spark=shop.spark))
        with psycopg.connect(dsn) as connection:
            assert connection.execute("SELECT id, name FROM people ORDER BY id").fetchall() == [(1, "c"), (3, "d")]


def test_duplicates_are_left_out_and_records_stay_as_they_are(shop: Shop) -> None:
    for number in (1, 2, 1, 3, 2):
        shop.producer.produce(shop.topic.name, b"v%d" % number, b"k%d" % number, headers=[("n", b"%d" % number)])
    shop.producer.flush(30)
    target = f"{shop.topic.name}-clean"
    job = documents.dedupe(
        shop.topic.name,
        target,
        by=["header:n"],
        within="1 hour",
        cluster={"kafka.bootstrap.servers": shop.topic.bootstrap},
        checkpoint=str(shop.place / "dedupe"),
        trigger="once",
        partitions=1,
    )
    run_plan(make_plan(job), Orders(spark=shop.spark))
    found = {
        bytes(row.key): (bytes(row.value), [(one.key, bytes(one.value)) for one in row.headers])
        for row in shop.records(target)
    }
    assert found == {b"k%d" % n: (b"v%d" % n, [("n", b"%d" % n)]) for n in (1, 2, 3)}


def test_history_is_counted_by_key_and_by_client(shop: Shop) -> None:
    for number in range(90):
        key = b"hot" if number % 3 else b"k%d" % number
        shop.producer.produce(shop.topic.name, b"x" * 100, key, headers=[("client", b"web" if number % 2 else b"app")])
    shop.producer.flush(30)
    options = {"kafka.bootstrap.servers": shop.topic.bootstrap}
    skew = reports.skew(shop.spark, shop.topic.name, options, top=3)
    assert skew["records"] == 90 and skew["distinct_keys"] == 31
    assert skew["keys"][0]["key"] == "hot" and skew["keys"][0]["records"] == 60 and "hot#0" in skew["advice"][0]
    usage = reports.usage(shop.spark, [shop.topic.name], options, tenant="^([a-z]+)-", client="client", by="day")
    groups = {(one["tenant"], one["client"]): one["records"] for one in usage["groups"]}
    assert groups == {("spark", "web"): 45, ("spark", "app"): 45} and usage["records"] == 90
