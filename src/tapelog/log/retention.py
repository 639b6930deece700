"""Which segments may go: a pure plan, carried out by `trim.delete_segments`."""

from __future__ import annotations

from tapelog.log.config import LogConfig
from tapelog.log.segment import Segment


def plan(
    segments: list[Segment],
    config: LogConfig,
    start_offset: int,
    end_offset: int,
    now_ms: int,
    high_watermark: int,
    tiered_end: int = 0,
) -> list[Segment]:
    """The oldest segments that nobody may read any more or that retention.ms or retention.bytes gives up.

    Never one with records at or above the high watermark, never an empty one that is the only one. With a tier only
    those go that it has, all of what they hold being below tiered_end, when local.retention.* gives them up: what the
    whole log gives up is another plan (tier.retention), which moves its start, except where nothing is copied any more.
    Under a hold nothing is given up.
    """
    count = deletable(segments, end_offset, high_watermark)
    gone = before_start(segments, count, start_offset)
    if config.remote:
        whole = not config.remote_copy and not config.hold and start_offset >= segments[0].base_offset
        if whole:  # nothing goes up any more, and nothing that is older is there: retention is about what is here
            gone = max(gone, by_time(segments, count, config.retention_ms, now_ms))
            gone = max(gone, by_size(segments, count, config.retention_bytes))
        count = deletable(segments, end_offset, min(high_watermark, tiered_end))
        gone = max(gone, by_time(segments, count, config.local_retention_ms, now_ms))
        gone = max(gone, by_size(segments, count, config.local_retention_bytes))
    elif config.delete and not config.hold:
        gone = max(gone, by_time(segments, count, config.retention_ms, now_ms))
        gone = max(gone, by_size(segments, count, config.retention_bytes))
    return segments[:gone]


def deletable(segments: list[Segment], end_offset: int, high_watermark: int) -> int:
    """How many segments, from the oldest, lie wholly below the high watermark."""
    count = 0
    for number, segment in enumerate(segments):
        last = number + 1 == len(segments)
        end = end_offset if last else segments[number + 1].base_offset
        if end > high_watermark or (last and segment.size == 0):
            break
        count += 1
    return count


def before_start(segments: list[Segment], count: int, start_offset: int) -> int:
    """How many of them end at or below the log's start offset (never the last: its end is the log's end)."""
    gone = 0
    while gone < count and gone + 1 < len(segments) and segments[gone + 1].base_offset <= start_offset:
        gone += 1
    return gone


def by_time(segments: list[Segment], count: int, retention_ms: int, now_ms: int) -> int:
    """How many have no record younger than retention_ms."""
    gone = 0
    if retention_ms >= 0:
        while gone < count and 0 <= segments[gone].kept_since_ms() < now_ms - retention_ms:
            gone += 1
    return gone


def by_size(segments: list[Segment], count: int, retention_bytes: int) -> int:
    """How many can go with at least retention_bytes staying."""
    gone = 0
    if retention_bytes >= 0:
        excess = sum(segment.size for segment in segments) - retention_bytes
        while gone < count and excess >= segments[gone].size:
            excess -= segments[gone].size
            gone += 1
    return gone
