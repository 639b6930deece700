"""What is wrong with a cluster is seen, counted and drawn."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from tapelog.cli.cluster_state import Broker, ClusterState, Partition, Quorum, Voter, document
from tapelog.cli.cluster_view import BAR, bar, drawn
from tapelog.cli.output import CliError
from tapelog.cli.raw import Node
from tapelog.cli.rebalance import planned, refuse_moving, returning
from tapelog.cli.rebalance_plan import Move


def brokers(*fenced: int) -> tuple[Broker, ...]:
    return tuple(Broker(Node(i, "h", 9090 + i), f"rack-{i}", i in fenced) for i in (1, 2, 3))


WELL = Partition("a", 0, 1, (1, 2, 3), (1, 2, 3))
UNDER = Partition("a", 1, 2, (2, 3, 1), (2, 1))
OFFLINE = Partition("b", 0, -1, (3,), (3,))
MOVING = Partition("b", 1, 1, (1, 2, 3), (1, 2), adding=(3,), removing=(2,))
ELSEWHERE = Partition("c", 0, 2, (1, 2), (1, 2))
QUORUM = Quorum(
    2, 7, 100, (Voter(1, b"", 90, 10, 1, 1), Voter(2, b"", 100, 0, 1, 1), Voter(3, b"", -1, 100, -1, -1)), ()
)


def state(*partitions: Partition, fenced: tuple[int, ...] = ()) -> ClusterState:
    sizes = {(broker, one.topic, one.index): 1000 for one in partitions for broker in one.isr}
    return ClusterState("id", 1, brokers(*fenced), partitions, QUORUM, sizes)


def text_of(shown: ClusterState) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    for part in drawn(shown):
        console.print(part)
    return console.export_text()


def test_partitions_are_sorted_out_by_what_is_wrong_with_them() -> None:
    found = state(WELL, UNDER, OFFLINE, MOVING, ELSEWHERE)
    assert found.offline == [OFFLINE]
    assert found.under_replicated == [UNDER]
    assert found.moving == [MOVING], "a replica that is still being copied is not missing"
    assert found.not_preferred == [ELSEWHERE]


def test_partitions_that_refuse_writes_are_told_apart() -> None:
    refuses = replace(UNDER, isr=(2,), min_isr=2)
    writable, offline = replace(UNDER, min_isr=2), replace(OFFLINE, isr=(), min_isr=2)
    small = Partition("d", 0, 1, (1,), (1,), min_isr=2)
    found = state(refuses, writable, offline, small)
    assert found.below_min_isr == [refuses], "as many as there are replicas are enough"
    told = document(found)["below_min_isr"]
    assert told == [
        {"topic": "a", "partition": 1, "leader": 2, "replicas": [2, 3, 1], "isr": [2], "missing": [3, 1], "min_isr": 2}
    ]
    assert "1 partition below min.insync.replicas: writes with acks=all are refused" in text_of(found)
    assert "min.insync" not in text_of(state(writable))


def test_unclean_elections_are_counted_if_there_were_any() -> None:
    def quorum(count: int | None) -> ClusterState:
        return replace(state(WELL), quorum=replace(QUORUM, unclean_elections=count))

    assert "2 unclean elections so far: acknowledged records may be gone" in text_of(quorum(2))
    assert document(quorum(2))["unclean_elections"] == 2
    for none in (0, None):
        assert "unclean" not in text_of(quorum(none)) and document(quorum(none))["unclean_elections"] == none


def test_brokers_lead_hold_and_fill_disks() -> None:
    found = state(WELL, UNDER, fenced=(3,))
    assert [len(found.led_by(i)) for i in (1, 2, 3)] == [1, 1, 0]
    assert found.bytes_on(1) == 2000 and found.bytes_on(3) == 1000
    assert found.size_of(UNDER) == 1000


def test_a_node_with_a_new_disk_is_seen_not_to_vote() -> None:
    old_of_1 = Voter(1, b"old", 90, 10, 0, 0)
    returned = Quorum(2, 7, 100, QUORUM.voters, (Voter(3, b"new", 100, 0, 1, 1), Voter(4, b"", 100, 0, 1, 1), old_of_1))
    found = ClusterState("id", 1, brokers(), (WELL,), returned)
    assert found.voiceless == [3] and found.gone == []
    assert "node 3 has a new disk and does not vote" in text_of(found)
    assert state(WELL, fenced=(3,)).gone == [3] and state(WELL).voiceless == []


def test_a_single_voter_among_several_brokers_is_pointed_out() -> None:
    alone = Quorum(2, 7, 100, QUORUM.voters[1:2], QUORUM.voters[::2])
    assert "node 2 alone votes" in text_of(ClusterState("id", 1, brokers(), (WELL,), alone))
    assert "alone votes" not in text_of(ClusterState("id", 1, brokers()[:2], (WELL,), alone)), "two would be worse"
    assert "alone votes" not in text_of(state(WELL))


def test_cordoned_brokers_are_told_and_get_nothing() -> None:
    three = brokers()
    cordoned = (*three[:2], Broker(three[2].node, three[2].rack, cordoned=True))
    parts = tuple(Partition("a", index, 1, (1,), (1,)) for index in range(6))
    found = ClusterState("id", 1, cordoned, parts)
    assert "up, cordoned" in text_of(found)
    assert {broker for move in planned(found) for broker in move.added} == {2}
    assert {broker for move in planned(found, leave=[1], only_leave=True) for broker in move.added} == {2}
    assert {broker for move in planned(ClusterState("id", 1, three, parts)) for broker in move.added} == {2, 3}


def test_a_healthy_cluster_is_said_to_be_so() -> None:
    assert "every partition has a leader, and all its replicas are in sync" in text_of(state(WELL))


def test_the_picture_names_what_is_not_well() -> None:
    text = text_of(state(WELL, UNDER, OFFLINE, MOVING, fenced=(3,)))
    assert "2 of 3 brokers up" in text and "fenced" in text
    assert "1 partition without a leader" in text and "b:0" in text
    assert "1 partition under-replicated" in text and "a:1" in text
    assert "1 partition on the move" in text
    assert "★ 2" in text and "10 behind" in text and "never seen" in text


def test_the_document_is_json_and_complete() -> None:
    found = json.loads(json.dumps(document(state(WELL, UNDER, OFFLINE, MOVING, fenced=(3,)))))
    assert found["controller"] == 2, "the quorum's leader is the active controller"
    assert [one["state"] for one in found["brokers"]] == ["up", "up", "fenced"]
    assert [one["partition"] for one in found["under_replicated"]] == [1]
    assert found["offline"][0]["leader"] is None
    assert found["moving"][0]["adding"] == [3]


def test_bars_are_in_proportion_and_hide_nothing() -> None:
    assert bar(2, 4, 0, 6).plain == "██▒▒▒▒"
    assert len(bar(1000, 2000, 1, 3001).plain) <= BAR + 2
    assert len(bar(1000, 2000, 1, 3001).plain) >= 3
    assert bar(0, 0, 0, 0).plain == ""


def test_a_quorum_that_does_not_answer_comes_first_and_nothing_is_said_to_be_well() -> None:
    three = brokers()
    deaf = (three[0], replace(three[1], silent=True), replace(three[2], silent=True))
    lost = ClusterState(
        "id", 1, deaf, (WELL, replace(WELL, leader=2)), quorum_error="no controller answered within 5 s"
    )
    text = text_of(lost)
    assert "✔" not in text and "1 of 3 brokers up" in text and text.count("no answer  ") == 2
    second = text.splitlines()[1]
    assert "the metadata quorum does not answer (no controller answered within 5 s)" in second
    assert "no answer from brokers 2, 3" in text and "`tape node DIR/node-2`, `tape node DIR/node-3`" in text
    assert "1 partition led by brokers that do not answer" in text
    told = document(lost)
    assert told["quorum_lost"] and [one["state"] for one in told["brokers"]] == ["up", "unreachable", "unreachable"]  # type: ignore[attr-defined]


def test_a_quorum_without_leader_or_majority_is_lost() -> None:
    three = brokers()
    assert state(WELL).quorum_lost is None
    assert "has no leader" in str(replace(state(WELL), quorum=replace(QUORUM, leader=-1)).quorum_lost)
    one = (replace(three[0], silent=True), *three[1:])
    assert replace(state(WELL), brokers=one).quorum_lost is None
    two = (one[0], three[1], replace(three[2], fenced=True))
    assert "voters 1,3 do not answer" in str(replace(state(WELL), brokers=two).quorum_lost)
    in_step = replace(QUORUM, voters=tuple(replace(voter, behind=0) for voter in QUORUM.voters))
    assert replace(state(WELL), brokers=two, quorum=in_step).quorum_lost is None, "only we cannot reach them"


def test_a_broker_that_is_not_there_comes_with_what_to_do() -> None:
    assert "not there (fenced): broker 3; if down, start it again: `tape node DIR/node-3`" in text_of(
        state(WELL, fenced=(3,))
    )


def test_preferred_leaders_that_do_not_lead_are_part_of_the_plan() -> None:
    found = state(WELL, ELSEWHERE)
    assert returning(found, []) == [("c", 0)]
    assert returning(found, [Move("c", 0, (1, 2), (2, 1), 0)]) == [], "it changes anyway"
    deaf = (replace(found.brokers[0], silent=True), *found.brokers[1:])
    assert returning(replace(found, brokers=deaf), []) == []


def test_without_a_quorum_nothing_is_planned() -> None:
    refuse_moving(state(WELL))
    three = brokers()
    lost = ClusterState("id", 1, (three[0], replace(three[1], silent=True)), (WELL,), quorum_error="no answer")
    with pytest.raises(CliError, match="the metadata quorum does not answer") as told:
        refuse_moving(lost)
    assert "tape node DIR/node-2" in told.value.hint


def test_brokers_that_do_not_answer_get_nothing() -> None:
    three = brokers()
    parts = tuple(Partition("a", index, 1, (1,), (1,)) for index in range(6))
    deaf = ClusterState("id", 1, (*three[:2], replace(three[2], silent=True)), parts)
    assert {broker for move in planned(deaf) for broker in move.added} == {2}


def test_internal_topics_are_counted_when_there_are_many_and_users_come_first() -> None:
    many = [Partition("__consumer_offsets", index, 2, (2, 3), (2,)) for index in range(50)]
    text = text_of(state(*many, UNDER))
    assert "51 partitions under-replicated" in text and "a:1" in text and "__consumer_offsets:" not in text
    assert "and 50 partitions of internal topics (__consumer_offsets): --all shows them" in text
    moved = [replace(MOVING, topic="__consumer_offsets", index=index) for index in range(30)]
    text = text_of(state(*moved, MOVING))
    assert "31 partitions on the move" in text and "b:1" in text, "also of those that move"
    few = text_of(state(*many[:3], UNDER))
    assert few.index("a:1") < few.index("__consumer_offsets:0")


def test_what_is_out_of_sync_looks_different_without_colours() -> None:
    assert bar(1, 2, 1, 4).plain == "█▒▒░"
