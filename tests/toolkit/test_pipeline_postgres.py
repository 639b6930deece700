"""The PostgreSQL sink of declared pipelines, on a real PostgreSQL: the newest row of each key, and each batch once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tapelog.spark.pipeline.model import PostgresSink
from tapelog.spark.pipeline.run.postgres import BATCHES, Upsert, column_type, create_statement
from tapelog.spark.plan.errors import PlanError
from tests.support.names import Fresh

pytestmark = pytest.mark.needs("postgres", "initdb")

COLUMNS = [("id", "bigint"), ("name", "string"), ("at", "int")]


def sink(fresh: Fresh, **more: Any) -> PostgresSink:
    """A sink into a table of its own."""
    given = {
        "dsn": "",
        "table": "t" + fresh().replace("-", "_"),
        "keys": ("id",),
        "order": None,
        "delete": None,
        "columns": (),
    }
    return PostgresSink(**{**given, **more})


def rows(dsn: str, table: str) -> list[tuple[Any, ...]]:
    """What the table holds."""
    import psycopg

    with psycopg.connect(dsn) as connection:
        return connection.execute(f'SELECT * FROM "{table}" ORDER BY 1').fetchall()


def put(dsn: str, to: PostgresSink, batch: int, *values: Sequence[Any], app: str = "q") -> bool:
    """Write a batch; a value that does not say so is not deleted."""
    made = [(*one, False) if len(one) == len(COLUMNS) else one for one in values]
    return Upsert(to, dsn, f"{to.table}/{app}").write(batch, COLUMNS, made)


def test_the_newest_row_of_each_key_stays(dsn: str, fresh: Fresh) -> None:
    to = sink(fresh)
    assert put(dsn, to, 0, (1, "a", 1), (2, "b", 1), (1, "c", 2))
    assert put(dsn, to, 1, (2, "d", 2), (3, None, 1))
    assert rows(dsn, to.table) == [(1, "c", 2), (2, "d", 2), (3, None, 1)]


def test_a_batch_that_comes_again_changes_nothing(dsn: str, fresh: Fresh) -> None:
    to = sink(fresh)
    assert put(dsn, to, 5, (1, "a", 1))
    assert not put(dsn, to, 5, (1, "again", 1)) and not put(dsn, to, 4, (1, "older", 1))
    assert rows(dsn, to.table) == [(1, "a", 1)]
    assert put(dsn, to, 0, (1, "a new checkpoint", 1), app="other")


def test_a_batch_that_fails_half_way_leaves_nothing(dsn: str, fresh: Fresh) -> None:
    to = sink(fresh)
    put(dsn, to, 0, (1, "a", 1))

    def broken() -> Any:
        yield (2, "b", 1, False)
        raise RuntimeError("the task died")

    with pytest.raises(RuntimeError):
        Upsert(to, dsn, f"{to.table}/q").write(1, COLUMNS, broken())
    assert rows(dsn, to.table) == [(1, "a", 1)]
    assert put(dsn, to, 1, (2, "b", 1)), "it can be written when it comes again"


def test_what_is_there_and_newer_stays(dsn: str, fresh: Fresh) -> None:
    to = sink(fresh, order="at")
    put(dsn, to, 0, (1, "new", 9), (1, "older", 3))
    put(dsn, to, 1, (1, "late", 5), (2, "x", 1))
    assert rows(dsn, to.table) == [(1, "new", 9), (2, "x", 1)]


def test_deleted_rows_go_and_come_back(dsn: str, fresh: Fresh) -> None:
    to = sink(fresh, delete="op = 'd'")
    put(dsn, to, 0, (1, "a", 1), (2, "b", 1))
    put(dsn, to, 1, (1, "a", 1, True), (3, "c", 1), (3, "c", 1, True), (4, "d", 1, True), (4, "e", 2))
    assert rows(dsn, to.table) == [(2, "b", 1), (4, "e", 2)]
    put(dsn, to, 2, (1, "again", 2))
    assert rows(dsn, to.table)[0] == (1, "again", 2)


def test_nested_values_are_json_and_names_are_quoted(dsn: str, fresh: Fresh) -> None:
    to = sink(fresh, keys=("the id",))
    columns = [("the id", "bigint"), ("tags", "array<string>"), ("select", "timestamp")]
    assert Upsert(to, dsn, to.table).write(0, columns, [(1, '["a"]', None, False)])
    assert rows(dsn, to.table) == [(1, ["a"], None)]
    assert column_type("decimal(10,2)") == "numeric(10,2)" and column_type("struct<a:int>") == "jsonb"
    assert 'PRIMARY KEY ("the id")' in create_statement(to, columns)


def test_a_table_that_does_not_fit_is_told_in_few_lines(dsn: str, fresh: Fresh) -> None:
    import psycopg

    to = sink(fresh)
    with psycopg.connect(dsn) as connection:
        connection.execute(f'CREATE TABLE "{to.table}" (id bigint, name text, at int)')
    with pytest.raises(PlanError) as error:
        put(dsn, to, 0, (1, "a", 1))
    assert to.table in str(error.value) and "unique index" in str(error.value)
    assert len(str(error.value).splitlines()) <= 3


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    with pytest.raises(PlanError) as error:
        Upsert(PostgresSink("", "t", ("id",), None, None, ()), "host=127.0.0.1 port=1 password=unheard-of", "q").write(
            0, COLUMNS, []
        )
    assert "unheard-of" not in str(error.value) and "dsn" in str(error.value)


def test_the_last_batch_of_each_query_is_kept_in_one_table(dsn: str, fresh: Fresh) -> None:
    to = sink(fresh)
    put(dsn, to, 3, (1, "a", 1))
    found = dict(row[:2] for row in rows(dsn, BATCHES))
    assert found[f"{to.table}/q"] == 3
