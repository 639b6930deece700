"""What a run's Spark session must not do to the program around it."""

from __future__ import annotations

import signal
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from tapelog.spark.pipeline.run.session import _own_interrupts, about_to_end


@pytest.fixture
def interrupts() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def spark_comes_up() -> None:
    """As SparkContext does."""
    signal.signal(signal.SIGINT, lambda number, frame: pytest.fail("Spark's handler"))


def test_whoever_ends_a_run_in_order_keeps_ctrl_c_while_spark_comes_up(interrupts: None) -> None:
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    signal.signal(signal.SIGINT, note)
    install = signal.signal
    with _own_interrupts():
        spark_comes_up()
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    assert asked == [signal.SIGINT] * 2 and signal.signal is install


def test_where_nobody_does_sparks_handler_stays(interrupts: None) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with _own_interrupts():
        spark_comes_up()
    assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler


def receiver(raises: Callable[[], None]) -> socketserver.TCPServer:
    """As pyspark.accumulators has one: what its handler raises is told by socketserver, with a traceback."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            raises()

    made = socketserver.TCPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    return made


def cut_off() -> None:
    raise EOFError


def otherwise() -> None:
    raise ValueError("another mistake")


@pytest.mark.parametrize(
    ("raises", "ending", "told"), [(cut_off, False, True), (cut_off, True, False), (otherwise, True, True)]
)
def test_only_the_end_of_the_connection_is_passed_over_and_only_at_the_end(
    raises: Callable[[], None], ending: bool, told: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    server = receiver(raises)
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(_accumulatorServer=server))
    try:
        if ending:
            about_to_end(session)
        with socket.create_connection(("127.0.0.1", int(server.server_address[1]))) as other:
            assert other.recv(1) == b"", "the handler has ended"
    finally:
        server.shutdown()
        server.server_close()
    assert ("Traceback" in capfd.readouterr().err) == told


def test_a_session_without_a_receiver_ends_as_well() -> None:
    about_to_end(SimpleNamespace(sparkContext=SimpleNamespace()))
