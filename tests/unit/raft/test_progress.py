"""What a leader concludes from the fetches of the others."""

from __future__ import annotations

from tapelog.raft import progress
from tapelog.raft.progress import OBSERVER_EXPIRY_MS, Progress
from tapelog.raft.values import ReplicaKey
from tapelog.raft.voters import Voter, VoterSet

ME, SECOND, THIRD, FOURTH, FIFTH = (ReplicaKey(id, bytes([id]) * 16) for id in range(1, 6))
BEGAN_MS = 1000


def voters(*keys: ReplicaKey) -> VoterSet:
    return VoterSet(Voter(key) for key in keys)


def leader(*keys: ReplicaKey) -> Progress:
    """A new leader of these voters, who have not spoken yet."""
    return Progress(ME, voters(*(keys or (ME, SECOND, THIRD))), BEGAN_MS)


def fetched(of: Progress, key: ReplicaKey, offset: int, leader_end: int, at_ms: int) -> None:
    of.fetched(key, offset, leader_end, at_ms, at_ms + 50_000)


def test_what_a_majority_has_on_disk_can_be_committed() -> None:
    of = leader(ME, SECOND, THIRD, FOURTH, FIFTH)
    assert of.committable(10) == -1, "nobody has spoken"
    fetched(of, SECOND, 7, 10, BEGAN_MS)
    assert of.committable(10) == -1
    fetched(of, THIRD, 4, 10, BEGAN_MS)
    assert of.committable(10) == 4
    fetched(of, FOURTH, 9, 10, BEGAN_MS)
    assert of.committable(10) == 7
    assert of.committable(3) == 4, "its own disk is one of them"


def test_a_late_smaller_claim_takes_nothing_back() -> None:
    of = leader()
    fetched(of, SECOND, 7, 10, BEGAN_MS)
    fetched(of, SECOND, 5, 10, BEGAN_MS + 1)
    assert of.committable(10) == 7


def test_a_leader_that_does_not_vote_counts_the_voters_only() -> None:
    of = Progress(ME, voters(SECOND, THIRD, FOURTH), BEGAN_MS)
    fetched(of, SECOND, 8, 10, BEGAN_MS + 5)
    assert of.committable(10) == -1
    fetched(of, THIRD, 6, 10, BEGAN_MS + 9)
    assert of.committable(10) == 6
    assert of.majority_fetched_ms(BEGAN_MS + 20) == BEGAN_MS + 5


def test_a_majority_was_there_when_the_last_voter_of_it_fetched() -> None:
    of = leader(ME, SECOND, THIRD, FOURTH, FIFTH)
    assert of.majority_fetched_ms(BEGAN_MS + 100) == BEGAN_MS, "everybody gets the benefit of the beginning"
    for key, after in ((SECOND, 10), (THIRD, 30), (FOURTH, 20)):
        fetched(of, key, 1, 1, BEGAN_MS + after)
    assert of.majority_fetched_ms(BEGAN_MS + 100) == BEGAN_MS + 20
    assert leader(ME).majority_fetched_ms(BEGAN_MS + 100) == BEGAN_MS + 100


def test_a_replica_with_all_there_is_has_caught_up_now() -> None:
    of = leader()
    fetched(of, SECOND, 10, 10, BEGAN_MS)
    assert of.replicas[SECOND].caught_up_wall_ms == BEGAN_MS + 50_000


def test_a_replica_with_all_there_was_had_caught_up_then() -> None:
    of = leader()
    fetched(of, SECOND, 4, 10, BEGAN_MS)
    assert of.replicas[SECOND].caught_up_wall_ms == -1, "it had fetched nothing before"
    fetched(of, SECOND, 9, 20, BEGAN_MS + 10)
    assert of.replicas[SECOND].caught_up_wall_ms == -1, "one was missing of what there was"
    fetched(of, SECOND, 20, 30, BEGAN_MS + 25)
    assert of.replicas[SECOND].caught_up_wall_ms == BEGAN_MS + 10 + 50_000
    fetched(of, SECOND, 21, 40, BEGAN_MS + 30)
    assert of.replicas[SECOND].caught_up_wall_ms == BEGAN_MS + 10 + 50_000, "it falls behind"


def test_voters_are_silent_until_they_have_fetched_and_since_they_fetched_last() -> None:
    of = leader()
    assert of.silent_voters(0) == [SECOND, THIRD]
    fetched(of, SECOND, 0, 10, BEGAN_MS + 5)
    assert of.silent_voters(BEGAN_MS + 5) == [THIRD]
    assert of.silent_voters(BEGAN_MS + 6) == [SECOND, THIRD]


def test_successors_are_named_from_the_furthest_on() -> None:
    of = leader(ME, SECOND, THIRD, FOURTH)
    fetched(of, THIRD, 9, 10, BEGAN_MS)
    assert of.by_end() == [THIRD, SECOND, FOURTH]


def test_who_becomes_a_voter_keeps_what_is_known_of_it() -> None:
    of = leader(ME, SECOND)
    fetched(of, THIRD, 9, 10, BEGAN_MS + 3)
    assert of.observers() == [THIRD]
    of.change_voters(voters(ME, SECOND, THIRD, FOURTH), BEGAN_MS + 8)
    assert of.observers() == []
    assert of.replicas[THIRD].end_offset == 9
    assert [of.replicas[key].fetched_ms for key in (SECOND, THIRD, FOURTH)] == [BEGAN_MS, BEGAN_MS + 3, BEGAN_MS + 8]
    of.change_voters(voters(ME, FOURTH), BEGAN_MS + 9)
    assert of.observers() == [SECOND, THIRD]


def test_observers_that_were_away_for_long_are_forgotten_when_a_new_one_comes() -> None:
    of = leader(ME, SECOND)
    fetched(of, THIRD, 1, 10, BEGAN_MS)
    fetched(of, FOURTH, 1, 10, BEGAN_MS + 1)
    fetched(of, FIFTH, 1, 10, BEGAN_MS + OBSERVER_EXPIRY_MS)
    assert of.observers() == [FOURTH, FIFTH]
    assert SECOND in of.replicas, "a voter is not"


def test_observers_are_bounded_and_voters_are_not_among_the_refused() -> None:
    of = leader(ME, SECOND)
    for number in range(progress.OBSERVERS_MAX + 5):
        fetched(of, ReplicaKey(100 + number, b"d" * 16), 1, 10, BEGAN_MS)
    assert len(of.replicas) == progress.OBSERVERS_MAX
    fetched(of, SECOND, 6, 10, BEGAN_MS)
    assert of.committable(10) == 6
