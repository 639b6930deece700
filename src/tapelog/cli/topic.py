"""`tape topic`: create, list, describe, alter, delete; skew and usage are in files of their own."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import NewPartitions, NewTopic
from rich.text import Text

from tapelog.cli import configs, topic_cleaning
from tapelog.cli.connect import Connection, missing_topic
from tapelog.cli.options import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    Json,
    Properties,
    Settings,
    Timeout,
    Topic,
    Topics,
    Yes,
)
from tapelog.cli.output import EXIT_OK, EXIT_USAGE, CliError, console, emit, remark, table
from tapelog.cli.prompt import confirm
from tapelog.cli.skew import skew
from tapelog.cli.topic_names import is_internal, own_first
from tapelog.cli.topic_usage import usage

app = typer.Typer(help="Create, list, describe, alter and delete topics; see which are hot.", no_args_is_help=True)
app.command()(skew)
app.command()(usage)


@app.command()
def create(
    topics: Topics,
    partitions: Annotated[int, typer.Option("--partitions", "-p", help="How many; -1: the broker's default.")] = -1,
    replicas: Annotated[int, typer.Option("--replicas", "-r", help="Copies of each; -1: the broker's default.")] = -1,
    settings: Settings = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="An existing topic is no error.")] = False,
    validate_only: Annotated[bool, typer.Option("--validate-only", help="Check, but create nothing.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Create topics.

    Example: tape topic create orders --partitions 6 --set retention.ms=7d
    """
    config = configs.parse_settings(settings or ())
    connection = Connection(bootstrap, properties, timeout)
    wanted = [NewTopic(name, num_partitions=partitions, replication_factor=replicas, config=config) for name in topics]
    futures = connection.admin.create_topics(wanted, validate_only=validate_only, request_timeout=timeout)
    created: list[dict[str, Any]] = []
    failures: list[CliError] = []
    for name, future in futures.items():
        try:
            future.result(timeout=timeout + 1)
            created.append({"topic": name, "created": not validate_only})
        except KafkaException as error:
            if if_not_exists and error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                created.append({"topic": name, "created": False})
            else:
                failures.append(connection.explained(error, topic=name))
    if created and not validate_only:
        known = connection.metadata().topics
        for entry in created:
            entry["partitions"] = len(known[entry["topic"]].partitions) if entry["topic"] in known else None
    emit(json, created, lambda: [_created_line(entry, validate_only) for entry in created])
    _raise_first(failures)


def _created_line(entry: dict[str, Any], validate_only: bool) -> Text:
    if validate_only:
        return Text(f"{entry['topic']} could be created")
    number = entry["partitions"]
    partitions = "" if number is None else f" with {number} partition{'' if number == 1 else 's'}"
    return Text(f"{'created' if entry['created'] else 'exists already:'} {entry['topic']}{partitions}")


def _raise_first(failures: list[CliError]) -> None:
    """Report all failures; raise the first, so that it decides the exit code."""
    for error in failures[1:]:
        remark(f"error: {error.message}")
    if failures:
        raise failures[0]


