"""A table in a bucket: the same promises over S3's own conditional writes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tapelog.spark import lake
from tapelog.spark.lake.spec import Table
from tests.support.s3 import BUCKET, ENVIRONMENT, S3Server
from tests.unit.spark.lake.world import compactor, expected, keys, left_over, never, opened, put


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running


@pytest.fixture
def where(server: S3Server) -> Table:
    storage = {name.lower(): value for name, value in ENVIRONMENT.items()} | {"aws_endpoint": server.endpoint}
    return lake.table(f"s3://{BUCKET}/{uuid.uuid4().hex}", format="parquet", storage=storage)


def test_batches_come_once_and_are_compacted(where: Table) -> None:
    put(where, 0)
    put(where, 1)
    assert put(where, 1).skipped
    assert left_over(where) == []
    late = opened(where)
    compactor(where, never)
    assert keys(where) == expected(2)
    assert len(opened(where).files()) == 3
    assert len(late.files()) == 6  # as it was looked at


def test_an_object_is_created_once(where: Table) -> None:
    from tapelog.spark.lake.store import Store

    store = Store(where)
    assert store.create("a", b"1")
    assert not store.create("a", b"2")
    assert store.read("a") == b"1"
    assert store.read("b") is None
    store.delete(["a", "b"])
    assert list(store.listed("")) == []
