"""Which open transactions nothing will ever end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tapelog.cli.hanging import KnownTransaction, OpenTransaction, find_hanging, is_late
from tapelog.cli.txn_end import abort_command

OPEN = OpenTransaction("t", 0, 7, 1, 0, 42, 1_000)


def known(*places: tuple[str, int]) -> dict[int, KnownTransaction]:
    return {7: KnownTransaction("writer", "Ongoing", frozenset(places))}


def test_a_transaction_that_its_coordinator_has_does_not_hang() -> None:
    assert find_hanging([OPEN], known(("t", 0), ("t", 1))) == []


def test_a_producer_without_a_transactional_id_hangs() -> None:
    (found,) = find_hanging([OPEN], {})
    assert found.transaction == OPEN and "no transactional id" in found.why
    assert abort_command(OPEN) == "tape txn abort --hanging t:0:42"


def test_a_partition_outside_its_producers_transaction_hangs() -> None:
    (found,) = find_hanging([OPEN], known(("t", 1)))
    assert "`writer` (Ongoing)" in found.why


def test_only_what_is_silent_for_long_enough_is_late() -> None:
    assert is_late(OPEN, 2_000, 1_000) and not is_late(OPEN, 1_999, 1_000)
    assert is_late(OpenTransaction("t", 0, 7, 1, 0, 42, -1), 0, 1_000), "one that cannot tell is looked at"


PLACES = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2))
TRANSACTIONS = st.builds(lambda place, pid: OpenTransaction(*place, pid, 0, 0, 0, 0), PLACES, st.integers(0, 3))


@given(
    st.lists(TRANSACTIONS),
    st.dictionaries(
        st.integers(0, 3),
        st.builds(KnownTransaction, st.just("x"), st.just("Ongoing"), st.frozensets(PLACES)),
    ),
)
def test_a_transaction_hangs_exactly_when_no_coordinator_has_it_there(
    transactions: list[OpenTransaction], coordinators: dict[int, KnownTransaction]
) -> None:
    hanging = {found.transaction for found in find_hanging(transactions, coordinators)}
    for one in transactions:
        owner = coordinators.get(one.producer_id)
        has_it = owner is not None and (one.topic, one.partition) in owner.partitions
        assert (one in hanging) != has_it
