"""A byte of the log has changed by itself: nobody who reads with our tools is given it as a record."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException

from tapelog.testing import Broker
from tapelog.toolkit import at_least_once
from tapelog.toolkit.lag import group_lag
from tests.support.tape import Tape

PLACE = ("orders", 0)


@pytest.fixture
def damaged(tape: Tape, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """Three batches, of which the second has changed. The broker sends small reads as they are."""
    with Broker() as broker:
        monkeypatch.setenv("TAPELOG_BOOTSTRAP", broker.bootstrap)
        tape("topic", "create", "orders", "--partitions", "1")
        for value in ("whole", "precious", "after"):
            tape("produce", "orders", value)
        tape("group", "reset", "late", "--topic", "orders", "--to-offset", "1", "--execute")
        (segment,) = broker.data_dir.glob("node-1/logs/orders-0/*.log")
        text = segment.read_bytes()
        with segment.open("r+b") as file:
            file.seek(text.index(b"precious"))
            file.write(b"P")
        yield broker


@pytest.mark.parametrize("words", [(), ("--group", "billing"), ("--json",)], ids=["all", "group", "json"])
def test_consume_fails_rather_than_show_it(damaged: Broker, tape: Tape, words: tuple[str, ...]) -> None:
    shown = tape("consume", "orders", *words, code=1)
    assert "whole" in shown and "recious" not in shown
    assert "orders[0] is damaged" in tape.err and "tape scrub" in tape.err
    assert "Precious" in tape("consume", "orders", "-X", "check.crcs=false"), "as it is, where that is wanted"
    assert "after" in tape("consume", "orders", "--offset", "2")


def test_a_group_that_consume_reads_for_stands_before_it(damaged: Broker, tape: Tape) -> None:
    tape("consume", "orders", "--group", "billing", code=1)
    (part,) = tape.json("group", "describe", "billing")["partitions"]
    assert part["committed"] == 1


def test_a_loop_of_the_toolkit_ends_before_it(damaged: Broker, tape: Tape) -> None:
    seen: list[bytes | None] = []
    with pytest.raises(KafkaException) as raised:
        at_least_once(
            damaged.bootstrap, group="shop", topics="orders", handle=lambda record: seen.append(record.value)
        ).run(to_end=True)
    assert raised.value.args[0].code() == KafkaError._BAD_MSG
    assert seen == [b"whole"]


def test_lag_does_not_believe_its_timestamp(damaged: Broker) -> None:
    (part,) = group_lag(damaged.bootstrap, "late").partitions
    assert part.records == 2 and (part.oldest is None or part.oldest.offset == 2)
