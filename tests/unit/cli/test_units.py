"""Sizes, durations, moments and counts as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tapelog.cli import units

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("512", 512), ("1kB", 1000), ("1KiB", 1024), ("1k", 1000), ("1.5MiB", 1_572_864), ("2TB", 2 * 10**12)],
)
def test_sizes(text: str, expected: int) -> None:
    assert units.parse_size(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("250", 250), ("50k", 50_000), ("1.5M", 1_500_000), ("1_000", 1000)])
def test_counts(text: str, expected: int) -> None:
    assert units.parse_count(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500ms", 500),
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        ("7d", 604_800_000),
        ("1.5h", 5_400_000),
        ("2w", 1_209_600_000),
        ("PT1H30M", 5_400_000),
        ("P1DT12H", 129_600_000),
    ],
)
def test_durations(text: str, expected: int) -> None:
    assert units.parse_duration_ms(text) == expected


@pytest.mark.parametrize("text", ["", "7", "d", "7x", "1h30", "-1h", "1h and a bit", "P", "PT"])
def test_what_is_no_duration_is_told_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="90s"):
        units.parse_duration_ms(text)


@pytest.mark.parametrize("text", ["", "many", "1 elephant", "-5"])
def test_what_is_no_size_is_told_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="10MB"):
        units.parse_size(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("1h", NOW - 3_600_000),
        ("-1h", NOW - 3_600_000),
        ("now-10m", NOW - 600_000),
        ("@1767225600", 1_767_225_600_000),
        ("@1767225600123", 1_767_225_600_123),
        ("2026-05-01T12:30Z", round(datetime(2026, 5, 1, 12, 30, tzinfo=UTC).timestamp() * 1000)),
        ("2026-05-01T14:30+02:00", round(datetime(2026, 5, 1, 12, 30, tzinfo=UTC).timestamp() * 1000)),
    ],
)
def test_moments(text: str, expected: int) -> None:
    assert units.parse_moment_ms(text, NOW) == expected


def test_a_moment_without_a_zone_is_local_time() -> None:
    assert units.parse_moment_ms("2026-05-01T12:30", NOW) == round(datetime(2026, 5, 1, 12, 30).timestamp() * 1000)


def test_what_is_no_moment_is_told_with_examples() -> None:
    with pytest.raises(ValueError, match="ten minutes ago"):
        units.parse_moment_ms("yesterday", NOW)


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("retention.ms", "7d", "604800000"),
        ("retention.ms", "-1", "-1"),
        ("retention.ms", "1000", "1000"),
        ("segment.bytes", "64MiB", "67108864"),
        ("retention.bytes", "-1", "-1"),
        ("log.cleaner.dedupe.buffer.size", "256MiB", "268435456"),
        ("tapelog.scrub.bytes.per.second", "4MiB", "4194304"),
        ("group.max.size", "10k", "10k"),
        ("cleanup.policy", "7d", "7d"),
        ("retention.ms", "nonsense", "nonsense"),
    ],
)
def test_config_values_may_have_units(name: str, value: str, stored: str) -> None:
    assert units.config_value(name, value) == stored


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "0.0 s"),
        (420, "0.4 s"),
        (59_900, "59.9 s"),
        (200_000, "3 min 20 s"),
        (7_200_000, "2 h"),
        (187_200_000, "2 d 4 h"),
    ],
)
def test_durations_for_people(duration_ms: int, text: str) -> None:
    assert units.format_duration(duration_ms) == text


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 * 1024**4, "3.0 TiB")])
def test_sizes_for_people(size: int, text: str) -> None:
    assert units.format_size(size) == text


def test_moments_for_people_are_utc_and_absent_ones_a_dash() -> None:
    assert units.format_moment(0) == "1970-01-01T00:00:00.000Z"
    assert units.format_moment(-1) == "-"


def test_pairs_split_at_the_first_equals_sign() -> None:
    assert units.parse_pair("a=b=c") == ("a", "b=c")
    with pytest.raises(ValueError, match="name=value"):
        units.parse_pair("a")
