"""PostgreSQL as a sink: what is said when it does not answer."""

from __future__ import annotations

import pytest

from tapelog.spark.pipeline.model import PostgresSink
from tapelog.spark.pipeline.run.postgres import Upsert, refusal
from tapelog.spark.plan.errors import PlanError

pytest.importorskip("psycopg", reason="needs psycopg")


def test_a_database_that_is_down_is_told_in_two_lines_without_its_password() -> None:
    dsn = "host=127.0.0.1 port=1 dbname=shop password=geheim"
    with pytest.raises(PlanError) as error:
        Upsert(PostgresSink(dsn, "orders", ("id",), None, None, ()), dsn, "shop").write(0, [], [])
    first, second = str(error.value).splitlines()
    assert "port 1 failed: Connection refused" in first and "geheim" not in first
    assert "dsn" in second


def test_of_several_tries_the_first_is_told() -> None:
    text = (
        "Multiple attempts:\n- host: 'a', port: 1: connection failed: no\n- host: 'b', port: 2: connection failed: no"
    )
    assert refusal(text) == "host: 'a', port: 1: connection failed: no"
    assert refusal("") == "no reason given"
