"""A cluster as subprocesses: real nodes on free ports, each of which can be killed, stopped, paused and started again.

`tape format` makes the directories, then every node is a `tape node` of its own, gone with this process.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tapelog.testing.process import START_S_MAX, STOP_S_MAX, BrokerError, Process, as_text, command, environment

NODES = 3
FORMAT_S_MAX = 30.0


class Node:
    """One node of a cluster. `number` is its node id, from 1."""

    def __init__(self, number: int, directory: Path, address: str, *, parent: str, env: Mapping[str, str]) -> None:
        self.number = number
        self.directory = directory
        self.address = address
        self._process = Process(f"node {number}", directory / "node.log", parent=parent, env=env)
        self.paused = False

    @property
    def bootstrap(self) -> str:
        """`host:port` of this node alone."""
        return self.address

    @property
    def pid(self) -> int:
        """The process id, while it runs."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process lives (a paused one does)."""
        return self._process.running

    def start(self, *, wait: bool = True, timeout_s: float = START_S_MAX) -> Node:
        """Start it, on the same port and files as before; waits until it serves, unless told not to."""
        if not self.running:
            self.spawn()
            if wait:
                self.wait_until_ready(timeout_s)
        return self

    def spawn(self) -> None:
        """Start it without waiting."""
        self._process.end(signal.SIGKILL)  # takes leave of one that ended by itself
        self.paused = False
        self._process.spawn(["node", str(self.directory)])

    def wait_until_ready(self, timeout_s: float = START_S_MAX) -> None:
        """Until it serves; BrokerError with its last words if it does not."""
        self._process.wait_until_ready(timeout_s)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would. Its files stay for start()."""
        self._process.end(signal.SIGKILL)
        self.paused = False

    def stop(self, timeout_s: float = STOP_S_MAX) -> None:
        """Stop it cleanly (SIGTERM) and wait; its partitions get other leaders first."""
        self.resume()
        self._process.stop(timeout_s)

    def send(self, number: signal.Signals) -> None:
        """A signal, without waiting for what it does."""
        self._process.send(number)

    def restart(self) -> None:
        """Stop it if it runs, and start it again."""
        if self.running:
            self.stop()
        self.start()

    def pause(self) -> None:
        """Freeze it (SIGSTOP): it holds its connections and answers nothing, as a machine that hangs."""
        self._process.send(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        """Let a paused node go on (SIGCONT)."""
        if self.paused:
            self._process.send(signal.SIGCONT)
            self.paused = False

    def log(self) -> str:
        """What it has logged so far."""
        return self._process.log()


class Cluster:
    """`with Cluster(nodes=3) as cluster:` — `bootstrap` names all nodes, `cluster.node(1).kill()` ends one.

    settings: Kafka broker configs for every node. data: a directory to use and keep; else a temporary one.
    listen: where node 1 listens, node i i-1 ports further; port 0 takes free ones.
    log_dirs: further places for partitions, each node in `node-<number>` of each; not removed at the end.
    """

    def __init__(
        self,
        nodes: int = NODES,
        *,
        settings: Mapping[str, str | int | float | bool] | None = None,
        data: str | os.PathLike[str] | None = None,
        listen: str = "127.0.0.1:0",
        log_dirs: Sequence[str | os.PathLike[str]] = (),
        env: Mapping[str, str] | None = None,
        start_timeout_s: float = START_S_MAX,
    ) -> None:
        if nodes < 1:
            raise BrokerError(f"Cluster(nodes={nodes}): a cluster has at least one node")
        self.size = nodes
        self.log_dirs = [os.fspath(path) for path in log_dirs]
        self.settings = {name: as_text(value) for name, value in (settings or {}).items()}
        self.listen = listen
        self.env = dict(env or {})
        self.start_timeout_s = start_timeout_s
        self.start_seconds = 0.0
        self.nodes: list[Node] = []
        self._given_data = None if data is None else Path(data)
        self._data: Path | None = self._given_data

    @property
    def bootstrap(self) -> str:
        """`host:port,host:port…` for clients."""
        if not self.nodes:
            raise BrokerError("the cluster has not been started: use `with Cluster() as cluster:` or cluster.start()")
        return ",".join(node.address for node in self.nodes)

    @property
    def data_dir(self) -> Path:
        """Where the nodes keep their files, each in `node-<number>`."""
        if self._data is None:
            raise BrokerError("the cluster has no directory before it is started")
        return self._data

    def node(self, number: int) -> Node:
        """The node with this id, from 1."""
        if not 1 <= number <= len(self.nodes):
            raise BrokerError(f"there is no node {number}: there are {len(self.nodes)}")
        return self.nodes[number - 1]

    def start(self) -> Cluster:
        """Start every node that does not run, all at once, and wait until they all serve."""
        begun = time.monotonic()
        try:
            if not self.nodes:
                self._format()
            started = [node for node in self.nodes if not node.running]
            for node in started:
                node.spawn()
            for node in started:
                node.wait_until_ready(max(0.1, begun + self.start_timeout_s - time.monotonic()))
        except BaseException:
            for node in self.nodes:
                node.kill()
            self._remove_temporary()
            raise
        self.start_seconds = time.monotonic() - begun
        return self

    def _format(self) -> None:
        if self._data is None:
            self._data = Path(tempfile.mkdtemp(prefix="tapelog-"))
        words = ["format", "--json", "--nodes", str(self.size), "--listen", self.listen, "--data", str(self._data)]
        for path in self.log_dirs:
            words += ["--log-dir", path]
        for name, value in self.settings.items():
            words += ["--set", f"{name}={value}"]
        ran = subprocess.run(
            command(words), capture_output=True, text=True, env=environment() | self.env, timeout=FORMAT_S_MAX
        )
        if ran.returncode != 0:
            raise BrokerError(f"the cluster cannot be made: {ran.stderr.strip()}")
        parent = "remove-node" if self._given_data is None else "watch"
        self.nodes = [
            Node(entry["node"], Path(entry["directory"]), entry["listen"], parent=parent, env=self.env)
            for entry in json.loads(ran.stdout)
        ]

    def stop(self, timeout_s: float = STOP_S_MAX) -> None:
        """Stop every node cleanly, all at once. A node that does not end in time is killed, and that is an error."""
        for node in self.nodes:
            node.resume()
            node.send(signal.SIGTERM)
        failures: list[BrokerError] = []
        for node in self.nodes:
            try:
                node.stop(timeout_s)
            except BrokerError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def kill(self) -> None:
        """End every node at once (SIGKILL)."""
        for node in self.nodes:
            node.send(signal.SIGKILL)
        for node in self.nodes:
            node.kill()

    def restart(self) -> None:
        """Stop every node and start all of them again."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop every node and remove the temporary directory. Harmless when repeated."""
        try:
            self.stop()
        finally:
            self._remove_temporary()

    def _remove_temporary(self) -> None:
        if self._given_data is None and self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
            self._data, self.nodes = None, []

    def __enter__(self) -> Cluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
