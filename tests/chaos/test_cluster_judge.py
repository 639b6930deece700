"""The judge of the cluster's story passes what is right and names what is wrong; wires, clocks, disks do as told."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.cluster.clocks import NodeClock, built
from tests.chaos.cluster.disks import disk
from tests.chaos.cluster.verdict import wrong_transactions, wrong_views, wrong_writes
from tests.chaos.cluster.wires import CLIENTS, Namespaces, wires
from tests.chaos.cluster.work import BALANCE, LEDGER, Book, Ended, Seen
from tests.support.waiting import until

LOG: list[Seen] = [(0, 0, b"w 0"), (0, 2, b"w 2"), (1, 0, b"w 1"), (1, 1, b"w 3")]
ACKNOWLEDGED = {0: (0, 0), 1: (1, 0), 2: (0, 2)}


def writes(log: list[Seen], acknowledged: dict[int, tuple[int, int]] = ACKNOWLEDGED) -> str:
    return "; ".join(wrong_writes({"w": (4, acknowledged)}, log))


def test_records_that_are_there_once_and_in_order_pass() -> None:
    assert writes(LOG) == ""  # the last one was not acknowledged, and is there all the same
    assert writes(LOG[:3]) == ""


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (LOG[1:], "lost"),
        ([*LOG, (1, 2, b"w 3")], "stands at"),
        ([LOG[0], (0, 1, b"w 2"), *LOG[2:]], "not where they were acknowledged"),
        ([*LOG[:2], (1, 0, b"w 3"), (1, 1, b"w 1")], "stands behind"),
        ([*LOG, (1, 2, b"w 4")], "nobody sent"),
        ([*LOG, (1, 2, b"x 0")], "nobody sent"),
        ([LOG[1], LOG[0], *LOG[2:]], "comes after"),
    ],
    ids=["lost", "twice", "moved", "disorder", "from the future", "from nowhere", "offsets"],
)
def test_records_that_are_not_as_promised_are_named(log: list[Seen], reason: str) -> None:
    assert reason in writes(log)


def story(outcome: str, ledger: list[Seen], balance: list[Seen]) -> str:
    book = Book("b", [Ended(0, [(LEDGER, 0, b"b 0 0 x"), (BALANCE, 1, b"b 0 1 x")], outcome)])
    return "; ".join(wrong_transactions([book], ledger, balance))


ONE: list[Seen] = [(0, 0, b"b 0 0 x")]
OTHER: list[Seen] = [(1, 5, b"b 0 1 x")]


def test_transactions_that_are_whole_or_absent_pass() -> None:
    assert story("committed", ONE, OTHER) == ""
    assert story("aborted", [], []) == ""
    assert story("unknown", ONE, OTHER) == story("unknown", [], []) == ""


@pytest.mark.parametrize(
    ("outcome", "ledger", "balance", "reason"),
    [
        ("committed", ONE, [], "was committed"),
        ("committed", [], [], "was committed"),
        ("aborted", ONE, OTHER, "was aborted"),
        ("aborted", [], OTHER, "was aborted"),
        ("unknown", ONE, [], "torn"),
        ("committed", [*ONE, (0, 1, b"b 0 0 x")], OTHER, "2 times"),
        ("committed", [*ONE, (0, 1, b"c 0 0 x")], OTHER, "nobody wrote"),
    ],
)
def test_transactions_that_are_not_as_promised_are_named(
    outcome: str, ledger: list[Seen], balance: list[Seen], reason: str
) -> None:
    assert reason in story(outcome, ledger, balance)


def test_a_view_that_differs_from_the_log_is_named() -> None:
    assert wrong_views("reader", LOG, LOG) == []
    assert "1 records differ, the first in the log only" in wrong_views("reader", LOG[:3], LOG)[0]
    assert "2 records differ" in wrong_views("reader", [(0, 0, b"w 9"), *LOG[1:]], LOG)[0]
    assert "comes after" in wrong_views("reader", [LOG[0], *LOG], LOG)[0]


SERVER = (
    "import socket, sys\ns = socket.create_server((sys.argv[1], 7000))\nprint('on', flush=True)\nwhile True: s.accept()"
)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_cut_wire_carries_nothing_in_that_direction_and_says_nothing() -> None:
    net = wires(2)
    if not isinstance(net, Namespaces):
        pytest.skip("there are no network namespaces here")
    server = subprocess.Popen(net.wrap(1, [sys.executable, "-c", SERVER, net.host(1)]), stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None and server.stdout.readline() == b"on\n"
        sock = socket.create_connection((net.host(1), 7000), 2)
        net.cut(CLIENTS, 1)
        sock.sendall(b"into the void")  # an open connection does not notice
        with pytest.raises(TimeoutError):
            socket.create_connection((net.host(1), 7000), 0.5)
        net.heal()
        socket.create_connection((net.host(1), 7000), 5).close()
        net.cut(1, CLIENTS)
        with pytest.raises(TimeoutError):
            socket.create_connection((net.host(1), 7000), 0.5)
        sock.close()
    finally:
        server.kill()
        server.wait()
        net.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_networks_follow_one_another_at_once() -> None:
    for _ in range(4):
        net = wires(2)
        if not isinstance(net, Namespaces):
            pytest.skip("there are no network namespaces here")
        try:
            words = net.wrap(1, [sys.executable, "-c", SERVER, net.host(1)])
            with subprocess.Popen(words, stdout=subprocess.PIPE) as server:
                assert server.stdout is not None and server.stdout.readline() == b"on\n"
                server.kill()
        finally:
            net.close()
    assert f"tl{os.getpid():x}" not in subprocess.run(["ip", "link"], capture_output=True, text=True).stdout


@pytest.mark.needs("cc")
def test_a_clock_is_set_wrong_and_right_again_while_a_process_runs(tmp_path: Path) -> None:
    clock = NodeClock(tmp_path, 1, built(tmp_path))
    program = "import sys, time\nfor line in sys.stdin: print(time.time(), time.monotonic(), flush=True)"
    env = {**os.environ, **clock.environment()}
    words = [sys.executable, "-c", program]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)
    assert process.stdin is not None and process.stdout is not None

    def ahead() -> float:
        assert process.stdin is not None and process.stdout is not None
        before = time.monotonic()
        process.stdin.write("\n")
        process.stdin.flush()
        wall, monotonic = map(float, process.stdout.readline().split())
        assert before <= monotonic <= time.monotonic(), "the time that passes is not touched"
        return wall - time.time()

    for skew_s in (0.0, 3600.25, -1800.5, 0.0):
        clock.set(skew_s)
        until(lambda: abs(ahead() - skew_s) < 1, f"{skew_s} s ahead")  # noqa: B023
    process.stdin.close()
    process.wait(30)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_full_disk_takes_nothing_until_it_is_freed(tmp_path: Path) -> None:
    place = disk(tmp_path, 1)
    if not place.can_fill:
        pytest.skip("nothing can be mounted here")
    try:
        place.fill()
        with pytest.raises(OSError, match="No space"), open(place.path / "file", "wb", buffering=0) as file:
            file.write(bytes(1 << 20))
            os.fsync(file.fileno())
        place.free()
        (place.path / "file").write_bytes(bytes(1 << 20))
    finally:
        place.close()
