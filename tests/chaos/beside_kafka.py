"""The same story with Apache Kafka as the broker: python -m tests.chaos.beside_kafka [PROTOCOL] [CRASHES] [SEED].

Not a test of ours: it shows whether the application and the judge are right, by a broker that somebody else wrote.
Kafka needs several seconds to come back, so the feed is slower and a crash takes half a minute on two cores.
Kafka 4.3.1 often loses a prepared commit's markers when it is killed (four times in ten crashes): it completes the
transaction although it does not know the partitions yet ("likely deleted already and hence can be skipped", says its
TransactionMarkerChannelManager at level INFO). The offsets in it stay unstable until the same producer commits again,
the application waits for that, and the story may end with "not within 60 s: new output".
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from bench.sides import Kafka, Missing
from tests.chaos.crashes import Crashes
from tests.chaos.test_exactly_once import SETTINGS

RATE = 100
START_ATTEMPTS = 5


class KafkaServer(Kafka):
    """One node of Apache Kafka that comes back on the same ports."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, None)
        self._ports: tuple[int, int] | None = None

    @property
    def bootstrap(self) -> str:
        """Its address, also while it is down."""
        assert self._ports is not None
        return f"127.0.0.1:{self._ports[0]}"

    def _write_properties(self) -> None:
        if self._ports is None:
            super()._write_properties()
            with (self.folder / "server.properties").open("a") as file:
                file.writelines(f"{name}={value}\n" for name, value in SETTINGS.items())

    def start(self) -> float:
        """Start, or start again."""
        for attempt in range(START_ATTEMPTS):
            try:
                return super().start()
            except Missing:  # not up after a minute: the machine is busy
                if attempt == START_ATTEMPTS - 1:
                    raise
        raise AssertionError

    def kill(self) -> None:
        """At once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def main(protocol: str = "classic", crashes: str = "12", seed: str = "1") -> None:
    """One story; prints the verdict, and keeps the files of one that is not exact."""
    folder = Path(tempfile.mkdtemp(prefix="beside-kafka-"))
    story = Crashes(KafkaServer(folder), "exactly-once", folder, int(seed), protocol, rate=RATE)
    began = time.monotonic()
    try:
        verdict = story.run(int(crashes))
    finally:
        story.close()
    print(f"Apache Kafka, {protocol}, seed {seed}: {crashes} crashes, {verdict}; {time.monotonic() - began:.0f} s")
    if not verdict.exact:
        print(f"see {folder}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
