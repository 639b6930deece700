"""Whatever is lost or late between a leader, its followers and the controller: what is acknowledged is safe."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.properties.replication_world import OTHER, THIRD, ReplicationWorld, history

FOLLOWERS = st.sampled_from([OTHER, THIRD])


class Replication(RuleBasedStateMachine):
    """Random histories of one partition with three replicas."""

    world: ReplicationWorld

    @initialize(min_isr=st.integers(1, 3), page_cache=st.booleans(), quorum=st.booleans())
    def begin(self, min_isr: int, page_cache: bool, quorum: bool) -> None:
        self.world = ReplicationWorld(min_isr, page_cache, quorum and min_isr < 3)

    @rule(acks=st.sampled_from([-1, -1, 1, 0]))
    def append(self, acks: int) -> None:
        self.world.append(acks)

    @rule()
    def write(self) -> None:
        self.world.write()

    @rule()
    def flush(self) -> None:
        self.world.flush()

    @rule(replica=FOLLOWERS, count=st.integers(0, 3))
    def replicate_and_fetch(self, replica: int, count: int) -> None:
        self.world.replicate(replica, count)
        self.world.fetch(replica)

    @rule(number=st.integers(0, 5))
    def deliver(self, number: int) -> None:
        self.world.deliver(number)

    @rule(ms=st.sampled_from([1, 600, 16_000, 31_000]))
    def pass_time(self, ms: int) -> None:
        self.world.pass_time(ms)

    @rule()
    def ask(self) -> None:
        self.world.ask()

    @rule(lost=st.booleans())
    def decide(self, lost: bool) -> None:
        self.world.decide(lost)

    @rule()
    def refuse(self) -> None:
        self.world.refuse()

    @rule()
    def answer(self) -> None:
        self.world.answer()

    @rule(replica=FOLLOWERS)
    def fence(self, replica: int) -> None:
        self.world.fence(replica)

    @rule()
    def re_elect(self) -> None:
        self.world.re_elect()

    @rule()
    def publish(self) -> None:
        self.world.publish()

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.drain()


def test_what_is_acknowledged_is_on_every_in_sync_replica() -> None:
    run_state_machine_as_test(
        Replication, settings=settings(max_examples=60, stateful_step_count=60, deadline=None, derandomize=True)
    )


@pytest.mark.parametrize("seed", range(40))
def test_long_histories_with_many_small_delays(seed: int) -> None:
    history(seed)
