"""Dynamic shell completion: names of topics and groups, asked from the cluster, quickly or not at all."""

from __future__ import annotations

import os

import typer

COMPLETION_TIMEOUT_S = 1.0


def _names(kind: str, context: typer.Context, incomplete: str) -> list[str]:
    given = context.params.get("bootstrap") if context.params else None
    bootstrap = given or os.environ.get("TAPELOG_BOOTSTRAP", "127.0.0.1:9092")
    try:
        from tapelog.cli.connect import Connection

        connection = Connection(bootstrap, timeout_s=COMPLETION_TIMEOUT_S)
        found = connection.topic_names() if kind == "topic" else connection.group_names()
    except Exception:
        return []  # a shell prompt is no place for an error message
    return [name for name in found if name.startswith(incomplete)]


def complete_topic(ctx: typer.Context, incomplete: str) -> list[str]:
    """Topics whose names begin with what was typed."""
    return _names("topic", ctx, incomplete)


def complete_group(ctx: typer.Context, incomplete: str) -> list[str]:
    """Groups whose ids begin with what was typed."""
    return _names("group", ctx, incomplete)
