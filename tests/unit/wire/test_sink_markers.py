"""Groups that hold markers of Spark's sink are told from groups that read: by their name and all their notes."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapelog.spark.plan.write_values import SLOTS, Marker, Tally, Work
from tapelog.wire.sink_markers import holds_markers, may_hold_markers

RUN = "4e2607c3-9795-4468-94ee-d6d7524a3557"
NOTE = f"1 {RUN} 12 100 800 77"
COUNT = st.integers(0, 2**63)


@given(
    prefix=st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True),
    run=st.uuids(),
    numbers=st.tuples(COUNT, COUNT, st.integers(0, 9), COUNT),
    tally=st.builds(Tally, COUNT, COUNT, COUNT),
    dashes=st.booleans(),
)
def test_what_the_sink_writes_is_recognised(
    prefix: str, run: uuid.UUID, numbers: tuple[int, int, int, int], tally: Tally, dashes: bool
) -> None:
    batch, partition, number, attempt = numbers
    work = Work(prefix, str(run) if dashes else run.hex, batch, partition, number, str(attempt))
    marker = Marker(work.batch, work.run, work.attempt, tally)
    assert may_hold_markers(work.name)
    assert holds_markers(work.name, [marker.text(), marker.text() + "\x01junk"])


@pytest.mark.parametrize("group", ["billing", "etl-v1.7", "etl-1.2.3", "shop.revenue", "a b-0.0", f"etl-1.{SLOTS}"])
def test_a_name_of_another_form_is_never_one_of_them(group: str) -> None:
    assert not may_hold_markers(group) and not holds_markers(group, [NOTE])


@pytest.mark.parametrize(
    "notes", [[], [""], ["mine"], [NOTE, ""], [NOTE, "mine"], ["2" + NOTE[1:]], ["1 run 12 100 800 77"], [f"1 {RUN}"]]
)
def test_a_group_that_only_has_such_a_name_is_a_group_like_others(notes: list[str]) -> None:
    assert may_hold_markers("etl-1.2") and not holds_markers("etl-1.2", notes)


def test_where_nothing_is_committed_only_a_name_that_nobody_chooses_by_accident_counts() -> None:
    assert holds_markers(f"tapelog-{RUN}-0.0", []) and holds_markers(f"tapelog-{uuid.uuid4().hex}-17.3", [])
    for other in (f"spark-tapelog-{RUN}", f"tapelog-{RUN}", f"mine-{RUN}-0.0", f"tapelog-{RUN}-0.4", "tapelog-app-x-0"):
        assert not holds_markers(other, []), other
    assert not holds_markers(f"tapelog-{RUN}-0.0", ["a note of somebody else"])
