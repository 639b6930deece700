"""Nothing is kept of groups, members and transactions that are gone: memory does not grow with what once was."""

from __future__ import annotations

import gc
from collections import deque
from types import FunctionType, MethodType, ModuleType

import pytest

from tests.unit.coordinators.bench import Bench
from tests.unit.coordinators.consumer_story import ConsumerStory
from tests.unit.coordinators.story import Story

PASSED_BY = (type, ModuleType, FunctionType, MethodType)


def entries(bench: Bench) -> int:
    """How much stands in all the collections of the coordinator; but for the log, which is compacted on its own, and
    the ids that were promised, which have a bound on their own."""
    beside = (bench.log, bench.topics, bench.clock, bench, bench.machine.classic._promised)
    seen: dict[int, object] = {id(one): one for one in beside}
    found, count = [bench.coordinator.runtime._shards, bench.coordinator.runtime._rewrites], 0
    while found:
        one = found.pop()
        if id(one) in seen or isinstance(one, PASSED_BY):
            continue
        seen[id(one)] = one
        if isinstance(one, dict | list | set | deque):
            count += len(one)
        found += gc.get_referents(one)
    return count


CLASSIC = [
    "enter a group={g}",
    "sync a assign=a:all",
    "join b group={g}",
    "commit a orders/0=1 orders/1=2",
    "leave a",
    "advance 70s",
    "txn-commit 7 orders/0=5 group={g}",
    "end-txn 7 commit",
    "txn-commit 8 orders/0=6 group={g}",
    "end-txn 8 abort",
    "delete {g}",
]
CONSUMER = [
    "beat a group={g} topics=orders",
    "beat b group={g} regex=ev.* topics=",
    "beat c group={g} instance=one",
    "keep-beating a b c 15s",
    "quit c",
    "beat c instance=one group={g}",
    "keep-beating a b c 15s",
    "quit a",
    "beat b topics=orders regex=",
    "quit c",
    "beat c instance=one group={g}",
    "quit c epoch=-1",
    "advance 70s",
    "delete {g}",
]


@pytest.mark.parametrize("life", [CLASSIC, CONSUMER], ids=["classic", "consumer"])
def test_nothing_is_left_of_groups_that_are_gone(life: list[str]) -> None:
    story: Story = ConsumerStory() if life is CONSUMER else Story()
    kept = []
    for number in range(6):
        story.clients.clear()
        for line in life:
            story.run(line.format(g=f"group-{number}"))
        told = story.output()
        assert told.endswith((f"delete: group-{number} NONE", "GROUP_ID_NOT_FOUND")), told  # or it has expired
        kept.append(entries(story.bench))
    assert kept[1:] == [kept[1]] * 5
