"""Every request, response and header, in every version: our bytes are kio's bytes, and each reads the other's.

So are the record types that kio has; the others are compared with Kafka's own encoding in
tests/unit/wire/test_kafka_records.py, and here with themselves.
"""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from kio.serial import entity_reader, entity_writer

from tapelog.wire.primitives import Reader
from tests.properties.wire_values import (
    DEFINITIONS,
    MESSAGES,
    RECORDS,
    kio_has,
    message_trees,
    our_class,
    ours,
    their_class,
    theirs,
)

EXAMPLES = 12
BOTH = sorted(name for name in [*MESSAGES, *RECORDS] if kio_has(name, DEFINITIONS[name].versions.low))
ONLY_OURS = sorted(set(RECORDS) - set(BOTH))

quick = settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


def test_kio_has_every_message_in_every_version() -> None:
    assert [name for name in MESSAGES if name not in BOTH] == []
    missing = [(name, v) for name in BOTH for v in DEFINITIONS[name].versions if not kio_has(name, v)]
    assert missing == []
    assert len(BOTH) == 190
    assert sum(len(list(DEFINITIONS[name].versions)) for name in BOTH) == 625


def test_what_kio_lacks_is_counted() -> None:
    kinds = dict.fromkeys(("coordinator-key", "coordinator-value", "metadata", "data"), 0)
    for name in ONLY_OURS:
        kinds[DEFINITIONS[name].kind] += 1
    assert kinds == {"coordinator-key": 25, "coordinator-value": 25, "metadata": 30, "data": 2}


@pytest.mark.parametrize("name", BOTH)
def test_messages_have_the_bytes_that_kio_gives_them(name: str) -> None:
    @quick
    @given(message_trees(name))
    def check(tree: tuple[Any, ...]) -> None:
        for version in DEFINITIONS[name].versions:
            message, other = ours(name, tree, version), theirs(name, tree, version)
            buffer = io.BytesIO()
            entity_writer(their_class(name, version))(buffer, other)
            expected = buffer.getvalue()
            assert message.tobytes(version) == expected
            r = Reader(expected)
            assert our_class(name).decode(r, version) == message
            r.expect_end()
            decoded, size = entity_reader(their_class(name, version))(expected, 0)
            assert decoded == other
            assert size == len(expected)

    check()


@pytest.mark.parametrize("name", ONLY_OURS)
def test_records_that_kio_lacks_survive_a_round_trip(name: str) -> None:
    @quick
    @given(message_trees(name))
    def check(tree: tuple[Any, ...]) -> None:
        for version in DEFINITIONS[name].versions:
            message = ours(name, tree, version)
            r = Reader(message.tobytes(version))
            assert our_class(name).decode(r, version) == message
            r.expect_end()

    check()
