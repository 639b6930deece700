"""Random histories of a group of the newer protocol, with everything that can go wrong around it.

After every step: handlers changed no hard state, replay gives the live state, committed reads show exactly what is
committed, no partition has two owners, and no member believes to own what it does not. In the end, when all
heartbeat, the group settles: everything that somebody subscribes to is owned once, and everybody knows what it owns.
"""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tapelog.coordinators.consumer import computation
from tapelog.wire.errors import ErrorCode
from tests.properties.consumer_world import World
from tests.support.hash_seeds import told_under_two_hash_seeds

CONSUMERS = st.integers(0, 4)
TOPICS = ["orders", "events", "audit"]
SUBSCRIPTIONS: list[tuple[list[str] | None, str | None]] = [
    (["orders"], ""),
    (["orders"], ""),
    (["orders", "events"], ""),
    (["audit"], ""),
    ([], "o.*"),
    ([], "[ae].*"),
    (["events"], "o.*"),
]


class ConsumerHistories(RuleBasedStateMachine):
    """The history."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    @rule(who=CONSUMERS)
    def beat(self, who: int) -> None:
        self.world.beat(self.world.consumers[who])

    @rule(who=CONSUMERS)
    def work(self, who: int) -> None:
        self.world.consumers[who].work()

    @rule(who=CONSUMERS, subscription=st.sampled_from(SUBSCRIPTIONS), assignor=st.sampled_from([None, "range"]))
    def subscribe(self, who: int, subscription: tuple[list[str], str], assignor: str | None) -> None:
        consumer = self.world.consumers[who]
        consumer.names, consumer.regex = subscription
        consumer.assignor = assignor
        consumer.in_full = True

    @rule(who=CONSUMERS)
    def leave(self, who: int) -> None:
        self.world.leave(self.world.consumers[who])

    @rule(who=CONSUMERS)
    def restart(self, who: int) -> None:
        self.world.consumers[who].start_over()

    @rule(name=st.sampled_from(TOPICS), count=st.sampled_from([0, 1, 3, 5]))
    def change_topic(self, name: str, count: int) -> None:
        self.world.change_topic(name, count)

    @rule(milliseconds=st.sampled_from([100, 1_000, 11_000, 31_000, 46_000]))
    def advance(self, milliseconds: int) -> None:
        self.world.bench.advance(milliseconds)

    @rule()
    def hold(self) -> None:
        self.world.log.held = True

    @rule()
    def release(self) -> None:
        self.world.log.held = False
        self.world.bench.release()

    @rule(code=st.sampled_from([None, None, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]))
    def refuse(self, code: ErrorCode | None) -> None:
        self.world.log.refusal = code

    @rule()
    def take_back(self) -> None:
        self.world.take_back()

    @rule(keep=st.booleans())
    def crash(self, keep: bool) -> None:
        self.world.crash(keep)

    @rule()
    def resign_and_return(self) -> None:
        self.world.resign_and_return()

    @invariant()
    def every_promise_is_kept(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        self.world.settle_down()


TestConsumerHistories = ConsumerHistories.TestCase
TestConsumerHistories.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)

STEPS = {
    "beat": 60,
    "work": 40,
    "subscribe": 3,
    "leave": 2,
    "restart": 1,
    "change_topic": 2,
    "advance": 15,
    "hold": 2,
    "release": 6,
    "refuse": 2,
    "take_back": 1,
    "crash": 1,
    "resign_and_return": 1,
}
"""How often each thing happens in a long history: mostly life, some trouble."""


def live_through(seed: int, steps: int, rounds: int = 100) -> World:
    """A long random history; every step is checked, every fifth against a replay of the log too."""
    chance = random.Random(seed)
    history = ConsumerHistories()
    history.world.rounds = history.world.bench.rounds = rounds
    for number in range(steps):
        step = chance.choices(list(STEPS), list(STEPS.values()))[0]
        arguments: list[Any] = []
        if step in ("beat", "work", "leave", "restart", "subscribe"):
            arguments.append(chance.randrange(5))
        if step == "subscribe":
            arguments += [chance.choice(SUBSCRIPTIONS), chance.choice([None, "range", "uniform"])]
        if step == "change_topic":
            arguments += [chance.choice(TOPICS), chance.choice([0, 1, 3, 5])]
        if step == "advance":
            arguments.append(chance.choice([100, 500, 1_000, 1_000, 5_000, 5_000, 11_000, 46_000]))
        if step == "refuse":
            arguments.append(chance.choice([None, None, None, ErrorCode.NOT_ENOUGH_REPLICAS]))
        if step == "crash":
            arguments.append(chance.random() < 0.5)
        getattr(history, step)(*arguments)
        history.world.check(number % 5 == 0)
    history.world.settle_down()
    history.world.change_topic("orders", 9)
    history.world.change_topic("events", 0)
    history.world.settle_down()
    return history.world


@pytest.mark.parametrize("seed", [*range(10), 1018, 4019])
def test_a_long_history_of_trouble_keeps_every_promise(seed: int) -> None:
    world = live_through(seed, 400)
    assert world.widest >= 4, "members do meet"


@pytest.mark.parametrize("seed", range(6))
def test_targets_that_are_computed_and_written_in_tiny_pieces_keep_every_promise(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members come, go, change their mind and take places over between the pieces; appends fail, coordinators die."""
    steps: list[computation.Computation] = []
    step = computation.Computation._step

    def counted(one: computation.Computation) -> Any:
        steps.append(one)
        return step(one)

    monkeypatch.setattr(computation, "PIECE_UNITS", 1)
    monkeypatch.setattr(computation, "WRITTEN_BYTES_MAX", 1)
    monkeypatch.setattr(computation.Computation, "_step", counted)
    world = live_through(seed, 300, rounds=3)
    assert world.widest >= 4, "members do meet"
    assert len(steps) > 4 * len({id(one) for one in steps}), "each takes several pieces"


def test_a_history_is_the_same_whatever_the_hash_seed() -> None:
    first, second = told_under_two_hash_seeds("tests.properties.test_consumer_groups")
    assert first == second


def tell_history(seed: int) -> str:
    """The digest of the log that a history leaves."""
    world = live_through(seed, 150)
    return hashlib.sha256(b"".join(batch for _, _, batch in world.log.batches[0])).hexdigest()
