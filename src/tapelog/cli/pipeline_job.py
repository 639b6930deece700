"""`tape pipeline job`: pipelines that nobody has to write: archive, replay, dedupe, skew, usage, cdc-apply."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Topic, Topics
from tapelog.cli.output import EXIT_FAILED, EXIT_USAGE, CliError, emit
from tapelog.cli.pipeline_options import Conf, Master, Where, conf_of
from tapelog.cli.units import parse_pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapelog.spark.pipeline.model import Pipeline

app = typer.Typer(help="Built-in pipelines: archive, replay, dedupe, skew, usage, cdc-apply.", no_args_is_help=True)

Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help='An option of format("tapelog"), e.g. kafka.security.protocol=SSL. Repeatable.',
        rich_help_panel="Connection",
    ),
]
Checkpoint = Annotated[
    str | None, typer.Option("--checkpoint", metavar="DIR", help="Any file system; else ./NAME-checkpoints.")
]
Follow = Annotated[bool, typer.Option("--follow", help="Go on with what comes; else read what is there, and end.")]
Plan = Annotated[bool, typer.Option("--plan", help="Show what would run, and start nothing.")]
Since = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="Only records from then on: 7d, 2026-05-01T12:30Z.")
]


@app.command()
def archive(
    topics: Topics,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="The table: file:///lake/orders, s3://bucket/orders.")],
    form: Annotated[str, typer.Option("--format", help="iceberg, delta or parquet.")] = "iceberg",
    partition: Annotated[
        str, typer.Option("--partition", help="day(COLUMN), hour(COLUMN), or nothing.")
    ] = "day(timestamp)",
    schema: Annotated[
        str | None, typer.Option("--schema", metavar="DDL", help="Decode values as JSON of this schema.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Records per batch at most.")] = None,
    follow: Follow = False,
    checkpoint: Checkpoint = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    options: Options = None,
    master: Master = "local[*]",
    conf: Conf = None,
    where: Where = None,
    plan: Plan = False,
    json: Json = False,
) -> None:
    """Write topics into a table of the lake, exactly once: what is there (from the tier, where it is), then the tail.

    Example: tape pipeline job archive orders --to file:///lake/orders --follow
    """
    from tapelog.spark.pipeline.jobs import documents

    decode = {"format": "json", "schema": schema} if schema else None
    _run(
        lambda: documents.archive(
            topics,
            to,
            cluster=_cluster(bootstrap, options),
            checkpoint=checkpoint or f"./archive-{topics[0]}-checkpoints",
            trigger="10 seconds" if follow else "once",
            form=form,
            partition=partition,
            decode=decode,
            limit=limit,
        ),
        master,
        conf,
        where,
        plan,
        json,
    )


@app.command()
def dedupe(
    topic: Topic,
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="Where records go without their duplicates.")],
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="WHAT", help="key, value or header:NAME; repeatable. Else key and value."),
    ] = None,
    within: Annotated[str, typer.Option("--within", metavar="TIME", help="How long keys are remembered.")] = "1 hour",
    partitions: Annotated[
        int, typer.Option("--partitions", min=0, help="Make the topic with so many if it is missing.")
    ] = 0,
    follow: Follow = False,
    checkpoint: Checkpoint = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    options: Options = None,
    master: Master = "local[*]",
    conf: Conf = None,
    where: Where = None,
    plan: Plan = False,
    json: Json = False,
) -> None:
    """Copy a topic without its duplicates, exactly once; keys are remembered in Spark's state, bounded by --within.

    Example: tape pipeline job dedupe orders --to orders-clean --by header:message-id --within 1h --follow
    """
    from tapelog.spark.pipeline.jobs import documents

    _run(
        lambda: documents.dedupe(
            topic,
            to,
            by=by or ["key", "value"],
            within=within,
            cluster=_cluster(bootstrap, options),
            checkpoint=checkpoint or f"./dedupe-{topic}-checkpoints",
            trigger="5 seconds" if follow else "once",
            partitions=partitions,
        ),
        master,
        conf,
        where,
        plan,
        json,
    )


@app.command("cdc-apply")
def cdc_apply(
    topic: Topic,
    table: Annotated[str, typer.Option("--table", help="The table in PostgreSQL; made if it is missing.")],
    schema: Annotated[str, typer.Option("--schema", metavar="DDL", help="Columns of a row: 'id BIGINT, name STRING'.")],
    key: Annotated[list[str], typer.Option("--key", metavar="COLUMN", help="What tells rows apart. Repeatable.")],
    dsn: Annotated[str, typer.Option("--dsn", envvar="POSTGRES_DSN", help="The database.")] = "${env:POSTGRES_DSN}",
    dead: Annotated[
        str, typer.Option("--dead", metavar="TOPIC", help="Bad events go here; else they end the job.")
    ] = "",
    follow: Follow = False,
    checkpoint: Checkpoint = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    options: Options = None,
    master: Master = "local[*]",
    conf: Conf = None,
    where: Where = None,
    plan: Plan = False,
    json: Json = False,
) -> None:
    """Apply change events (Debezium's JSON) to a table in PostgreSQL that has the current state, exactly once.

    Example: tape pipeline job cdc-apply shop.orders --table orders --key id --schema 'id BIGINT, total DOUBLE' --follow
    """
    from tapelog.spark.pipeline.jobs import documents

    _run(
        lambda: documents.cdc_apply(
            topic,
            table,
            dsn=dsn,
            schema=schema,
            keys=key,
            cluster=_cluster(bootstrap, options),
            checkpoint=checkpoint or f"./cdc-{table}-checkpoints",
            trigger="5 seconds" if follow else "once",
            letters=dead,
        ),
        master,
        conf,
        where,
        plan,
        json,
    )


@app.command()
def skew(
    topic: Topic,
    since: Since = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many keys to show.")] = 10,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    options: Options = None,
    master: Master = "local[*]",
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Count what each partition and key of a topic holds, over all of its history, and advise how to split what is hot.

    Example: tape pipeline job skew orders --since 7d --top 20
    """
    from tapelog.cli.pipeline_job_view import skew_drawn

    def report(spark: Any) -> dict[str, Any]:
        from tapelog.spark.pipeline.jobs import reports

        return reports.skew(spark, topic, _cluster(bootstrap, options, since), top=top)

    document = _reported(f"skew-{topic}", report, master, conf, json)
    emit(json, document, lambda: skew_drawn(document))


@app.command()
def usage(
    topics: Annotated[
        list[str] | None, typer.Argument(metavar="[TOPIC…]", help="All of them if none is named.")
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant", metavar="REGEX", help="Its first group in a topic's name is the tenant; or header:NAME."
        ),
    ] = None,
    client: Annotated[
        str | None, typer.Option("--client", metavar="HEADER", help="The header that names the client.")
    ] = None,
    by: Annotated[str | None, typer.Option("--by", help="Per hour, day, week or month, too.")] = None,
    since: Since = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    options: Options = None,
    master: Master = "local[*]",
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Count bytes and records per tenant, topic and client, over all of history or a part of it.

    Example: tape pipeline job usage --tenant '^([^.]+)\\.' --client client-id --by day --since 30d
    """
    from tapelog.cli.pipeline_job_view import usage_drawn

    if by not in (None, "hour", "day", "week", "month"):
        raise CliError(f"--by {by} is not known", "--by hour, day, week or month", EXIT_USAGE)

    def report(spark: Any) -> dict[str, Any]:
        from tapelog.spark.pipeline.jobs import reports

        given = _cluster(bootstrap, options, since)
        return reports.usage(spark, topics or [], given, tenant=tenant, client=client, by=by)

    document = _reported("usage", report, master, conf, json)
    emit(json, document, lambda: usage_drawn(document))


@app.command()
def replay(
    source: Annotated[str, typer.Argument(metavar="URL", help="A table of the lake, or Parquet files below a URL.")],
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="Where the rows go, as records.")],
    form: Annotated[str, typer.Option("--format", help="Of the table: iceberg, delta, parquet; or files.")] = "iceberg",
    rate: Annotated[int | None, typer.Option("--rate", min=1, help="Rows per second at most.")] = None,
    partitions: Annotated[
        int, typer.Option("--partitions", min=0, help="Make the topic with so many if it is missing.")
    ] = 0,
    state: Annotated[
        str | None, typer.Option("--state", metavar="DIR", help="How far it is; else ./replay-TOPIC.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    options: Options = None,
    master: Master = "local[*]",
    conf: Conf = None,
    json: Json = False,
) -> None:
    """Write a table of the lake or files back into a topic, no faster than --rate; taken up where it was stopped.

    Example: tape pipeline job replay file:///lake/orders --to orders-again --rate 5000
    """
    from tapelog.cli.pipeline_job_view import replay_shown

    given, sink = _table(source, form), {**_cluster(bootstrap, options), "topic": to}
    place = state or (Path.cwd() / f"replay-{to}").as_uri()
    _make_topic(sink, partitions)

    def report(spark: Any) -> dict[str, Any]:
        return replay_shown(spark, given, sink, place, rate, as_json=json)

    document = _reported(f"replay-{to}", report, master, conf, json)
    emit(json, document, lambda: [f"{document['rows']:,} rows to topic {to}"])


def _table(url: str, form: str) -> Any:
    """What is read back: a table of the lake, or the URL of files."""
    from tapelog.spark import lake

    if form == "files":
        return url
    try:
        return lake.from_options({"path": url, "format": form})
    except lake.LakeError as error:
        raise CliError(str(error), "", EXIT_USAGE) from None


def _make_topic(sink: dict[str, str], partitions: int) -> None:
    """See that the topic is there, before Spark takes its time."""
    from tapelog.client.errors import ClientError
    from tapelog.spark.pipeline.model import TopicSink
    from tapelog.spark.pipeline.references import References
    from tapelog.spark.pipeline.run.topics import make_missing
    from tapelog.spark.plan.errors import PlanError

    try:
        make_missing([TopicSink(sink, None, "value", "raw", (), partitions)], References("replay", {}, str))
    except (ClientError, PlanError) as error:
        raise CliError(str(error), "--partitions 3 makes a topic that is missing", EXIT_FAILED) from None


def _cluster(bootstrap: str, options: list[str] | None, since: str | None = None) -> dict[str, str]:
    made = {"kafka.bootstrap.servers": bootstrap}
    for text in options or []:
        try:
            name, value = parse_pair(text, "kafka.security.protocol=SSL")
        except ValueError as error:
            raise CliError(f"--option {text}: {error}", "--option kafka.client.id=me", EXIT_USAGE) from None
        made[name] = value
    if since is not None:
        import time

        from tapelog.cli.units import parse_moment_ms

        try:
            moment = parse_moment_ms(since, int(time.time() * 1000))
        except ValueError as error:
            raise CliError(f"--since {since}: {error}", "--since 7d", EXIT_USAGE) from None
        made |= {"startingTimestamp": str(moment), "startingOffsetsByTimestampStrategy": "latest"}
    return made


def _run(
    make: Callable[[], Pipeline],
    master: str,
    conf: list[str] | None,
    where: Path | None,
    only_plan: bool,
    as_json: bool,
) -> None:
    import os

    from tapelog.cli.pipeline_run import run_shown
    from tapelog.cli.pipeline_view import drawn
    from tapelog.spark.pipeline import make_plan
    from tapelog.spark.pipeline.describe import described
    from tapelog.spark.pipeline.runs import Runs, runs_directory
    from tapelog.spark.plan.errors import PlanError

    settings = conf_of(conf)
    try:
        pipeline = make()
        if only_plan:
            document = described(make_plan(pipeline), master=master)
            emit(as_json, document, lambda: drawn(document))
            return
        run_shown(pipeline, master, settings, Runs(where or runs_directory(os.environ)), as_json=as_json)
    except PlanError as error:
        raise CliError(str(error), "", EXIT_FAILED) from None


def _reported(
    name: str, report: Callable[[Any], dict[str, Any]], master: str, conf: list[str] | None, as_json: bool
) -> dict[str, Any]:
    from tapelog.cli.pipeline_job_view import with_session
    from tapelog.spark.plan.errors import PlanError

    try:
        return with_session(name, master, conf_of(conf), report, quiet=as_json)
    except PlanError as error:
        raise CliError(str(error), "", EXIT_FAILED) from None
