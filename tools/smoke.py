"""Does an installed Tapelog work? Run by its own Python: `smoke.py yes|no`, where the word says whether it is compiled.

`tape version` tells the truth, `tape up` serves, a record goes in and comes out through confluent-kafka, SIGTERM ends
the broker with exit code 0. Exits 0 only if all of that holds.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

WAIT_S = 20.0


def main() -> int:
    """Every check in turn; an assertion names the first that fails."""
    compiled = sys.argv[1]
    tape = Path(sys.executable).parent / "tape"
    version = json.loads(subprocess.run([tape, "version", "--json"], capture_output=True, check=True).stdout)
    assert version["compiled"] == compiled, f"tape version says {version}, expected compiled: {compiled}"
    for other in ([Path(sys.executable).parent / "tapelog", "version"], [sys.executable, "-m", "tapelog", "version"]):
        subprocess.run(other, stdout=subprocess.DEVNULL, check=True)
    subprocess.run([sys.executable, "-c", "import tapelog.testing"], check=True)
    with tempfile.TemporaryDirectory() as data:
        broker_works(tape, data)
    print(f"   version {version['tapelog']}, compiled: {compiled}; a broker served a record")
    return 0


def broker_works(tape: Path, data: str) -> None:
    """Start a broker, send it a record, read it back, stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = [tape, "up", "--bare", "--listen", address, "--data", data]
    broker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert broker.stdout is not None
        ready = broker.stdout.readline()
        assert ready.startswith(f"ready {address}"), f"tape up said {ready!r}"
        round_trip(address)
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(WAIT_S) == 0, f"tape up ended with {broker.returncode}"
    finally:
        broker.kill()
        broker.wait()


def round_trip(address: str) -> None:
    """One record in and out, through a client nobody here wrote."""
    from confluent_kafka import Consumer, Producer

    producer = Producer({"bootstrap.servers": address, "compression.type": "lz4"})
    producer.produce("smoke", key=b"k", value=b"hello")
    assert producer.flush(WAIT_S) == 0, "the record was not acknowledged"
    consumer = Consumer({"bootstrap.servers": address, "group.id": "smoke", "auto.offset.reset": "earliest"})
    consumer.subscribe(["smoke"])
    message = consumer.poll(WAIT_S)
    assert message is not None and message.error() is None and message.value() == b"hello", f"consumed {message}"
    consumer.close()


if __name__ == "__main__":
    sys.exit(main())
