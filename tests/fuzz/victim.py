"""The broker under attack, and the well-behaved client beside it that must notice nothing."""

from __future__ import annotations

import os
import threading
from types import TracebackType

from tapelog.testing import Broker
from tests.support.raw import ConnectionClosed, Raw, create_topic, fetch, produce, simple_batch
from tests.support.waiting import until

BUSY_S_MAX = 3.0
"""How much CPU the broker may take for others while an innocent request waits: a loop that is held up computes."""


class Victim:
    """A broker and what can be seen of it from outside."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.bootstrap = broker.bootstrap
        self._seen = 0

    def memory(self) -> int:
        """Resident bytes now."""
        return self._status("VmRSS")

    def memory_peak(self) -> int:
        """The most resident bytes since `forget_peak`."""
        return self._status("VmHWM")

    def forget_peak(self) -> None:
        """Begin a new peak."""
        with open(f"/proc/{self.broker.pid}/clear_refs", "w") as control:
            control.write("5")

    def cpu_s(self) -> float:
        """CPU seconds that it has taken so far."""
        with open(f"/proc/{self.broker.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _status(self, name: str) -> int:
        with open(f"/proc/{self.broker.pid}/status") as status:
            line = next(line for line in status if line.startswith(name))
        return int(line.split()[1]) * 1024

    def new_log(self) -> list[str]:
        """The log lines since the last call."""
        lines = self.broker.log().splitlines()
        fresh = lines[self._seen :]
        self._seen = len(lines)
        return fresh

    def topic(self, name: str, **configs: str) -> str:
        """Create a topic (unless it is there) and wait until it takes records."""
        with Raw(self.bootstrap) as raw:
            code = create_topic(raw, name, configs={k.replace("_", "."): v for k, v in configs.items()})
            assert code in (0, 36), f"CreateTopics answered {code}"
            until(lambda: fetch(raw, name, 0)[0] == 0, f"{name} serves")
        return name

    def check(self) -> None:
        """It lives, and nothing surprised it."""
        assert self.broker.running, "the broker ended:\n" + self.broker.log()[-3000:]
        surprises = [
            line for line in self.new_log() if "Traceback" in line or " ERROR " in line or " CRITICAL " in line
        ]
        assert surprises == [], "the broker was surprised:\n" + self.broker.log()[-6000:]


class Bystander(threading.Thread):
    """Produces and fetches, one record after the other, until the end of the block, and must notice nothing."""

    def __init__(self, victim: Victim) -> None:
        super().__init__(daemon=True)
        self.victim = victim
        self.topic = victim.topic("bystander")
        self.stopping = threading.Event()
        self.busiest_s = 0.0
        self.rounds = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with Raw(self.victim.bootstrap, timeout=20) as raw:
                while not self.stopping.wait(0.005):
                    before = self.victim.cpu_s()
                    code, offset = produce(raw, self.topic, simple_batch([b"%d" % self.rounds]))
                    assert code == 0, f"Produce answered {code}"
                    code, _watermark, data = fetch(raw, self.topic, offset)
                    assert code == 0 and b"%d" % self.rounds in data, f"Fetch answered {code}, {len(data)} bytes"
                    self.busiest_s = max(self.busiest_s, self.victim.cpu_s() - before)
                    self.rounds += 1
        except (AssertionError, OSError, ConnectionClosed) as failure:
            self.failure = failure

    def __enter__(self) -> Bystander:
        self.start()
        until(lambda: self.rounds > 0 or self.failure, "the bystander works")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        rounds = self.rounds
        if error is None and self.failure is None:
            until(lambda: self.rounds > rounds or self.failure, "the bystander still works")
        self.stopping.set()
        self.join(30)
        if error is None:
            assert self.failure is None, f"the bystander was disturbed: {self.failure!r}"
            assert self.busiest_s < BUSY_S_MAX, f"the bystander waited while {self.busiest_s:.1f} s were computed"
