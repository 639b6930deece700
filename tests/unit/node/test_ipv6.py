"""A node on an IPv6 address: what it prints, writes down and advertises can be used as it stands."""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.unit.node.test_process import Process


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as tried:
            tried.bind(("::1", 0))
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not has_ipv6(), reason="needs ::1")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Process]:
    process = Process(tmp_path, "[::1]:0")
    yield process
    process.end()


def test_its_ready_line_has_brackets_and_clients_are_told_the_bare_host(node: Process, tmp_path: Path) -> None:
    word, address = node.ready.split()
    host, _, port = address.rpartition(":")
    assert (word, host) == ("ready", "[::1]")
    (broker,) = AdminClient({"bootstrap.servers": address}).list_topics(timeout=20).brokers.values()
    assert (broker.host, broker.port) == ("::1", int(port))
    written = tomllib.loads((tmp_path / "node-1" / "node.toml").read_text())
    assert written["listeners"] == [f"PLAINTEXT://[::1]:{port}"]
