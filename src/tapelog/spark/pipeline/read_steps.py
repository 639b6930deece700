"""[steps.NAME]: one thought each: sql, python, join, dedupe, window with aggregate, or where and select."""

from __future__ import annotations

import re
from typing import Final

from tapelog.spark.pipeline.fields import Fields
from tapelog.spark.pipeline.model import Dedupe, Does, Join, Part, Python, Shape, Sql, Window
from tapelog.spark.pipeline.read_sources import read_expectations, read_watermark
from tapelog.spark.pipeline.sql import SqlError, tables_in

KINDS: Final = ("sql", "python", "join", "dedupe", "window")
HOW: Final = ("inner", "left", "right", "full", "semi", "anti")
_PLACE: Final = re.compile(r"(?P<place>[^:]+(?:\.py)?):(?P<name>[A-Za-z_]\w*)")


def read_step(name: str, fields: Fields) -> Part:
    """The step that a table declares."""
    given = [kind for kind in KINDS if fields.has(kind)]
    fields.know(*KINDS)
    if len(given) > 1:
        fields.wrong(
            fields.line_of(given[1]),
            f"{fields.where} does {' and '.join(given)}: make a step of each, one after another.",
        )
    inputs = fields.texts("from")
    does, more = _read_does(fields, given[0] if given else "shape")
    watermark, expect = read_watermark(fields), read_expectations(fields)
    for extra in given[1:]:
        fields.take(extra)
    fields.done()
    inputs = _check_inputs(fields, does, inputs, more)
    return Part(name, fields.line, does, inputs, watermark, expect)


def _check_inputs(fields: Fields, does: Does, inputs: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(does, Sql):
        if inputs:
            fields.wrong(fields.line_of("from"), f"{fields.where}: what SQL reads stands in the SQL: leave from out.")
        return more
    if not inputs:
        fields.wrong(fields.line, f'{fields.where} needs from, e.g. from = "orders".')
    elif len(inputs) > 1 and not isinstance(does, Python):
        fields.wrong(
            fields.line_of("from"), f"{fields.where}: from names one source or step: join brings two together."
        )
    return inputs + more


def _read_does(fields: Fields, kind: str) -> tuple[Does, tuple[str, ...]]:
    """What it does, and what it reads besides `from`."""
    match kind:
        case "sql":
            return _read_sql(fields)
        case "python":
            return _read_python(fields), ()
        case "join":
            return _read_join(fields)
        case "dedupe":
            return _read_dedupe(fields), ()
        case "window":
            return _read_window(fields), ()
    return Shape(fields.text("where"), fields.texts("select")), ()


def _read_sql(fields: Fields) -> tuple[Sql, tuple[str, ...]]:
    text = fields.text("sql") or ""
    try:
        return Sql(text), tables_in(text)
    except SqlError as error:
        fields.wrong(fields.line_of("sql"), f"{fields.where}: {error}")
        return Sql(text), ()


def _read_python(fields: Fields) -> Python:
    place = fields.text("python") or ""
    match = _PLACE.fullmatch(place)
    if place and match is None:
        fields.wrong(
            fields.line_of("python"),
            f"{fields.where}: python is {place!r}: expected file.py:function or module:function.",
        )
    return Python(match["place"], match["name"]) if match else Python("", "")


def _read_join(fields: Fields) -> tuple[Join, tuple[str, ...]]:
    table = fields.table("join")
    assert table is not None
    other = table.needed("with", '"countries"')
    on, condition = table.texts("on"), table.text("condition")
    how = table.choice("how", HOW, "inner")
    if bool(on) == bool(condition):
        table.wrong(table.line, f'{table.where} needs on = ["column"] or condition = "l.a = r.b", one of them.')
    table.done()
    return Join(on, condition, how), (other,) if other else ()


def _read_dedupe(fields: Fields) -> Dedupe:
    table = fields.table("dedupe")
    assert table is not None
    keys = table.texts("keys")
    if not table.has("keys"):
        table.wrong(table.line, f'{table.where} needs keys, e.g. keys = ["order"].')
    within, forever = table.interval("within"), table.flag("forever", False)
    if within and forever:
        table.wrong(table.line_of("within"), f"{table.where}: within and forever contradict each other: give one.")
    table.done()
    return Dedupe(keys, within, forever)


def _read_window(fields: Fields) -> Window:
    table = fields.table("window")
    assert table is not None
    column = table.needed("column", '"_timestamp"')
    size = table.interval("size")
    if size is None and not table.has("size"):
        table.wrong(table.line, f'{table.where} needs size, e.g. size = "1 minute".')
    slide, by = table.interval("slide"), table.texts("by")
    table.done()
    aggregate = fields.options("aggregate")
    if not aggregate:
        fields.wrong(
            fields.line, f'{fields.where}: a window needs aggregate, e.g. aggregate = {{ orders = "count(*)" }}.'
        )
    return Window(column, size or "1 minutes", slide, by, aggregate)
