"""Random requests from fixed seeds; with TAPELOG_FUZZ_MINUTES (`make fuzz`) new seeds until the time is up.

A failure names its seed: TAPELOG_FUZZ_SEED=n runs that one alone. Whatever comes, the broker answers or closes the
connection, logs no exception, stays small, and its other clients notice nothing.
"""

from __future__ import annotations

import os
import random
import socket
import time

import pytest

from tests.fuzz.requests import Requests
from tests.fuzz.victim import Bystander, Victim
from tests.support.raw import METADATA, ConnectionClosed, Raw

FRAMES = 300
MINUTES = float(os.environ.get("TAPELOG_FUZZ_MINUTES", "0"))
ONE = os.environ.get("TAPELOG_FUZZ_SEED")
SEEDS = [int(ONE)] if ONE else list(range(12))
GROWTH_MAX = 150 << 20


def attack(victim: Victim, seed: int) -> dict[str, int]:
    """Send what the seed gives, on connections that change now and then; how often what happened."""
    chance = random.Random(f"connections {seed}")
    supply = Requests(seed, [topic_id(victim, "fuzz-a")])
    seen = {"answered": 0, "closed": 0, "waiting": 0}
    raw = Raw(victim.bootstrap, timeout=0.3)
    try:
        for number in range(FRAMES):
            data = supply.next()
            cut = chance.randrange(len(data)) if chance.random() < 0.1 else 0
            try:
                if cut:  # in two pieces
                    raw.send_bytes(data[:cut])
                    time.sleep(0.001)
                raw.send_bytes(data[cut:])
                raw.receive_frame()
                seen["answered"] += 1
                if chance.random() < 0.9:
                    continue
            except ConnectionClosed:
                seen["closed"] += 1
            except TimeoutError:  # it waits for the rest of a frame, or has parked the request
                seen["waiting"] += 1
            raw.close()
            raw = Raw(victim.bootstrap, timeout=0.3)
            if number % 50 == 0:
                victim.check()
    finally:
        raw.close()
    return seen


def topic_id(victim: Victim, topic: str) -> bytes:
    """A topic's id, by Metadata v12 (which also creates an absent topic)."""
    body = b"\x02" + bytes(16) + bytes([len(topic) + 1]) + topic.encode() + b"\x00" + b"\x01\x00\x00"
    with Raw(victim.bootstrap) as raw:
        answer = raw.call(METADATA, 12, body, flexible=True)
    at = answer.rindex(topic.encode()) + len(topic)
    return answer[at : at + 16]


def one_seed(victim: Victim, seed: int) -> None:
    """Attack with one seed and see that nothing came of it."""
    victim.topic("fuzz-a")
    before = victim.memory()
    with Bystander(victim):
        seen = attack(victim, seed)
    try:
        victim.check()
        assert seen["answered"] > FRAMES // 10, seen
        assert victim.memory() - before < GROWTH_MAX
    except AssertionError as failure:
        raise AssertionError(f"seed {seed}: {failure}") from failure


@pytest.mark.parametrize("seed", SEEDS)
def test_random_requests_harm_nobody(victim: Victim, seed: int) -> None:
    one_seed(victim, seed)


def test_random_bytes_harm_nobody(victim: Victim) -> None:
    chance = random.Random(7)
    with Bystander(victim):
        for _ in range(200):
            with Raw(victim.bootstrap, timeout=0.3) as raw:
                try:
                    raw.send_bytes(chance.randbytes(chance.randint(1, 3000)))
                    raw.socket.shutdown(socket.SHUT_WR)
                    raw.socket.recv(4096)
                except (ConnectionClosed, OSError):
                    pass


@pytest.mark.timeout(0)
def test_new_seeds_until_the_time_is_up(victim: Victim) -> None:
    deadline = time.monotonic() + MINUTES * 60
    first = seed = int.from_bytes(os.urandom(4), "big")
    while time.monotonic() < deadline:
        one_seed(victim, seed)
        seed += 1
    if MINUTES:
        print(f"seeds {first} to {seed - 1}: {(seed - first) * FRAMES} frames")