@app.command("list")
def list_topics(
    internal: Annotated[bool, typer.Option("--internal", "-i", help="Also the cluster's own topics (__…).")] = False,
    offsets: Annotated[
        bool,
        typer.Option(
            "--offsets",
            "--records",
            help="Also how many offsets lie between start and end; asks every partition. No more records can be there, "
            "but fewer: compaction leaves gaps, and markers of transactions have offsets, too.",
        ),
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """List topics.

    Example: tape topic list --offsets
    """
    connection = Connection(bootstrap, properties, timeout)
    known = connection.metadata().topics
    names = sorted((name for name in known if internal or not is_internal(name)), key=own_first)
    rows: list[dict[str, Any]] = []
    for name in names:
        copies = [len(partition.replicas) for partition in known[name].partitions.values()]
        rows.append({"topic": name, "partitions": len(copies), "replicas": max(copies, default=0)})
    if offsets and names:
        bounds = connection.bounds((name, number) for name in names for number in sorted(known[name].partitions))
        for row in rows:
            spans = [end - start for (topic, _), (start, end) in bounds.items() if topic == row["topic"]]
            row["offsets"] = row["records"] = sum(spans)  # the second name is the older one
    if not rows and not json:
        remark("no topics yet; `tape topic create NAME` makes one")
        return
    columns = ["topic", "partitions", "replicas", *(["offsets"] if offsets else [])]
    heads = ["topic", *(f"{name}>" for name in columns[1:])]
    emit(json, rows, lambda: [table(heads, [[row[name] for name in columns] for row in rows])])


@app.command()
def describe(
    topic: Topic,
    all_configs: Annotated[
        bool, typer.Option("--all", "-a", help="Every config, not only those that were set.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show a topic's partitions, offsets and configuration.

    `offsets` is the distance from start to end. No more records can be there, but fewer: compaction leaves gaps, and
    markers of transactions have offsets, too.

    Example: tape topic describe orders
    """
    connection = Connection(bootstrap, properties, timeout)
    connection.topic(topic)
    future = connection.admin.describe_topics(TopicCollection([topic]), request_timeout=timeout)[topic]
    found = connection.result(future, topic=topic)
    partitions = sorted(found.partitions, key=lambda partition: partition.id)
    bounds = connection.bounds((topic, part.id) for part in partitions if part.leader is not None)
    entries = configs.described(connection, "topic", topic)
    policy = entries.get("cleanup.policy")
    cleaning = (
        topic_cleaning.asked(connection, topic, partitions) if policy and "compact" in (policy.value or "") else {}
    )
    document = {
        "topic": found.name,
        "topic_id": str(found.topic_id),
        "internal": found.is_internal,
        "partitions": [
            {**_partition(part, bounds.get((topic, part.id))), "cleaning": cleaning.get(part.id)}
            if cleaning
            else _partition(part, bounds.get((topic, part.id)))
            for part in partitions
        ],
        "configs": {
            name: {"value": entry.value, "source": configs.source_name(entry)}
            for name, entry in entries.items()
            if all_configs or configs.is_set(entry, "topic")
        },
    }
    emit(json, document, lambda: _description(document))


def _partition(part: Any, bounds: tuple[int, int] | None) -> dict[str, Any]:
    start, end = bounds or (None, None)
    span = None if start is None or end is None else end - start
    return {
        "partition": part.id,
        "leader": None if part.leader is None else part.leader.id,
        "replicas": [node.id for node in part.replicas],
        "isr": [node.id for node in part.isr],
        "start": start,
        "end": end,
        "offsets": span,
        "records": span,  # the older name for it
    }


def _description(document: dict[str, Any]) -> list[Any]:
    parts = document["partitions"]
    total = sum(part["offsets"] or 0 for part in parts)
    head = f"{len(parts)} partition{'' if len(parts) == 1 else 's'}, {total:,} offsets, id {document['topic_id']}"
    rows = [
        [
            part["partition"],
            part["leader"] if part["leader"] is not None else Text("none", style="bold red"),
            ",".join(map(str, part["replicas"])),
            ",".join(map(str, part["isr"])),
            part["start"],
            part["end"],
            part["offsets"],
        ]
        for part in parts
    ]
    columns = ["partition>", "leader>", "replicas", "in sync", "start>", "end>", "offsets>"]
    shown: list[Any] = [Text.assemble((document["topic"], "bold"), f": {head}"), table(columns, rows)]
    cleaning = {part["partition"]: part["cleaning"] for part in parts if part.get("cleaning")}
    if cleaning:
        shown.append(topic_cleaning.shown(cleaning))
    settings = [[name, entry["value"], entry["source"]] for name, entry in document["configs"].items()]
    if settings:
        shown.append(table(["config", "value", "source"], settings))
    return shown


@app.command()
def alter(
    topic: Topic,
    partitions: Annotated[int | None, typer.Option("--partitions", "-p", help="The new, larger number.")] = None,
    settings: Settings = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="NAME", help="Back to the default. Repeatable.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Add partitions, or change a topic's configuration.

    Example: tape topic alter orders --partitions 12 --set cleanup.policy=compact
    """
    changes = configs.parse_settings(settings or ())
    if partitions is None and not changes and not unset:
        raise CliError("nothing to change", "give --partitions, --set or --unset", EXIT_USAGE)
    connection = Connection(bootstrap, properties, timeout)
    before = len(connection.topic(topic).partitions)
    if partitions is not None and partitions <= before:
        raise CliError(
            f"{topic} has {before} partitions already",
            f"partitions can be added, never removed: --partitions {before + 1} or more",
            EXIT_USAGE,
        )
    if changes or unset:
        configs.change(connection, "topic", topic, changes, unset or [])
    if partitions is not None:
        future = connection.admin.create_partitions([NewPartitions(topic, partitions)], request_timeout=timeout)[topic]
        connection.result(future, topic=topic)
    document = {"topic": topic, "partitions": partitions or before, "set": changes, "unset": unset or []}
    emit(json, document, lambda: [Text(line) for line in _altered(document, before)])
    if partitions is not None and not json:
        remark("records with a key may now go to another partition than earlier ones with the same key")


def _altered(document: dict[str, Any], before: int) -> list[str]:
    lines = [f"{name} = {value}" for name, value in document["set"].items()]
    lines += [f"{name} back to its default" for name in document["unset"]]
    if document["partitions"] != before:
        lines.append(f"{document['partitions']} partitions (were {before})")
    return [f"{document['topic']}: {line}" for line in lines]


@app.command()
def delete(
    topics: Topics,
    yes: Yes = False,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="A missing topic is no error.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Delete topics with all their records.

    Example: tape topic delete orders --yes
    """
    connection = Connection(bootstrap, properties, timeout)
    known = connection.metadata().topics
    missing = [name for name in topics if name not in known]
    if missing and not if_exists:
        raise missing_topic(missing[0], known)
    present = [name for name in topics if name in known]
    if present:
        confirm(f"delete {', '.join(present)} and all records in {'it' if len(present) == 1 else 'them'}?", yes)
    failures: list[CliError] = []
    deleted: list[str] = []
    futures = connection.admin.delete_topics(present, request_timeout=timeout) if present else {}
    for name, future in futures.items():
        try:
            connection.result(future, topic=name)
            deleted.append(name)
        except CliError as error:
            failures.append(error)
    emit(json, {"deleted": deleted}, lambda: [Text(f"deleted {name}") for name in deleted])
    _raise_first(failures)
    if not present and not json:
        console().print("nothing to delete")
    raise typer.Exit(EXIT_OK)
