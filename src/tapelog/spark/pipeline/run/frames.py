"""The parts of a plan as frames: each a view of its name, checked by its expectations, with its bad rows beside it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tapelog.spark.pipeline.model import (
    Dedupe,
    Expectation,
    FileSource,
    Join,
    LakeSource,
    Part,
    Pipeline,
    Python,
    Shape,
    Sql,
    TopicSource,
    Window,
)
from tapelog.spark.pipeline.plan import Plan
from tapelog.spark.pipeline.problems import DocumentError, Problem
from tapelog.spark.pipeline.progress import OBSERVED
from tapelog.spark.pipeline.references import References
from tapelog.spark.pipeline.run import sources
from tapelog.spark.pipeline.trouble import told


@dataclass(frozen=True, slots=True)
class Made:
    """A part's rows, and those that it turned away with the reason in `_why`."""

    good: Any
    bad: Any | None


class Frames:
    """Makes frames of the parts of a plan, each once. With `observe`, progress tells how many rows kept each rule."""

    def __init__(self, spark: Any, plan: Plan, references: References, base: Path, *, observe: bool) -> None:
        self._spark, self._plan, self._references, self._base = spark, plan, references, base
        self._observe = observe
        self._made: dict[str, Made] = {}

    def make(self, names: tuple[str, ...]) -> dict[str, Made]:
        """The frames of these parts, which come in the order in which they are made."""
        for name in names:
            if name not in self._made:
                part = self._plan.parts[name]
                try:
                    self._made[name] = self._checked(part, self._frame(part))
                    self._made[name].good.createOrReplaceTempView(name)
                except DocumentError:
                    raise
                except Exception as error:
                    raise _explained(self._plan.pipeline, part, error) from error
        return {name: self._made[name] for name in names}

    def _input(self, part: Part, number: int = 0) -> Any:
        return self._made[part.inputs[number]].good

    def _frame(self, part: Part) -> Any:
        match part.does:
            case TopicSource() as topic:
                return sources.topic_frame(self._spark, topic, self._references)
            case FileSource() as files:
                return sources.file_frame(self._spark, files, self._references, self._base)
            case LakeSource() as table:
                return sources.lake_frame(self._spark, table, self._references, self._base)
            case Sql(text=text):
                return self._spark.sql(text)
            case Python(place=place, function=function):
                inputs = [self._input(part, number) for number in range(len(part.inputs))]
                return load_function(self._spark, place, function, self._base)(*inputs)
            case Join() as join:
                return _joined(self._input(part), self._input(part, 1), part, join)
            case Dedupe(keys=keys, forever=forever):
                bounded = part.name in self._plan.streams and not forever
                frame = self._input(part)
                return frame.dropDuplicatesWithinWatermark([*keys]) if bounded else frame.dropDuplicates([*keys])
            case Window() as window:
                return _windowed(self._input(part), window)
            case Shape(where=where, select=select):
                frame = self._input(part)
                frame = frame.where(where) if where else frame
                return frame.selectExpr(*select) if select else frame

    def _checked(self, part: Part, frame: Any) -> Made:
        """Rules first, the watermark then: a row that is turned away does not move it."""
        rules = list(part.expect)
        if sources.BAD in frame.columns:
            assert isinstance(part.does, TopicSource)
            rules.insert(0, Expectation("decoded", f"`{sources.BAD}` IS NULL", part.does.corrupt, part.line))
        if self._observe and rules:
            frame = _observed(frame, part.name, rules)
        good, bad = (frame.where(_keeps(rules, part)), _turned_away(frame, rules)) if rules else (frame, None)
        if sources.BAD in good.columns:
            good = good.drop(sources.BAD)
        if part.watermark is not None:
            good = good.withWatermark(part.watermark.column, part.watermark.delay)
        return Made(good, bad)


def _ok(rule: Expectation) -> Any:
    from pyspark.sql import functions as F

    return F.coalesce(F.expr(rule.rule).cast("boolean"), F.lit(False))


def _keeps(rules: list[Expectation], part: Part) -> Any:
    """Whether a row stays; the first rule that it breaks decides, and `fail` ends the query."""
    from pyspark.sql import functions as F

    verdict: Any = F.lit(True)
    for rule in reversed(rules):
        text = f'Expectation {rule.name!r} of {part.name} failed, and it says otherwise = "fail".'
        broken = F.raise_error(F.lit(text)).cast("boolean") if rule.otherwise == "fail" else F.lit(False)
        verdict = F.when(_ok(rule), verdict).otherwise(broken)
    return verdict


def _turned_away(frame: Any, rules: list[Expectation]) -> Any | None:
    """Rows whose first broken rule sends them to the dead letters, with that rule's name."""
    from pyspark.sql import functions as F

    if not any(rule.otherwise == "dead-letter" for rule in rules):
        return None
    why: Any = F.lit(None).cast("string")
    for rule in reversed(rules):
        name = F.lit(rule.name) if rule.otherwise == "dead-letter" else F.lit(None).cast("string")
        why = F.when(_ok(rule), why).otherwise(name)
    return frame.withColumn("_why", why).where("_why IS NOT NULL")


def _observed(frame: Any, name: str, rules: list[Expectation]) -> Any:
    from pyspark.sql import functions as F

    counts = [F.count(F.lit(1)).alias("rows")]
    counts += [F.sum(F.when(_ok(rule), 0).otherwise(1)).alias(rule.name) for rule in rules]
    return frame.observe(f"{OBSERVED}{name}", *counts)


def _joined(left: Any, right: Any, part: Part, join: Join) -> Any:
    from pyspark.sql import functions as F

    if join.condition is None:
        return left.join(right, list(join.on), join.how)
    return left.alias(part.inputs[0]).join(right.alias(part.inputs[1]), F.expr(join.condition), join.how)


def _windowed(frame: Any, window: Window) -> Any:
    from pyspark.sql import functions as F

    span = F.window(window.column, window.size, window.slide) if window.slide else F.window(window.column, window.size)
    grouped = frame.groupBy(span.alias("window"), *window.by)
    made = grouped.agg(*(F.expr(text).alias(name) for name, text in window.aggregate.items()))
    times = (F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end"))
    return made.select(*times, *window.by, *window.aggregate)


def load_function(spark: Any, place: str, function: str, base: Path) -> Callable[..., Any]:
    """The function of a Python step; its file goes to the executors, too, since they may run what it defines."""
    if place.endswith(".py"):
        path = (base / place).resolve()
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        spark.sparkContext.addPyFile(str(path))
    else:
        module = importlib.import_module(place)
    found: Callable[..., Any] = getattr(module, function)
    return found


def _explained(pipeline: Pipeline, part: Part, error: Exception) -> DocumentError:
    kind = "sources" if part.is_source else "steps"
    first, *more = told(str(error))
    problem = Problem(part.line, f"[{kind}.{part.name}]: {first}{' ' + more[0] if more else ''}")
    return DocumentError(pipeline.file, [problem])
