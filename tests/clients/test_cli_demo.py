"""`tape demo`, as `make run` starts it: plain lines without a terminal, a live view with keys on one."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest

from tests.support import ports

WAIT_S_MAX = 120
COMMAND = [sys.executable, "-m", "tapelog", "demo"]


@pytest.fixture
def free_port() -> int:
    return ports.free_port()


class Terminal:
    """A command on a terminal of its own: what it shows, and keys for it."""

    def __init__(self, *words: str) -> None:
        self.shown = ""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=environment)
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)

    def press(self, keys: str) -> None:
        self.shown = ""
        os.write(self.master, keys.encode())

    def read(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            try:
                text = os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # the other side has closed
                return
            self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Until the screen has shown this since the last key."""
        deadline = time.monotonic() + WAIT_S_MAX
        while time.monotonic() < deadline:
            found = re.search(pattern, self.shown)
            if found is not None:
                return found
            self.read(0.2)
        raise AssertionError(f"{pattern!r} did not appear; seen: {self.shown[-2000:]}")


@pytest.fixture
def terminal(free_port: int) -> Iterator[Terminal]:
    with Terminal(*COMMAND, "--port", str(free_port)) as made:
        yield made


def lines_until(process: subprocess.Popen[str], pattern: str) -> list[str]:
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        seen.append(line.rstrip("\n"))
        if re.search(pattern, line):
            return seen
    raise AssertionError(f"{pattern!r} did not appear in {seen}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_without_a_terminal_it_prints_lines_until_told_to_stop(free_port: int, number: signal.Signals) -> None:
    command = [*COMMAND, "--port", str(free_port)]

    def heard() -> None:
        signal.signal(number, signal.SIG_DFL)  # under nohup, or in the background of a shell, it would be ignored

    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=heard) as demo:
        seen = lines_until(demo, r"orders .* · analytics lag .* · billing lag .* s\)")
        assert f"ready 127.0.0.1:{free_port}" in seen
        assert any(line.startswith(f"kcat -b 127.0.0.1:{free_port}") for line in seen)
        demo.send_signal(number)
        _, errors = demo.communicate(timeout=30)
        assert (demo.returncode, errors) == (0, "")


def test_a_taken_port_moves_it_to_the_next_and_it_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [*COMMAND, "--port", str(port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
            seen = lines_until(demo, "^ready ")
            demo.terminate()
            assert demo.wait(30) == 0
    assert re.match(rf"port {port} is taken.* listens on \d+", seen[0])
    assert int(seen[-1].rpartition(":")[2]) > port


def test_programs_get_json_lines(free_port: int) -> None:
    command = [*COMMAND, "--port", str(free_port), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        seen = [json.loads(line) for line in lines_until(demo, '"groups"')]
        demo.terminate()
        assert demo.wait(30) == 0
    assert seen[0] == {"ready": f"127.0.0.1:{free_port}"}
    assert [topic["topic"] for topic in seen[-1]["topics"]] == ["orders"]


def test_a_stopped_consumer_falls_behind_and_catches_up(terminal: Terminal) -> None:
    terminal.wait_for(r"ready 127\.0\.0\.1:\d+")
    terminal.wait_for(r"kcat -b 127\.0\.0\.1")
    terminal.wait_for(r"billing +stable")
    terminal.press("s")
    terminal.wait_for(r"billing +stopped +\S+ +[1-9][0-9]{2,} +[2-9]\.\d s")
    terminal.press("s")
    terminal.wait_for(r"billing +stable +\S+ +[0-9]{1,2} +[01]\.\d s")
    terminal.press("q")
    assert terminal.process.wait(30) == 0


def test_the_view_is_there_at_once_and_what_brings_spark_runs_behind_it(free_port: int, tmp_path: Path) -> None:
    command = [*COMMAND, "--port", str(free_port), "--pipeline", "--setup"]
    with Terminal(*command, f"echo $$ >{tmp_path}/pid; exec sleep 600") as terminal:
        terminal.wait_for(r"billing +stable")
        terminal.wait_for(r"Spark is being installed, \d+")
        pid = int((tmp_path / "pid").read_text())
        terminal.press("q")
        terminal.wait_for(r"next: \S*tape.* up --data \./tapelog-data +# a broker of your own\s+\S+")
        assert terminal.process.wait(30) == 0
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with Terminal(*command, "echo there is no network; exit 1") as terminal:
        terminal.wait_for(r"no pipeline: Spark could not be installed: there is no network")
        terminal.wait_for(r"billing +stable")
        terminal.press("s")
        terminal.wait_for(r"billing +stopped +\S+ +[1-9][0-9]{2,}")
        terminal.press("q")
        assert terminal.process.wait(30) == 0


def test_the_end_of_its_broker_is_told(free_port: int) -> None:
    command = [*COMMAND, "--port", str(free_port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        seen = lines_until(demo, "^ready ")
        directory = re.search(r"files in (\S+)", "\n".join(seen))
        assert directory is not None
        with open(os.path.join(directory[1], "node-1", "pid"), encoding="ascii") as opened:
            os.kill(int(opened.read()), signal.SIGKILL)
        _, errors = demo.communicate(timeout=30)
        assert demo.returncode == 1
        assert "the broker has ended" in errors
