"""Timelines against a model: a list of versions of a plain dict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tapelog.coordinators.timeline import Journal, Timeline

CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abc"), st.integers(1, 9)),
        st.tuples(st.just("remove"), st.sampled_from("abc"), st.just(0)),
        st.tuples(st.just("commit"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("revert"), st.integers(0, 5), st.just(0)),
    ),
    max_size=40,
)


@given(CHANGES)
def test_a_timeline_is_a_dict_with_a_past(changes: list[tuple[str, str | int, int]]) -> None:
    journal = Journal()
    timeline: Timeline[str, int] = Timeline(journal)
    versions: list[dict[str, int]] = [{}]
    committed = 0
    for what, argument, value in changes:
        end = len(versions) - 1
        if what == "put":
            timeline.put(end, str(argument), value)
            versions.append({**versions[-1], str(argument): value})
        elif what == "remove":
            timeline.remove(end, str(argument))
            versions.append({key: kept for key, kept in versions[-1].items() if key != argument})
        elif what == "commit":
            committed = min(end, committed + int(argument))
            journal.commit(committed)
        else:
            kept = max(committed, end - int(argument))
            journal.revert(kept)
            del versions[kept + 1 :]
        assert dict(timeline.items()) == versions[-1]
        assert dict(timeline.committed_items()) == versions[committed]
        for key in "abc":
            assert timeline.get(key) == versions[-1].get(key)
            assert timeline.committed(key) == versions[committed].get(key)
            assert (key in timeline) == (key in versions[-1])
        assert len(timeline) == len(versions[-1])


def test_what_is_committed_already_leaves_nothing_to_undo() -> None:
    journal = Journal()
    timeline: Timeline[str, int] = Timeline(journal)
    journal.commit(10)
    timeline.put(3, "a", 1)
    assert journal.size == 0
    timeline.put(10, "a", 2)
    assert journal.size == 1
    assert timeline.committed("a") == 1


def test_a_timeline_is_bare_only_when_nothing_can_come_back() -> None:
    journal = Journal()
    timeline: Timeline[str, int] = Timeline(journal)
    timeline.put(0, "a", 1)
    journal.commit(1)
    timeline.remove(1, "a")
    assert not timeline.bare
    journal.commit(2)
    assert timeline.bare
