"""What a record carries once it has failed: where it came from, why, and how often it was tried. Headers only.

A record that goes through retry topics and ends as a dead letter keeps the coordinates of its first reading, so that it
can be found, told from others, and sent back.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping

from tapelog.toolkit.records import ID_HEADER, Headers, Record, Send, with_headers

ORIGINAL_TOPIC = "original-topic"
ORIGINAL_PARTITION = "original-partition"
ORIGINAL_OFFSET = "original-offset"
ORIGINAL_TIMESTAMP = "original-timestamp"
ERROR_CLASS = "error-class"
ERROR_MESSAGE = "error-message"
ERROR_STACK = "error-stack"
ATTEMPTS = "attempts"
RETRY_LEVEL = "retry-level"
RETRY_NOT_BEFORE = "retry-not-before"
REDRIVEN = "redriven"

TROUBLE = frozenset({ERROR_CLASS, ERROR_MESSAGE, ERROR_STACK, ATTEMPTS, RETRY_LEVEL, RETRY_NOT_BEFORE})
"""Headers that tell of a failure; a record that is sent back for a fresh start loses them."""

MESSAGE_CHARS_MAX = 1000
STACK_CHARS_MAX = 10_000


def origin(record: Record) -> tuple[str, int, int]:
    """Topic, partition and offset of its first reading, which may have been in another topic."""
    topic = record.header_text(ORIGINAL_TOPIC)
    partition, offset = number(record, ORIGINAL_PARTITION), number(record, ORIGINAL_OFFSET)
    if topic is None or partition is None or offset is None:
        return record.topic, record.partition, record.offset
    return topic, partition, offset


def identity(record: Record) -> str:
    """What this message is called, however often it arrives: its `message-id`, or else its first coordinates."""
    name = record.header_text(ID_HEADER)
    if name is not None:
        return name
    topic, partition, offset = origin(record)
    return f"{topic}[{partition}]@{offset}"


def number(record: Record, header: str) -> int | None:
    """A header as a number; None when it is absent or is no number."""
    text = record.header_text(header)
    return int(text) if text is not None and re.fullmatch(r"-?[0-9]{1,18}", text) else None


def attempts_before(record: Record) -> int:
    """How often it was tried before it came here."""
    return max(0, number(record, ATTEMPTS) or 0)


def letter(
    record: Record, topic: str, error: Exception, attempt: int, more: Mapping[str, str] | None = None, *, stack: bool
) -> Send:
    """The record, addressed to another topic, with the story of its failure."""
    return Send(
        topic,
        record.value,
        record.key,
        with_headers(record.headers, {**_story(record, error, attempt, stack=stack), **(more or {})}),
        timestamp_ms=record.timestamp_ms if record.timestamp_ms > 0 else None,
    )


def _story(record: Record, error: Exception, attempt: int, *, stack: bool) -> dict[str, str]:
    first_topic, first_partition, first_offset = origin(record)
    story = {
        ORIGINAL_TOPIC: first_topic,
        ORIGINAL_PARTITION: str(first_partition),
        ORIGINAL_OFFSET: str(first_offset),
        ORIGINAL_TIMESTAMP: record.header_text(ORIGINAL_TIMESTAMP) or str(record.timestamp_ms),
        ERROR_CLASS: f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins."),
        ERROR_MESSAGE: str(error)[:MESSAGE_CHARS_MAX],
        ATTEMPTS: str(attempts_before(record) + attempt),
    }
    if stack:
        story[ERROR_STACK] = "".join(traceback.format_exception(error))[-STACK_CHARS_MAX:]
    return story


def afresh(record: Record) -> Headers:
    """Its headers without the story of the failure, and with one more redrive counted."""
    kept = tuple(pair for pair in record.headers if pair[0] not in TROUBLE)
    return with_headers(kept, {REDRIVEN: str((number(record, REDRIVEN) or 0) + 1)})
