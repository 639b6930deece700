"""Options of sources and sinks looked at without Spark and without a network, by those who will be given them."""

from __future__ import annotations

from tapelog.spark.pipeline.model import LakeSink, LakeSource, LakeTable, TopicSink, TopicSource
from tapelog.spark.pipeline.plan import Plan
from tapelog.spark.pipeline.problems import DocumentError, Problems
from tapelog.spark.pipeline.references import References
from tapelog.spark.plan import PlanError, read_options
from tapelog.spark.plan.write_options import write_options


def check_options(plan: Plan, references: References, *, lenient: bool = False) -> None:
    """DocumentError for options that would be refused; lenient: a reference that leads nowhere (yet) is passed over."""
    problems = Problems()
    for part in plan.parts.values():
        match part.does:
            case TopicSource(options=options, stream=stream):
                _try(
                    f"[sources.{part.name}]",
                    part.line,
                    problems,
                    lenient,
                    lambda o=options, s=stream: _read(o, s, references),
                )
            case LakeSource(table=table):
                _try(f"[sources.{part.name}]", part.line, problems, lenient, lambda t=table: _lake(t, references))
            case _:
                pass
    for query in plan.queries:
        letters = plan.pipeline.dead_letters
        writes = query.sink.writes if query.sink is not None else letters.writes if letters is not None else None
        line = query.sink.line if query.sink is not None else letters.line if letters is not None else 0
        where = f"[sinks.{query.name}]" if query.sink is not None else "[dead-letters]"
        match writes:
            case TopicSink(options=options):
                _try(where, line, problems, lenient, lambda o=options, q=query: _write(o, q.stream, references))
            case LakeSink(table=table):
                _try(where, line, problems, lenient, lambda t=table: _lake(t, references))
            case _:
                pass
    problems.check(plan.pipeline.file)


def _try(where: str, line: int, problems: Problems, lenient: bool, check: object) -> None:
    assert callable(check)
    try:
        check()
    except DocumentError as error:
        if not lenient:
            for problem in error.problems:
                problems.add(line, f"{where}: {problem.text}")
    except PlanError as error:
        problems.add(line, f"{where}: {' '.join(str(error).splitlines())}")


def _read(options: object, stream: bool, references: References) -> None:
    assert isinstance(options, dict)
    read_options(references.options(options), streaming=stream)


def _write(options: object, stream: bool, references: References) -> None:
    assert isinstance(options, dict)
    write_options(references.options(options), streaming=stream)


def _lake(table: LakeTable, references: References) -> None:
    from tapelog.spark.lake.spec import from_options

    url = references.text(table.url, "lake")
    given = {"path": url if ":" in url else f"file:///{url}", "format": table.format, "partition": table.partition}
    given |= {f"catalog.{name}": value for name, value in references.options(table.catalog).items()}
    given |= {f"storage.{name}": value for name, value in references.options(table.storage).items()}
    from_options(given)
