"""Redis and PostgreSQL for tests: started in a temporary directory, on a free port or a socket, ended by their id."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import where
from tests.support.ports import free_port
from tests.support.waiting import until


@contextmanager
def redis_server() -> Iterator[str]:
    """The address of a Redis that keeps everything."""
    program = where("redis-server")
    assert program is not None
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", directory, "--appendonly", "yes"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            until(lambda: _connects(port), "Redis answers")
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


def _connects(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
    except OSError:
        return False
    return True


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address (dsn) of a PostgreSQL. It refuses to run as root, so then it runs as `nobody`."""
    initdb, postgres = where("initdb"), where("postgres")
    assert initdb is not None and postgres is not None
    directory = Path(tempfile.mkdtemp(prefix="pg-"))
    user = "nobody" if os.getuid() == 0 else None
    if user is not None:
        shutil.chown(directory, user)
    data = directory / "data"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": directory, "user": user}
    subprocess.run([initdb, "-D", data, "-U", "t", "-A", "trust", "-N"], check=True, **quiet)  # type: ignore[call-overload]
    command = [postgres, "-D", data, "-k", directory, "-c", "listen_addresses=", "-c", "fsync=off"]
    process = subprocess.Popen(command, **quiet)  # type: ignore[call-overload]
    try:
        until(lambda: (directory / ".s.PGSQL.5432").exists(), "PostgreSQL answers")
        dsn = f"host={directory} user=t dbname=postgres"
        until(lambda: _answers(dsn), "PostgreSQL is ready")
        yield dsn
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(directory, ignore_errors=True)


def _answers(dsn: str) -> bool:
    import psycopg

    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True
