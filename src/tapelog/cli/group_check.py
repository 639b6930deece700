"""`tape group check`: are the groups healthy? A verdict per partition and group, in words, and as an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tapelog.cli.connect import Connection, missing_group
from tapelog.cli.group_info import left_out_text, list_all, marker_groups
from tapelog.cli.group_lag import UNCOMMITTED, isolation_of
from tapelog.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json, Markers, MaybeGroups, Properties, Timeout
from tapelog.cli.output import (
    EXIT_ERR,
    EXIT_OK,
    EXIT_USAGE,
    EXIT_WARN,
    CliError,
    emit,
    remark,
)
from tapelog.cli.units import parse_duration_ms

if TYPE_CHECKING:
    from tapelog.toolkit.lag import Finding, GroupHealth

STYLES = {"OK": "green", "WARN": "yellow"}
CODES = {"OK": EXIT_OK, "WARN": EXIT_WARN}


def check_groups(
    groups: MaybeGroups = None,
    window: Annotated[
        str, typer.Option("--window", metavar="DURATION", help="Judge by the commits of this long.")
    ] = "10m",
    warn_age: Annotated[
        str | None, typer.Option("--warn-age", metavar="DURATION", help="Warn if an unread record is older.")
    ] = None,
    max_age: Annotated[
        str | None, typer.Option("--max-age", metavar="DURATION", help="An error if an unread record is older.")
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option("--sample", metavar="DURATION", help="Watch for this long instead of reading past commits."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also partitions that are fine.")] = False,
    uncommitted: UNCOMMITTED = False,
    markers: Markers = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    properties: Properties = None,
    timeout: Timeout = 10.0,
    json: Json = False,
) -> None:
    """Judge groups (all, unless named): OK, WARN, ERR, STALL, STOP or REWIND, with what is the matter and what to do.

    Past commits are read from `__consumer_offsets`, so the answer comes at once; where that is not allowed, the groups
    are watched for half a minute. Exit code 0: all is well; 5: a warning; 6: worse. Groups in which Spark's sink keeps
    its markers are left out unless named, and it is said how many they are.

    Example: tape group check billing --window 10m
    """
    from tapelog.toolkit.lag import HealthReader, LagReader, Limits

    limits = Limits(_ms(window) or 0, _ms(warn_age), _ms(max_age))
    sample_ms = _ms(sample)
    connection = Connection(bootstrap, properties, timeout)
    listed = list_all(connection)
    shared = {one.group for one in listed if one.kind == "share"}
    left_out = frozenset[str]() if groups or markers else marker_groups(connection, listed)
    names = list(groups or (one.group for one in listed if one.group not in shared | left_out))
    if shared.intersection(names):
        raise CliError("share groups commit nothing to judge by", "`tape group lag` shows their lag", EXIT_USAGE)
    with (
        connection.explaining(group=", ".join(names)),
        LagReader(
            connection.config, isolation=isolation_of(uncommitted), admin=connection.admin, timeout_s=timeout
        ) as reader,
    ):
        judge = HealthReader(
            connection.config, reader, limits, sample_s=None if sample_ms is None else sample_ms / 1000, notice=remark
        )
        found = list(judge.judge(names).values())
    for one in found:
        if groups and one.membership.state == "dead" and not one.findings:
            raise missing_group(one.group, (known.group for known in listed))
    raise typer.Exit(_tell(found, len(left_out), every, as_json=json))


def _tell(found: list[GroupHealth], left_out: int, every: bool, *, as_json: bool) -> int:
    """Print the judgement; the exit code."""
    from tapelog.toolkit.lag.judgement import overall

    verdict = overall([one.verdict for one in found]).value
    document = {
        "verdict": verdict,
        "groups": [group_document(one) for one in found],
        "markers_left_out": left_out,
    }
    last = [Text(left_out_text(left_out), style="dim")] if left_out else []
    emit(as_json, document, lambda: [*(line for one in found for line in group_lines(one, every)), *last])
    if not found and not as_json:
        remark("no groups to judge")
    return CODES.get(verdict, EXIT_ERR)


def _ms(text: str | None) -> int | None:
    try:
        return None if text is None else parse_duration_ms(text)
    except ValueError as error:
        raise CliError(str(error), "", EXIT_USAGE) from None


def _is_marker(finding: Finding) -> bool:
    from tapelog.toolkit.lag.judgement import Cause

    return finding.cause is Cause.MARKERS


def group_document(health: GroupHealth) -> dict[str, Any]:
    """For programs."""
    markers = any(_is_marker(finding) for finding in health.findings)
    return {
        "group": health.group,
        "markers": markers,
        "verdict": health.verdict.value,
        "type": health.membership.kind,
        "state": health.membership.state,
        "members": health.membership.members,
        "judged_by": health.history,
        "lag_records": None if markers else sum(finding.lag.records or 0 for finding in health.findings),
        "partitions": [_finding_document(health, finding) for finding in health.findings],
    }


def _words(health: GroupHealth, finding: Finding) -> tuple[str, str]:
    from tapelog.toolkit.lag.words import advice, matter

    owner = health.membership.owners.get((finding.lag.topic, finding.lag.partition))
    return matter(finding, health.judged_ms, owner), advice(finding, health.group)


def _finding_document(health: GroupHealth, finding: Finding) -> dict[str, Any]:
    what, next_step = _words(health, finding)
    return {
        "topic": finding.lag.topic,
        "partition": finding.lag.partition,
        "verdict": finding.verdict.value,
        "cause": finding.cause.value,
        "matter": what,
        "advice": next_step or None,
        "lag_records": None if _is_marker(finding) else finding.lag.records,
        "lag_seconds": None if _is_marker(finding) else finding.lag.seconds,
        "since_ms": finding.since_ms,
    }


def group_lines(health: GroupHealth, every: bool) -> list[Text]:
    """For a person: the group's verdict, then each partition that is not fine, with what to do."""
    count = health.membership.members
    head = f"  {health.group}: {health.membership.state}, {count} member{'' if count == 1 else 's'}"
    if any(_is_marker(finding) for finding in health.findings):
        head += ", holds markers of Spark's exactly-once sink, nobody reads through it"
    elif health.verdict.value == "OK":
        head += f", {len(health.findings)} partition{'' if len(health.findings) == 1 else 's'} fine"
    lines = [Text.assemble(_mark(health.verdict.value), head)]
    for finding in health.findings:
        if finding.verdict.value != "OK" or every:
            what, next_step = _words(health, finding)
            place = f"  {finding.lag.topic}:{finding.lag.partition}: "
            lines.append(Text.assemble("  ", _mark(finding.verdict.value), (place, "bold"), what))
            if next_step:
                lines.append(Text(f"           {next_step}", style="dim"))
    return lines


def _mark(verdict: str) -> tuple[str, str]:
    return f"{verdict:<6}", STYLES.get(verdict, "bold red")
