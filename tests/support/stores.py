"""Object stores of every kind that can be had on this machine, each with one empty bucket, for tests of the tier.

moto (S3) and the small GCS of `tests/support/gcs` are always there. versitygw (S3 over a directory) and Azurite (Azure)
are taken where they are installed (`go install github.com/versity/versitygw/cmd/versitygw@latest`, `npm install
azurite`): looked for in the path, and as $TAPELOG_VERSITYGW and $TAPELOG_AZURITE (its azurite-blob).
"""

from __future__ import annotations

import base64
import email.utils
import hashlib
import hmac
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.gcs import GcsServer
from tests.support.ports import free_port
from tests.support.s3 import BUCKET, ENVIRONMENT, S3Server
from tests.support.waiting import until

SECRET = "testtest"
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of every Azurite; documented by Microsoft."""
API = "2021-08-06"


@dataclass(frozen=True, slots=True)
class Store:
    """Where a running store is."""

    url: str
    endpoint: str
    environment: dict[str, str]

    def settings(self, prefix: str = "tier") -> dict[str, str]:
        """What a broker must be told to use it."""
        return {
            "remote.log.storage.system.enable": "true",
            "tapelog.tier.url": f"{self.url}/{prefix}",
            "tapelog.tier.endpoint": self.endpoint,
        }


def versitygw() -> str | None:
    """The program; None if it is not installed."""
    return os.environ.get("TAPELOG_VERSITYGW") or shutil.which("versitygw")


def azurite() -> str | None:
    """The program that serves blobs; None if it is not installed."""
    return os.environ.get("TAPELOG_AZURITE") or shutil.which("azurite-blob")


def present() -> list[str]:
    """Names of the stores that can be started here."""
    found = {"moto": True, "gcs": True, "versitygw": versitygw() is not None, "azurite": azurite() is not None}
    return [name for name, there in found.items() if there]


@contextmanager
def running(name: str, folder: Path) -> Iterator[Store]:
    """One of them, empty; its objects go with it."""
    if name == "moto":
        with S3Server() as s3:
            yield Store(f"s3://{BUCKET}", s3.endpoint, ENVIRONMENT)
    elif name == "gcs":
        with GcsServer(folder) as gcs:
            yield Store(f"gs://{BUCKET}", gcs.endpoint, gcs.environment)
    elif name == "versitygw":
        keys = {**ENVIRONMENT, "AWS_SECRET_ACCESS_KEY": SECRET}
        (folder / "objects" / BUCKET).mkdir(parents=True)
        program = versitygw()
        assert program is not None
        words = [program, "--access", keys["AWS_ACCESS_KEY_ID"], "--secret", SECRET, "--port", "127.0.0.1:{port}"]
        with _process([*words, "posix", str(folder / "objects")]) as port:
            yield Store(f"s3://{BUCKET}", f"http://127.0.0.1:{port}", keys)
    else:
        program = azurite()
        assert program is not None
        words = [program, "--blobHost", "127.0.0.1", "--blobPort", "{port}", "--location", str(folder)]
        with _process([*words, "--skipApiVersionCheck", "--disableTelemetry"]) as port:
            endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
            _make_container(endpoint)
            keys = {"AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": ACCOUNT_KEY}
            yield Store(f"az://{BUCKET}", endpoint, keys)


@contextmanager
def _process(words: list[str]) -> Iterator[int]:
    port = free_port()
    words = [word.replace("{port}", str(port)) for word in words]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers() -> bool:
        assert process.poll() is None, f"{words[0]} ended"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    try:
        until(answers, words[0])
        yield port
    finally:
        process.kill()
        process.wait()


def _make_container(endpoint: str) -> None:
    """PUT of a container, signed as Azure wants it."""
    date = email.utils.formatdate(usegmt=True)
    headers = f"x-ms-date:{date}\nx-ms-version:{API}\n"
    text = "PUT" + "\n" * 12 + f"{headers}/{ACCOUNT}/{ACCOUNT}/{BUCKET}\nrestype:container"
    key = base64.b64decode(ACCOUNT_KEY)
    signature = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
    request = urllib.request.Request(f"{endpoint}/{BUCKET}?restype=container", method="PUT")
    request.add_header("x-ms-date", date)
    request.add_header("x-ms-version", API)
    request.add_header("Content-Length", "0")
    request.add_header("Authorization", f"SharedKey {ACCOUNT}:{signature}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 201
