"""An S3 server of one's own (moto, in a process of its own) with one bucket, for tests that need a real one."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request

from tests.support.ports import free_port
from tests.support.waiting import until

BUCKET = "tapelog"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


class S3Server:
    """`with S3Server() as s3:` — `s3.settings()` for a broker, `s3.ENVIRONMENT` for its process."""

    def __init__(self) -> None:
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def settings(self, prefix: str = "tier") -> dict[str, str]:
        """What a broker must be told to use it."""
        return {
            "remote.log.storage.system.enable": "true",
            "tapelog.tier.url": f"s3://{BUCKET}/{prefix}",
            "tapelog.tier.endpoint": self.endpoint,
        }

    def start(self) -> S3Server:
        """Start it, with an empty bucket."""
        words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._make_bucket, "the S3 server")
        return self

    def _make_bucket(self) -> bool:
        assert self._process is not None and self._process.poll() is None, "the S3 server ended"
        request = urllib.request.Request(f"{self.endpoint}/{BUCKET}", method="PUT")
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def stop(self) -> None:
        """Away with it, and with everything in it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> S3Server:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
