"""Tables as their users name them: what is taken, and three lines for what is not."""

from __future__ import annotations

import pickle

import pytest

from tapelog.spark import lake
from tapelog.spark.lake.spec import Partitioning


def test_a_table_is_a_value_whose_secrets_print_as_dots() -> None:
    storage = {"aws_secret_access_key": "hush", "aws_region": "eu-central-1"}
    table = lake.table("s3://bucket/lake/orders/", format="delta", partition="hour( at )", storage=storage)
    assert table.url == "s3://bucket/lake/orders"
    assert table.partition == Partitioning("at", "hour")
    assert table.partition.name == "at_hour"
    assert table.identifier == "lake.orders"
    assert "hush" not in repr(table)
    assert pickle.loads(pickle.dumps(table)) == table


def test_a_plain_path_is_a_local_table() -> None:
    table = lake.table("/lake/orders", partition="")
    assert (table.url, table.format, table.partition, table.directory) == (
        "file:///lake/orders",
        "iceberg",
        None,
        "/lake/orders",
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"url": "orders"}, "'orders' is no place for a lake table"),
        ({"url": "hdfs://x/y"}, "no place for a lake table"),
        ({"url": "/a", "format": "hudi"}, "format 'hudi' is none of iceberg, delta, parquet"),
        ({"url": "/a", "partition": "week(at)"}, r"partition 'week\(at\)' cannot be used"),
        ({"url": "s3://b/a"}, "needs a catalog"),
        ({"url": "/a", "identifier": "orders"}, "Write namespace.table"),
        ({"url": "/a", "file_bytes": 10}, "too small"),
    ],
)
def test_what_cannot_be_is_said_in_three_lines(given: dict[str, str], message: str) -> None:
    with pytest.raises(lake.LakeError, match=message) as caught:
        lake.table(**given)  # type: ignore[arg-type]
    assert len(str(caught.value).splitlines()) <= 3


def test_options_of_pipelines_make_the_same_table() -> None:
    options = {
        "path": "/lake/orders",
        "format": "delta",
        "partition": "hour(at)",
        "fileBytes": "1000000",
        "storage.a": "b",
    }
    wanted = lake.table("/lake/orders", format="delta", partition="hour(at)", file_bytes=1_000_000, storage={"a": "b"})
    assert lake.from_options(options) == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "/a", "partiton": "day(at)"}, "did you mean partition"),
        ({"format": "delta"}, "Option path is missing"),
        ({"path": "/a", "fileBytes": "1m"}, "no number of bytes"),
    ],
)
def test_an_option_that_cannot_be_is_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(lake.LakeError, match=message):
        lake.from_options(options)
