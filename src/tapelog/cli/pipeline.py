"""`tape pipeline`: declared pipelines on Spark: plan, run, look after them. Spark is loaded by `run` only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tapelog.cli import pipeline_job
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Json
from tapelog.cli.output import EXIT_FAILED, EXIT_NOT_FOUND, EXIT_USAGE, CliError, emit, print_json, remark
from tapelog.cli.pipeline_options import Background, Conf, Master, Once, Where, conf_of

if TYPE_CHECKING:
    from tapelog.spark.pipeline.runs import Run, Runs

app = typer.Typer(
    help="Pipelines on Spark, declared in a file: plan, run, list, status, stop; and built-in jobs.",
    no_args_is_help=True,
)
app.add_typer(pipeline_job.app, name="job")

File = Annotated[Path, typer.Argument(metavar="FILE", help="The pipeline: .toml or .yaml.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The pipeline's name, as its file says.")]


@app.command()
def plan(file: File, master: Master = "local[*]", json: Json = False) -> None:
    """Show what would run: sources, steps, queries, columns where they are known, secrets as dots. Starts no Spark.

    Example: tape pipeline plan shop.toml
    """
    from tapelog.cli.pipeline_view import drawn
    from tapelog.spark.pipeline import DocumentError, load, make_plan
    from tapelog.spark.pipeline.describe import described
    from tapelog.spark.pipeline.options import check_options
    from tapelog.spark.pipeline.references import References

    def read(path: str) -> str:
        return (file.parent / path).read_text(encoding="utf-8")

    try:
        made = make_plan(load(file))
        check_options(made, References(str(file), os.environ, read), lenient=True)
    except DocumentError as error:
        if json:
            problems = [{"line": one.line, "text": one.text} for one in error.problems]
            print_json({"file": str(file), "problems": problems})
            raise typer.Exit(EXIT_USAGE) from None
        raise CliError(str(error), "", EXIT_USAGE) from None
    document = described(made, master=master)
    emit(json, document, lambda: drawn(document))


@app.command()
def run(
    file: File,
    master: Master = "local[*]",
    conf: Conf = None,
    once: Once = False,
    background: Background = False,
    where: Where = None,
    json: Json = False,
) -> None:
    """Run a pipeline until Ctrl-C, `tape pipeline stop`, or, with trigger = "once", until everything is written.

    Shows rows and rates of each query while it runs; with --json one document per second.

    Example: tape pipeline run shop.toml --master spark://host:7077 --conf spark.executor.memory=4g
    """
    from tapelog.cli.pipeline_run import in_background, run_shown
    from tapelog.spark.pipeline import load
    from tapelog.spark.plan.errors import PlanError

    settings = conf_of(conf)
    try:
        pipeline = load(file)
        if background:
            in_background(pipeline.name, _runs(where), as_json=json)
            return
        run_shown(pipeline, master, settings, _runs(where), once=once, as_json=json)
    except PlanError as error:
        raise CliError(str(error), "", EXIT_FAILED) from None


@app.command("list")
def list_(where: Where = None, json: Json = False) -> None:
    """List the pipelines that were started on this machine, and how they are.

    Example: tape pipeline list
    """
    from tapelog.cli.pipeline_view import run_document, runs_drawn

    found = _runs(where).all()
    emit(json, [run_document(run) for run in found], lambda: runs_drawn(found))


@app.command()
def status(name: Name, where: Where = None, json: Json = False) -> None:
    """Show how a pipeline is: its queries, rows, rates, how far behind, and what its expectations met.

    Example: tape pipeline status shop
    """
    from tapelog.cli.pipeline_view import run_document, status_drawn

    found = _one(name, _runs(where))
    emit(json, run_document(found), lambda: status_drawn(found))


@app.command()
def stop(
    name: Name,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait for its end.")
    ] = 60.0,
    where: Where = None,
    json: Json = False,
) -> None:
    """Stop a pipeline that runs on this machine; what it has begun is finished or taken up by the next run.

    Example: tape pipeline stop shop
    """
    runs = _runs(where)
    found = _one(name, runs)
    if not runs.alive(found):
        remark(f"{name} does not run: {found.state}")
    elif not runs.stop(found, seconds=timeout):
        raise CliError(f"{name} (process {found.pid}) still runs after {timeout:g} s", "wait longer with --timeout")
    after = runs.read(name) or found
    emit(json, {"name": name, "state": after.state}, lambda: [f"{name}: {after.state}"])


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="What to write: .toml or .yaml.")] = Path("shop.toml"),
    topic: Annotated[str, typer.Option("--topic", help="The topic it reads; `tape demo` fills orders.")] = "orders",
    bootstrap: Annotated[
        str, typer.Option("--bootstrap", "-b", metavar="HOST:PORT", help="Where it is.")
    ] = DEFAULT_BOOTSTRAP,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
    json: Json = False,
) -> None:
    """Write a pipeline to start from, which works with the orders of `tape demo`.

    Example: tape pipeline init shop.toml && tape pipeline run shop.toml
    """
    from tapelog.spark.pipeline.starter import starter

    if file.suffix.lower() not in (".toml", ".yaml", ".yml"):
        raise CliError(f"{file} is neither .toml nor .yaml", "give it one of these endings", EXIT_USAGE)
    made = starter(file.name, file.stem, bootstrap=bootstrap, topic=topic)
    places = {file.parent / name: text for name, text in made.items()}
    taken = [place for place in places if place.exists() and place.read_text(encoding="utf-8") != places[place]]
    if taken and not force:
        raise CliError(f"{taken[0]} is there already", "take another name, or --force", EXIT_USAGE)
    for place, text in places.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    said = [f"wrote {place}" for place in places] + [f"next: tape pipeline plan {file}; tape pipeline run {file}"]
    emit(json, {"written": [str(place) for place in places]}, lambda: said)


def _runs(where: Path | None) -> Runs:
    from tapelog.spark.pipeline.runs import Runs, runs_directory

    return Runs(where or runs_directory(os.environ))


def _one(name: str, runs: Runs) -> Run:
    found = runs.read(name)
    if found is None:
        known = ", ".join(run.name for run in runs.all())
        hint = f"there are: {known}" if known else "none was started here; `tape pipeline run FILE` starts one"
        raise CliError(f"there is no pipeline `{name}` on this machine", hint, EXIT_NOT_FOUND)
    return found
