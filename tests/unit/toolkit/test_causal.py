"""Causal order without a broker: who waits for whom, how long, and what then."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.toolkit.causal import CausalGate, CausalOrder, MissingDependencies, caused_by, dependencies, named
from tapelog.toolkit.delivery import AtLeastOnce
from tapelog.toolkit.failures import StopOnError
from tapelog.toolkit.records import Record, as_headers
from tapelog.toolkit.retry import DeadLetter
from tapelog.toolkit.sink import Sink, Waits
from tests.unit.toolkit.fakes import Bench, FakeProducer, offsets, record


def message(offset: int, name: str, *after: str, key: bytes | None = None, partition: int = 0) -> Record:
    """A record with a name and dependencies."""
    return record(offset, partition, key=key, value=name.encode(), headers=as_headers(named(name, *after)))


def drain(gate: CausalGate, records: list[Record], now: float = 0.0) -> list[str]:
    """Offer these, handle what is let through until nothing more is; the names in order."""
    done = []
    ready = gate.admit(records, now)
    while ready:
        for one in ready:
            done.append(one.text())
            gate.passed(one)
        ready = gate.admit((), now)
    return done


def test_a_record_without_dependencies_passes() -> None:
    assert drain(CausalGate(CausalOrder()), [record(1, value=b"a"), message(2, "b")]) == ["a", "b"]


def test_what_came_too_early_waits_and_then_follows() -> None:
    gate = CausalGate(CausalOrder())
    assert drain(gate, [message(1, "reply", "post"), message(2, "other")]) == ["other"]
    assert offsets(gate.held()) == [1]
    assert drain(gate, [message(3, "post")]) == ["post", "reply"]
    assert not gate.held()


def test_a_chain_that_came_backwards_comes_out_forwards() -> None:
    gate = CausalGate(CausalOrder())
    assert drain(gate, [message(1, "c", "b"), message(2, "b", "a"), message(3, "a")]) == ["a", "b", "c"]


def test_later_records_of_the_same_key_do_not_overtake_a_held_one() -> None:
    gate = CausalGate(CausalOrder())
    early = [message(1, "x", "late", key=b"k"), message(2, "y", key=b"k"), message(3, "z", key=b"other")]
    assert drain(gate, early) == ["z"]
    assert drain(gate, [message(4, "late")]) == ["late", "x", "y"]


def test_a_bound_in_time_then_it_is_delivered_all_the_same() -> None:
    gate = CausalGate(CausalOrder(max_wait="5s"))
    assert drain(gate, [message(1, "x", "never")], 100.0) == []
    assert gate.next_due() is not None and gate.next_due() <= 105.0  # type: ignore[operator]
    assert drain(gate, [], 104.9) == []
    (one,) = gate.admit((), 105.0)
    assert (one.text(), gate.refusal(one)) == ("x", None)


def test_a_bound_in_number_then_the_oldest_goes_first() -> None:
    gate = CausalGate(CausalOrder(max_held=2))
    assert drain(gate, [message(n, f"x{n}", "never") for n in range(4)]) == ["x0", "x1"]
    assert offsets(gate.held()) == [2, 3]


def test_a_policy_may_decide_instead() -> None:
    gate = CausalGate(CausalOrder(max_wait=1, then=DeadLetter()))
    gate.admit([message(1, "x", "never")], 0.0)
    (one,) = gate.admit((), 1.0)
    refusal = gate.refusal(one)
    assert isinstance(refusal, MissingDependencies) and "never" in str(refusal)


def test_what_another_process_has_handled_is_asked_for_again_and_again() -> None:
    elsewhere: set[str] = set()
    gate = CausalGate(CausalOrder(), elsewhere.__contains__)
    assert drain(gate, [message(1, "x", "there")], 0.0) == []
    elsewhere.add("there")
    assert drain(gate, [], 0.5) == []
    assert drain(gate, [], 1.0) == ["x"]
    assert drain(gate, [message(2, "y", "there")], 1.1) == ["y"], "and remembered"


def test_held_records_of_partitions_that_are_given_up_are_forgotten() -> None:
    gate = CausalGate(CausalOrder())
    gate.admit([message(1, "x", "a"), message(1, "y", "a", partition=1)], 0.0)
    gate.forget([("in", 0)])
    assert drain(gate, [message(2, "a", partition=1)]) == ["a", "y"]


def test_names_in_memory_have_a_bound() -> None:
    gate = CausalGate(CausalOrder(remember=2))
    drain(gate, [message(n, f"n{n}") for n in range(3)])
    assert drain(gate, [message(9, "x", "n0")]) == []
    assert drain(gate, [message(10, "y", "n2")]) == ["y"]


def test_dependencies_are_read_from_headers_as_people_write_them() -> None:
    headers = (("depends-on", b"a, b,,a"), ("depends-on", b"c"), ("other", b"d"), ("depends-on", None))
    assert dependencies(record(1, headers=headers)) == ["a", "b", "c"]
    assert caused_by(message(1, "a"), record(2)) == {"depends-on": "a,in[0]@2"}
    assert len(dependencies(record(1, headers=(("depends-on", b"x,y" * 100_000),)))) <= 1000


@given(st.permutations(list(range(8))), st.data())
def test_whatever_the_order_of_arrival_no_effect_comes_before_its_cause(order: list[int], data: st.DataObject) -> None:
    causes = {n: data.draw(st.sets(st.integers(0, n - 1), max_size=3)) if n else set() for n in range(8)}
    gate = CausalGate(CausalOrder())
    done: list[str] = []
    for place, number in enumerate(order):
        done += drain(gate, [message(place, str(number), *map(str, causes[number]))])
    assert sorted(done) == [str(n) for n in range(8)]
    for number, before in causes.items():
        assert all(done.index(str(cause)) < done.index(str(number)) for cause in before)


def bench(order: CausalOrder, **more: Any) -> tuple[Bench, list[str], FakeProducer]:
    """A loop at least once with a causal gate."""
    seen: list[str] = []
    producer = FakeProducer()
    sink = Sink({}, Waits(lambda: False), make=lambda _: producer)  # type: ignore[arg-type, return-value]
    run = Bench(AtLeastOnce(sink), lambda one: seen.append(one.text()), gate=CausalGate(order), **more)
    run.owns(0, 1)
    return run, seen, producer


def put(run: Bench, *records: Record) -> None:
    for one in records:
        run.source.inbox.put(one)


def test_offsets_are_not_committed_past_a_held_record() -> None:
    run, seen, _ = bench(CausalOrder())
    put(run, message(1, "a"), message(2, "reply", "post"), message(3, "b"))
    run.turn()
    run.settle()
    assert (seen, run.consumer.committed) == (["a", "b"], {("in", 0): 2})
    put(run, message(9, "post", partition=1))
    run.turn()
    run.settle()
    assert seen == ["a", "b", "post", "reply"]
    assert run.consumer.committed == {("in", 0): 4, ("in", 1): 10}


def test_many_held_records_do_not_stop_the_loop() -> None:
    run, seen, _ = bench(CausalOrder(), records=3)
    put(run, *(message(n, f"x{n}", "post") for n in range(10)))
    run.turn(5)
    put(run, message(20, "post", partition=1))
    for _ in range(8):
        run.settle()
    assert seen == ["post", *(f"x{n}" for n in range(10))]
    assert run.consumer.committed == {("in", 0): 10, ("in", 1): 21}


def test_a_record_that_waited_too_long_is_put_aside_or_ends_the_loop() -> None:
    run, seen, producer = bench(CausalOrder(max_wait=5, then=DeadLetter()))
    put(run, message(1, "x", "never"))
    run.turn()
    run.clock.pass_(5)
    run.turn()
    run.settle()
    assert (seen, producer.stored, run.consumer.committed) == ([], [("in.dead", b"x")], {("in", 0): 2})

    run, _, _ = bench(CausalOrder(max_wait=5, then=StopOnError()))
    put(run, message(1, "x", "never"))
    run.turn()
    run.clock.pass_(5)
    with pytest.raises(MissingDependencies, match="never"):
        run.turn()
    assert not run.consumer.committed


def test_a_dependency_that_is_redelivered_to_another_owner_waits_there_again() -> None:
    run, seen, _ = bench(CausalOrder())
    put(run, message(1, "x", "post"))
    run.turn()
    run.consumer.rebalance("revoke", ("in", 0))
    run.turn()
    put(run, message(1, "post", partition=1))
    run.turn()
    assert seen == ["post"]
