"""franz-go, sarama, KafkaJS and the Java client: the check programs in go/, node/ and java/, each in a process."""

from __future__ import annotations

import pytest

from tests.clients.programs import BUILT, HERE, java, prepare, run
from tests.support.nodes import NODES, one_node

ADMIN = pytest.param("admin", marks=one_node)


@pytest.mark.needs("go")
@pytest.mark.parametrize(
    "check", ["codecs", "large", "groups", "static", "time", ADMIN, "recreate", "transactions", "session"]
)
def test_franz_go(bootstrap: str, check: str) -> None:
    prepare("go")
    run([str(BUILT / "go-checks"), bootstrap, f"franz-{check}"])


@pytest.mark.needs("go")
@pytest.mark.parametrize("check", ["codecs", "idempotent", "groups", ADMIN, "transactions"])
def test_sarama(bootstrap: str, check: str) -> None:
    prepare("go")
    run([str(BUILT / "go-checks"), bootstrap, f"sarama-{check}"])


@pytest.mark.needs("node")
@pytest.mark.parametrize("check", ["codecs", "large", "idempotent", "groups", ADMIN, "transactions"])
def test_kafkajs(bootstrap: str, check: str) -> None:
    prepare("node")
    run(["node", str(HERE / "node" / "checks.js"), bootstrap, check])


JAVA_CHECKS = {
    "records": ["codecs", "large", "timestamps", "idempotent", "positions"],
    "recreation": ["recreate"],
    "rebalances": ["rebalances"],
    "static-members-and-offsets": ["static", "offsets"],
    "transactions": ["txn-endings", "txn-fencing", "txn-timeout", "txn-offsets"],
    "transaction-administration": ["txn-describing", "txn-aborting", "txn-fenced-by-admin"],
    "newer-groups": ["new-ten-members", "new-static", "new-and-classic", "new-rolling", "new-group-configs"],
    "newer-groups-by-pattern": ["new-patterns"],
    "administration": ["topics", "configs", "records", "groups", *(["cluster"] if NODES == 1 else [])],
}


@pytest.mark.needs("java")
@pytest.mark.parametrize("checks", JAVA_CHECKS.values(), ids=JAVA_CHECKS.keys())
def test_the_java_client(bootstrap: str, checks: list[str]) -> None:
    prepare("java")
    run(java("Checks", bootstrap, *checks))
