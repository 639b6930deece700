"""The topics that groups watch: a change is told to whom it concerns, and costs nobody else anything."""

from __future__ import annotations

from tapelog.coordinators.consumer.watch import NEWS_MAX, TopicWatch
from tests.unit.coordinators.bench import BenchTopics


def test_the_hash_changes_with_what_assignment_depends_on() -> None:
    topics = BenchTopics({"orders": 4, "events": 2})
    watch = TopicWatch(topics)
    first = watch.hash_of(["orders", "events"])
    assert first != 0
    assert watch.hash_of(["events", "orders"]) == first, "order does not matter"
    assert watch.hash_of(["orders", "events", "nothing"]) == first, "what does not exist does not matter"
    seen = {first}
    for change in (
        lambda: topics.create("orders", 5),
        lambda: topics.delete("events"),
        lambda: topics.create("events", 2),
        lambda: topics.rack_names.update(orders=[frozenset({"east"})]),
    ):
        change()
        watch.changed(["orders", "events"])
        seen.add(watch.hash_of(["orders", "events"]))
    assert len(seen) == 5


def test_no_topics_have_no_hash() -> None:
    assert TopicWatch(BenchTopics({})).hash_of(["orders"]) == 0


def test_hashes_are_kept_until_there_is_news() -> None:
    topics = BenchTopics({"orders": 4})
    watch = TopicWatch(topics)
    first = watch.hash_of(["orders"])
    topics.counts["orders"] = 5
    assert watch.hash_of(["orders"]) == first
    watch.all_changed()
    assert watch.hash_of(["orders"]) != first


def test_news_are_what_changed_since() -> None:
    watch = TopicWatch(BenchTopics({}))
    assert watch.news_since(watch.count) == []
    before = watch.count
    watch.changed(["a", "b"])
    watch.changed(["c"])
    assert watch.news_since(before) == ["a", "b", "c"]
    assert watch.news_since(before + 2) == ["c"]


def test_too_many_news_are_not_told_one_by_one() -> None:
    watch = TopicWatch(BenchTopics({}))
    before = watch.count
    watch.changed([f"t{number}" for number in range(NEWS_MAX + 1)])
    assert watch.news_since(before) is None
    assert watch.news_since(before + 1) is not None
    before = watch.count
    watch.all_changed()
    assert watch.news_since(before) is None
    watch.changed(["a"])
    assert watch.news_since(watch.count - 1) == ["a"]


def test_racks_are_looked_up_where_they_matter() -> None:
    topics = BenchTopics({"orders": 2})
    topics.rack_names["orders"] = [frozenset({"east"}), frozenset({"west"})]
    watch = TopicWatch(topics)
    with_racks, without = watch.spec_of("orders", True), watch.spec_of("orders", False)
    assert with_racks is not None and without is not None
    assert with_racks.racks == (frozenset({"east"}), frozenset({"west"}))
    assert without.racks == ()
    assert watch.spec_of("nothing", True) is None
