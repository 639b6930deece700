"""`tape config`: list, describe, set and unset configurations of topics and brokers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from confluent_kafka.admin import ConfigEntry, ConfigResource
from rich.text import Text

from tapelog.cli import configs
from tapelog.cli.connect import Connection
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Properties, Timeout
from tapelog.cli.output import EXIT_NOT_FOUND, EXIT_USAGE, CliError, emit, remark, table
from tapelog.cli.topic_names import own_first

app = typer.Typer(help="Show and change configurations of topics and brokers.", no_args_is_help=True)

Kind = Annotated[str, typer.Argument(metavar="topic|broker", help="What kind of thing.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The topic's name, or the broker's id (`set`: or all).")]


@app.command("list")
def list_configs(
    kind: Annotated[str | None, typer.Argument(metavar="[topic|broker]", help="Only this kind.")] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """List topics and brokers, each with the configs that were set on it.

    Example: tape config list topic
    """
    if kind not in (None, "topic", "broker"):
        raise CliError(f"there are no configs of a {kind!r}", "say topic or broker", EXIT_USAGE)
    connection = Connection(bootstrap, properties, timeout)
    metadata = connection.metadata()
    wanted = [("broker", str(node)) for node in sorted(metadata.brokers)] if kind in (None, "broker") else []
    if kind in (None, "topic"):
        wanted += [("topic", name) for name in sorted(metadata.topics, key=own_first)]
    topics = [ConfigResource(configs.KINDS[what], name) for what, name in wanted if what == "topic"]
    brokers = [ConfigResource(configs.KINDS[what], name) for what, name in wanted if what == "broker"]
    futures = connection.admin.describe_configs(topics, request_timeout=timeout) if topics else {}
    for one in brokers:  # each is asked by itself, and for itself alone
        futures |= connection.admin.describe_configs([one], request_timeout=timeout)
    answers = {(resource.restype, resource.name): connection.result(future) for resource, future in futures.items()}
    rows: list[dict[str, Any]] = []
    for what, name in wanted:
        entries: dict[str, ConfigEntry] = answers[configs.KINDS[what], name]
        chosen = {key: entry.value for key, entry in sorted(entries.items()) if configs.is_set(entry, what)}
        rows.append({"type": what, "name": name, "configs": chosen})
    emit(json, rows, lambda: [table(["type", "name", "config", "value"], _flat(rows))])


def _flat(rows: list[dict[str, Any]]) -> list[list[object]]:
    """One row per config that was set; a thing without any still shows."""
    return [
        [row["type"], row["name"], *pair]
        for row in rows
        for pair in (row["configs"].items() if row["configs"] else [(None, None)])
    ]


@app.command()
def describe(
    kind: Kind,
    name: Name,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD…]", help="Only configs whose name has one.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Also those left at their default.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Show configs with value, source and default: those that were set, or those asked for, or --all.

    Example: tape config describe topic orders retention
    """
    from tapelog.cli.config_notes import is_ours, without_effect

    connection = Connection(bootstrap, properties, timeout)
    entries = configs.described(connection, kind, name)
    ours = is_ours(entries)
    chosen = {
        key: entry
        for key, entry in entries.items()
        if (any(word in key for word in words) if words else everything or configs.is_set(entry, kind))
    }
    if words and not chosen:
        raise CliError(
            f"no config of a {kind} has {' or '.join(words)} in its name",
            f"`tape config describe {kind} {name} --all` lists every name",
            EXIT_NOT_FOUND,
        )
    document = {
        key: {
            "value": entry.value,
            "source": configs.source_name(entry),
            "default": configs.default_value(entry, kind),
            "read_only": entry.is_read_only,
            "sensitive": entry.is_sensitive,
            "no_effect": ours and without_effect(key),
        }
        for key, entry in chosen.items()
    }
    emit(json, document, lambda: [_table(document)])
    if not chosen and not json:
        remark(f"nothing was set on {kind} {name}; --all shows the {len(entries)} configs with their defaults")


def _table(document: dict[str, dict[str, Any]]) -> Any:
    rows = []
    for name, entry in document.items():
        value = "(hidden)" if entry["sensitive"] else entry["value"]
        notes = ["read-only"] * entry["read_only"] + ["has no effect here"] * entry["no_effect"]
        rows.append(
            [
                Text(name, style="bold" if entry["source"] != "default" else ""),
                value,
                entry["source"],
                entry["default"],
                ", ".join(notes),
            ]
        )
    return table(["config", "value", "source", "default", ""], rows)


@app.command("set")
def set_configs(
    kind: Kind,
    name: Name,
    values: Annotated[list[str], typer.Argument(metavar="NAME=VALUE…", help="Durations and sizes may have units.")],
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Set configs; all of them or, if one is refused, none.

    Example: tape config set topic orders retention.ms=7d max.message.bytes=10MiB
    """
    changes = configs.parse_settings(values)
    connection = Connection(bootstrap, properties, timeout)
    configs.change(connection, kind, name, changes, [])
    warnings = _warnings(connection, kind, name, changes)
    document = {"type": kind, "name": name, "set": changes, "warnings": warnings}
    emit(json, document, lambda: [Text(f"{kind} {name}: {key} = {value}") for key, value in changes.items()])
    for text in [] if json else warnings:
        remark(f"warning: {text}")


def _warnings(connection: Connection, kind: str, name: str, changes: Iterable[str]) -> list[str]:
    """What to know of settings that were accepted and change nothing. Asks only where there may be something."""
    from tapelog.cli.config_notes import doubtful, elsewhere, is_ours

    found = doubtful(changes)
    if not found:
        return []
    some_broker = min(connection.metadata().brokers, default=0)
    asked = (kind, name) if name != configs.ALL_BROKERS else (kind, str(some_broker))
    return list((found if is_ours(configs.described(connection, *asked)) else elsewhere(found)).values())


@app.command()
def unset(
    kind: Kind,
    name: Name,
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="The configs to put back to their default.")],
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Put configs back to their default.

    Example: tape config unset topic orders retention.ms
    """
    connection = Connection(bootstrap, properties, timeout)
    configs.change(connection, kind, name, {}, names)
    document = {"type": kind, "name": name, "unset": names}
    emit(json, document, lambda: [Text(f"{kind} {name}: {key} back to its default") for key in names])
