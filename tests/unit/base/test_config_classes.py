"""Each of Kafka's configuration names is enforced, refused or without effect; what is enforced is read by code."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import tapelog
from tapelog.base import kafka_configs
from tapelog.base.config_classes import AT_START, ENFORCED, NO_EFFECT, REFUSED
from tapelog.base.kafka_configs import PER_BROKER_ONLY, TOPIC_SYNONYMS

TABLES = (
    kafka_configs.TOPIC,
    kafka_configs.BROKER,
    kafka_configs.BROKER_QUOTA,
    kafka_configs.GROUP,
    kafka_configs.CLIENT_METRICS,
)
NAMES = {row[0] for table in TABLES for row in table}

ROOMS = ("base", "coordinators", "log", "metadata", "node", "raft", "replication", "server")
"""What runs in a broker. `base` has the tables, too: those modules do not count."""
TABLE_MODULES = ("kafka_configs.py", "config_classes.py", "config_refusals.py")

BUILT: dict[str, tuple[str, str]] = {
    # names that code puts together: module, and the part of the name that stands there
    **{
        name: ("log/compaction/schedule.py", name.removeprefix("log.cleaner."))
        for name in (
            "log.cleaner.backoff.ms",
            "log.cleaner.dedupe.buffer.size",
            "log.cleaner.io.buffer.load.factor",
            "log.cleaner.io.buffer.size",
            "log.cleaner.io.max.bytes.per.second",
            "log.cleaner.threads",
        )
    },
    **{f"compression.{codec}.level": ("log/config.py", "compression.*.level") for codec in ("gzip", "lz4", "zstd")},
    **{
        f"share.coordinator.state.topic.{rest}": ("metadata/topics.py", rest)
        for rest in ("min.isr", "num.partitions", "replication.factor", "segment.bytes")
    },
    "consumer.assignment.interval.ms": ("coordinators/consumer/config.py", "assignment.interval.ms"),
}


def texts_of(path: Path) -> set[str]:
    """The string constants of a module that are no docstrings; parts of an f-string joined by *."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)
        elif isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "*" for part in node.values]
            found.add("".join(str(part) for part in parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


@pytest.fixture(scope="module")
def texts() -> dict[str, set[str]]:
    root = Path(tapelog.__file__).parent
    return {
        str(path.relative_to(root)): texts_of(path)
        for room in ROOMS
        for path in sorted((root / room).rglob("*.py"))
        if path.name not in TABLE_MODULES
    }


def test_every_name_is_in_exactly_one_class() -> None:
    counted = Counter((*ENFORCED, *REFUSED, *NO_EFFECT))
    assert [name for name, count in counted.items() if count != 1] == []
    assert set(counted) == NAMES


def test_every_enforced_name_is_read_by_code(texts: dict[str, set[str]]) -> None:
    everything = set().union(*texts.values())
    topics = {name for name in TOPIC_SYNONYMS if name in everything or name in BUILT}
    behind = {broker for name in topics for broker, _ in TOPIC_SYNONYMS[name]}  # read as defaults of their topics
    unread = [
        name
        for name in sorted(ENFORCED)
        if name not in everything
        and name not in behind
        and not (name in BUILT and BUILT[name][1] in texts[BUILT[name][0]])
    ]
    assert unread == []


def test_what_is_read_at_the_start_is_enforced_and_dynamic_in_kafka() -> None:
    assert ENFORCED >= AT_START
    assert all(name in PER_BROKER_ONLY for name in AT_START)
