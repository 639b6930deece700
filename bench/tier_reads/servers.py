"""S3 servers that can be measured here: moto (Python, in memory) and versitygw (Go, a directory), each on loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from bench import procs
from bench.sides import Missing

BUCKET = "tapelog"
KEYS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "testtest",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}
START_S_MAX = 60.0


class Server:
    """An S3 server with one empty bucket."""

    name = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = procs.free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        """What is executed."""
        raise NotImplementedError

    @property
    def pid(self) -> int:
        """Of the running server."""
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.process = procs.spawn(self.command(), self.folder / "server.log", None, KEYS)
        deadline = time.monotonic() + START_S_MAX
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                tail = (self.folder / "server.log").read_text(errors="replace")[-1000:]
                raise Missing(f"{self.name} does not come up: {' '.join(self.command())}\n{tail}")
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.endpoint, timeout=5):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    def stop(self) -> None:
        """Stop it; its objects go with it."""
        if self.process is not None:
            procs.stop(self.process)
            self.process = None


class Moto(Server):
    """The S3 of the moto package: what `make test` uses."""

    name = "moto"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]

    def start(self) -> None:
        super().start()
        request = urllib.request.Request(f"{self.endpoint}/{BUCKET}", method="PUT")
        with urllib.request.urlopen(request, timeout=5):
            pass


class Versity(Server):
    """versitygw over a directory. Looked for as $TAPELOG_VERSITYGW, and in the path."""

    name = "versitygw"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        found = os.environ.get("TAPELOG_VERSITYGW") or shutil.which("versitygw")
        if found is None:
            raise Missing("versitygw was not found: `go install github.com/versity/versitygw/cmd/versitygw@latest`")
        self.program = found

    def command(self) -> list[str]:
        keys = ["--access", KEYS["AWS_ACCESS_KEY_ID"], "--secret", KEYS["AWS_SECRET_ACCESS_KEY"]]
        return [self.program, *keys, "--port", f"127.0.0.1:{self.port}", "posix", str(self.folder / "objects")]

    def start(self) -> None:
        (self.folder / "objects" / BUCKET).mkdir(parents=True)
        super().start()


SERVERS: dict[str, type[Server]] = {"moto": Moto, "versitygw": Versity}
