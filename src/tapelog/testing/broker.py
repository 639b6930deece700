"""A broker as a subprocess: the real thing, on a free port, in a temporary directory, gone with its parent.

The child's standard input is a pipe whose other end only this process holds: when this process ends, however it ends,
the pipe closes and the broker stops and removes its temporary directory. That works on every POSIX system, and with
pytest-xdist each worker has brokers of its own.
"""

from __future__ import annotations

import itertools
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

START_S_MAX = 30.0
STOP_S_MAX = 15.0
LOG_TAIL_BYTES = 4000

_numbers = itertools.count(1)


class BrokerError(RuntimeError):
    """The broker did not start, or not stop; the message ends with the last lines of its log."""


class Broker:
    """One broker process. Use it as a context manager, or call start() and stop().

    settings: Kafka broker configs, e.g. {"num.partitions": 3}.
    data: a directory to use and keep; without one, a temporary directory that is removed at the end.
    listen: where to listen; port 0 takes a free one, which restart() then keeps.
    """

    def __init__(
        self,
        *,
        settings: Mapping[str, str | int | float | bool] | None = None,
        data: str | os.PathLike[str] | None = None,
        listen: str = "127.0.0.1:0",
        env: Mapping[str, str] | None = None,
        start_timeout_s: float = START_S_MAX,
    ) -> None:
        self.settings = {name: _text(value) for name, value in (settings or {}).items()}
        self.listen = listen
        self.env = dict(env or {})
        self.start_timeout_s = start_timeout_s
        self.start_seconds = 0.0
        self._given_data = None if data is None else Path(data)
        self._data: Path | None = self._given_data
        self._bootstrap: str | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """`host:port` for clients."""
        if self._bootstrap is None:
            raise BrokerError("the broker has not been started: use `with Broker() as broker:` or broker.start()")
        return self._bootstrap

    @property
    def data_dir(self) -> Path:
        """Where it keeps its files."""
        if self._data is None:
            raise BrokerError("the broker has no directory before it is started")
        return self._data

    @property
    def pid(self) -> int:
        """The process id of the running broker."""
        if self._process is None:
            raise BrokerError("the broker is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Broker:
        """Start and wait until it serves."""
        if self.running:
            return self
        self._process = None
        if self._data is None:
            self._data = Path(tempfile.mkdtemp(prefix="tapelog-"))
        self._data.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment(),
                process_group=0,  # Ctrl-C is for the test run, which then stops the broker
            )
        try:
            self._bootstrap = self._wait_until_ready(self._process, begun + self.start_timeout_s)
        except BaseException:
            self._end(signal.SIGKILL)
            if self._bootstrap is None:  # it never ran: nothing to keep
                self._remove_temporary()
            raise
        self.start_seconds = time.monotonic() - begun
        return self

    def _command(self) -> list[str]:
        listen = self.listen if self._bootstrap is None else self._bootstrap
        words = [sys.executable, "-m", "tapelog", "up", "--bare", "--listen", listen, "--data", str(self.data_dir)]
        for name, value in self.settings.items():
            words += ["--set", f"{name}={value}"]
        return words

    def _environment(self) -> dict[str, str]:
        import tapelog

        source = str(Path(tapelog.__file__).parent.parent)
        paths = [source, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        temporary = self._given_data is None
        # without stored bytecode every start compiles the whole broker, which takes longer than the start itself
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {
            **inherited,
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
            "TAPELOG_PARENT": "remove" if temporary else "watch",
            **self.env,
        }

    def _wait_until_ready(self, process: subprocess.Popen[bytes], deadline: float) -> str:
        assert process.stdout is not None
        seen = b""
        while not seen.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0:
                raise BrokerError(f"the broker was not ready within {self.start_timeout_s:g} s{self._log_tail()}")
            if not select.select([process.stdout], [], [], left)[0]:
                continue
            chunk = os.read(process.stdout.fileno(), 4096)
            if not chunk:
                code = process.wait()
                raise BrokerError(f"the broker ended with exit code {code} before it was ready{self._log_tail()}")
            seen += chunk
        for line in seen.decode().splitlines():
            if line.startswith("ready "):
                return line.removeprefix("ready ").strip()
        raise BrokerError(f"the broker said {seen!r} instead of ready{self._log_tail()}")

    def stop(self, timeout_s: float = STOP_S_MAX) -> None:
        """Stop cleanly (SIGTERM) and wait. A broker that does not end in time is killed, and that is an error."""
        if self._end(signal.SIGTERM, timeout_s) is None:
            self._end(signal.SIGKILL)
            raise BrokerError(f"the broker did not stop within {timeout_s:g} s{self._log_tail()}")

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would. Its files stay for restart()."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop if it runs, and start again on the same port and files."""
        if self.running:
            self.stop()
        self.start()

    def _end(self, number: signal.Signals, timeout_s: float = STOP_S_MAX) -> int | None:
        process = self._process
        if process is None:
            return 0
        if process.poll() is None:
            process.send_signal(number)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        pipe: IO[bytes] | None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None
        return code

    def close(self) -> None:
        """Stop it and remove the temporary directory. Harmless when repeated."""
        try:
            self.stop()
        finally:
            self._remove_temporary()

    def _remove_temporary(self) -> None:
        if self._given_data is None and self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
            self._data = None

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def log_path(self) -> Path:
        """The broker's own log: everything it wrote to standard error."""
        return self.data_dir / "broker.log"

    def log(self) -> str:
        """What the broker has logged so far."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def _log_tail(self) -> str:
        tail = self.log()[-LOG_TAIL_BYTES:].strip() if self._data is not None else ""
        return f"\n--- {self.log_path} ---\n{tail}" if tail else ""

    @staticmethod
    def unique(prefix: str = "topic") -> str:
        """A name that no other test uses, here or in another worker: for topics and groups on a shared broker."""
        return f"{prefix}-{os.getpid()}-{next(_numbers)}-{os.urandom(3).hex()}"


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
