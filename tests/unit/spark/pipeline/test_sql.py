"""Which tables a query reads."""

from __future__ import annotations

import pytest

from tapelog.spark.pipeline.sql import SqlError, tables_in


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT * FROM a", ("a",)),
        ("select x.* from a x join b as y on x.k = y.k left join c using (k)", ("a", "b", "c")),
        ("SELECT * FROM a, b c, d AS e WHERE 1 = 1", ("a", "b", "d")),
        ("SELECT ' FROM no ' FROM a -- FROM b\n/* FROM c */ WHERE x = \"FROM d\"", ("a",)),
        ("WITH t AS (SELECT * FROM a), u (x) AS (SELECT 1 FROM t) SELECT * FROM t JOIN u", ("a",)),
        ("SELECT * FROM (SELECT * FROM a WHERE x IN (SELECT y FROM b)) t JOIN c ON true", ("a", "b", "c")),
        ("SELECT * FROM (a JOIN b ON a.k = b.k)", ("a", "b")),
        ("SELECT * FROM catalog.db.t JOIN a ON true", ("a",)),
        ("SELECT * FROM range(10) r JOIN a ON true", ("a",)),
        ("SELECT extract(DAY FROM ts), trim(BOTH FROM x) FROM a WHERE x IS DISTINCT FROM y", ("a",)),
        ("SELECT DISTINCT k FROM a", ("a",)),
        ("SELECT * FROM `a` UNION ALL SELECT * FROM a UNION SELECT * FROM b;", ("a", "b")),
        ("SELECT e FROM a LATERAL VIEW explode(xs) t AS e", ("a",)),
        ("SELECT CAST(x AS (y)) FROM a", ("a",)),
        ("SELECT 1", ()),
        ("FROM a SELECT x", ("a",)),
    ],
)
def test_the_tables_of_a_query(text: str, tables: tuple[str, ...]) -> None:
    assert tables_in(text) == tables


@pytest.mark.parametrize("text", ["", "DROP TABLE a", "SELECT 1; SELECT 2", "  -- nothing"])
def test_what_is_no_single_query_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        tables_in(text)
