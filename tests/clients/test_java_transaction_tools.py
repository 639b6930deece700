"""Apache Kafka's tool for transactions, and its group tools on groups of the newer protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from tests.clients.programs import prepare
from tests.clients.test_java_tools import GROUPS, TOOLS, AdminTool
from tests.clients.test_java_tools import admin_tool as admin_tool
from tests.support.names import Fresh, MakeTopic
from tests.support.waiting import until

pytestmark = pytest.mark.needs("java")
TRANSACTIONS = TOOLS + "TransactionsCommand"


@pytest.fixture
def open_transaction(bootstrap: str, make_topic: MakeTopic, fresh: Fresh) -> Iterator[tuple[str, str]]:
    """A topic with one record of a transaction that stays open, and the transactional id."""
    prepare("java")
    topic, id = make_topic(1), fresh()
    quiet = {"error_cb": lambda error: None, "log_level": 0}
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": id, **quiet})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(20) == 0
    yield topic, id
    producer.purge()


def rows(table: str) -> list[dict[str, str]]:
    """The tool's table: a line of names, a line for each row, columns separated by tabs."""
    lines = [[cell.strip() for cell in line.split("\t")] for line in table.splitlines() if "\t" in line]
    return [dict(zip(lines[0], line, strict=False)) for line in lines[1:]]


def test_transactions_are_listed_described_and_aborted(
    admin_tool: AdminTool, open_transaction: tuple[str, str]
) -> None:
    topic, id = open_transaction
    (listed,) = [row for row in rows(admin_tool(TRANSACTIONS, "list")) if row["TransactionalId"] == id]
    assert listed["TransactionState"] == "Ongoing"
    (described,) = rows(admin_tool(TRANSACTIONS, "describe", "--transactional-id", id))
    assert described["TransactionState"] == "Ongoing"
    assert described["TopicPartitions"] == f"{topic}-0"
    assert described["ProducerId"] == listed["ProducerId"]
    producers = rows(admin_tool(TRANSACTIONS, "describe-producers", "--topic", topic, "--partition", "0"))
    (state,) = producers
    assert state["ProducerId"] == listed["ProducerId"]
    assert state["CurrentTransactionStartOffset"] == "0"
    none = admin_tool(TRANSACTIONS, "find-hanging", "--topic", topic, "--max-transaction-timeout", "0")
    assert id not in none  # the coordinator knows of it: it does not hang
    admin_tool(TRANSACTIONS, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    (state,) = rows(admin_tool(TRANSACTIONS, "describe-producers", "--topic", topic, "--partition", "0"))
    assert state["CurrentTransactionStartOffset"] == "None"


def test_an_open_transaction_is_terminated_by_force(admin_tool: AdminTool, open_transaction: tuple[str, str]) -> None:
    _, id = open_transaction
    admin_tool(TRANSACTIONS, "forceTerminateTransaction", "--transactionalId", id)

    def state() -> str:
        (described,) = rows(admin_tool(TRANSACTIONS, "describe", "--transactional-id", id))
        return described["TransactionState"]

    until(lambda: state() in ("CompleteAbort", "Empty"), "aborted")


def test_a_group_of_the_newer_protocol_is_described(
    bootstrap: str, admin_tool: AdminTool, make_topic: MakeTopic, fresh: Fresh
) -> None:
    topic, group = make_topic(2), fresh()
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "group.protocol": "consumer"})
    consumer.subscribe([topic])
    until(lambda: (consumer.poll(0.1), len(consumer.assignment()) == 2)[1], "both partitions")
    described = admin_tool(GROUPS, "--describe", "--group", group, "--members", "--verbose")
    assert re.search(rf"{group}\s.*{topic}:0,1\b", described), described
    state = admin_tool(GROUPS, "--describe", "--group", group, "--state", "--verbose")
    assert re.search(rf"{group}\s.*\suniform\s+Stable\s", state)
    listed = admin_tool(TOOLS + "GroupsCommand", "--list", "--group-type", "consumer")
    assert re.search(rf"{group}\s+Consumer\s+consumer", listed)
    consumer.close()
