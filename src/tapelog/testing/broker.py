"""A broker as a subprocess: the real thing, on a free port, in a temporary directory, gone with its parent.

When this process ends, however it ends, the broker stops and removes its temporary directory; with pytest-xdist each
worker has brokers of its own.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tapelog.testing.process import START_S_MAX, STOP_S_MAX, BrokerError, Process, as_text

__all__ = ["Broker", "BrokerError"]

_numbers = itertools.count(1)


class Broker:
    """One broker process. Use it as a context manager, or call start() and stop().

    settings: Kafka broker configs, e.g. {"num.partitions": 3}.
    data: a directory to use and keep; without one, a temporary directory that is removed at the end.
    listen: where to listen; port 0 takes a free one, which restart() then keeps.
    log_dirs: further places for partitions (`tape up --log-dir`); not removed at the end.
    """

    def __init__(
        self,
        *,
        settings: Mapping[str, str | int | float | bool] | None = None,
        data: str | os.PathLike[str] | None = None,
        listen: str = "127.0.0.1:0",
        log_dirs: Sequence[str | os.PathLike[str]] = (),
        env: Mapping[str, str] | None = None,
        start_timeout_s: float = START_S_MAX,
    ) -> None:
        self.log_dirs = [os.fspath(path) for path in log_dirs]
        self.settings = {name: as_text(value) for name, value in (settings or {}).items()}
        self.listen = listen
        self.env = dict(env or {})
        self.start_timeout_s = start_timeout_s
        self.start_seconds = 0.0
        self._given_data = None if data is None else Path(data)
        self._data: Path | None = self._given_data
        self._bootstrap: str | None = None
        self._process: Process | None = None

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
        return self._process is not None and self._process.running

    def start(self) -> Broker:
        """Start and wait until it serves."""
        if self.running:
            return self
        if self._data is None:
            self._data = Path(tempfile.mkdtemp(prefix="tapelog-"))
        parent = "remove" if self._given_data is None else "watch"
        begun = time.monotonic()
        self._process = Process("the broker", self.log_path, parent=parent, env=self.env)
        try:
            self._process.spawn(self._words())
            self._bootstrap = self._process.wait_until_ready(self.start_timeout_s)
        except BaseException:
            if self._bootstrap is None:  # it never ran: nothing to keep
                self._remove_temporary()
            raise
        self.start_seconds = time.monotonic() - begun
        return self

    def _words(self) -> list[str]:
        listen = self.listen if self._bootstrap is None else self._bootstrap
        words = ["up", "--bare", "--listen", listen, "--data", str(self.data_dir)]
        for path in self.log_dirs:
            words += ["--log-dir", path]
        for name, value in self.settings.items():
            words += ["--set", f"{name}={value}"]
        return words

    def stop(self, timeout_s: float = STOP_S_MAX) -> None:
        """Stop cleanly (SIGTERM) and wait. A broker that does not end in time is killed, and that is an error."""
        if self._process is not None:
            self._process.stop(timeout_s)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would. Its files stay for restart()."""
        if self._process is not None:
            self._process.end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop if it runs, and start again on the same port and files."""
        if self.running:
            self.stop()
        self.start()

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

    @staticmethod
    def unique(prefix: str = "topic") -> str:
        """A name that no other test uses, here or in another worker: for topics and groups on a shared broker."""
        return f"{prefix}-{os.getpid()}-{next(_numbers)}-{os.urandom(3).hex()}"
