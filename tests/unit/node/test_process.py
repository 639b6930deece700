"""A real `python -m tapelog up`: how it starts, stops, and refuses to start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.raw import ConnectionClosed, Raw, create_topic, fetch, produce, simple_batch
from tests.support.waiting import until


class Process:
    """A broker process on a directory."""

    def __init__(self, directory: Path, listen: str = "127.0.0.1:0") -> None:
        command = [sys.executable, "-m", "tapelog", "up", "--listen", listen, "--data", str(directory)]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert self.popen.stdout is not None
        self.ready = self.popen.stdout.readline()

    @property
    def bootstrap(self) -> str:
        """Where it listens, from its first line."""
        return next(word.strip(".,") for word in self.ready.split() if word.startswith("127.0.0.1:"))

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        self.popen.send_signal(number)
        return self.popen.wait(20)

    def end(self) -> str:
        """Make sure it is gone; what it said on stderr."""
        if self.popen.poll() is None:
            self.popen.kill()
        return self.popen.communicate()[1]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[Process]]:
    running: list[Process] = []
    yield running
    for process in running:
        process.end()


def marker(directory: Path) -> list[Path]:
    """Clean-shutdown markers anywhere below the directory."""
    return list(directory.rglob(".kafka_cleanshutdown"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order_even_under_load(tmp_path: Path, started: list[Process], number: int) -> None:
    process = Process(tmp_path)
    started.append(process)
    with Raw(process.bootstrap) as raw:
        assert create_topic(raw, "t") == 0
        assert produce(raw, "t", simple_batch([b"a"])) == (0, 0)
        idle = socket.create_connection(raw.socket.getpeername())
        assert marker(tmp_path) == []
        assert process.stop(number) == 0
        idle.close()
    assert len(marker(tmp_path)) == 1
    assert "Traceback" not in process.end()
    again = Process(tmp_path)
    started.append(again)
    assert marker(tmp_path) == [], "withdrawn while it runs"
    with Raw(again.bootstrap) as raw:
        code, high_watermark, data = fetch(raw, "t", 0)
        assert (code, high_watermark) == (0, 1)
        assert b"a" in data


def test_a_kill_leaves_no_marker_and_what_was_acknowledged(tmp_path: Path, started: list[Process]) -> None:
    process = Process(tmp_path)
    started.append(process)
    with Raw(process.bootstrap) as raw:
        create_topic(raw, "t")
        for number in range(20):
            assert produce(raw, "t", simple_batch([b"%d" % number])) == (0, number)
        process.stop(signal.SIGKILL)
    assert marker(tmp_path) == []
    again = Process(tmp_path)
    started.append(again)
    with Raw(again.bootstrap) as raw:
        assert fetch(raw, "t", 0)[:2] == (0, 20)


def test_a_second_one_on_the_same_directory_is_refused(tmp_path: Path, started: list[Process]) -> None:
    first = Process(tmp_path)
    started.append(first)
    second = Process(tmp_path)
    started.append(second)
    assert second.popen.wait(20) != 0
    assert str(tmp_path) in second.end()
    with Raw(first.bootstrap) as raw:
        assert create_topic(raw, "t") == 0


def test_a_taken_port_is_named_with_its_holder(tmp_path: Path, started: list[Process]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        process = Process(tmp_path, address)
        started.append(process)
        assert process.popen.wait(20) != 0
        said = process.end()
        assert address in said or str(server.getsockname()[1]) in said
        assert str(os.getpid()) in said


def test_a_directory_lost_underneath_ends_it_with_a_failure(tmp_path: Path, started: list[Process]) -> None:
    process = Process(tmp_path)
    started.append(process)
    with Raw(process.bootstrap) as raw:
        create_topic(raw, "t")
        for path in sorted(tmp_path.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        with suppress(ConnectionClosed):
            create_topic(raw, "u")
        until(lambda: process.popen.poll() is not None, "the process ended")
    assert process.popen.returncode == 1
