"""Who voted when, as the log tells it."""

from __future__ import annotations

from tapelog.raft import control
from tapelog.raft.history import VoterHistory
from tapelog.raft.values import ReplicaKey
from tapelog.raft.voters import Voter, VoterSet

ONE, TWO, THREE = (VoterSet(Voter(ReplicaKey(id, b"d" * 16)) for id in range(1, size + 1)) for size in (1, 2, 3))


def batch(voters: VoterSet, offset: int) -> bytes:
    """A record about voters, as it stands in the log."""
    data = control.control_batch([control.voters_record(voters, 5)], 1)
    return offset.to_bytes(8, "big") + data[8:]


def test_without_a_record_the_configuration_counts() -> None:
    history = VoterHistory(ONE)
    assert (history.latest, history.latest_offset, history.before) == (ONE, -1, ONE)
    assert history.at(10) is None, "of which the log says nothing"


def test_each_record_replaces_what_was_before_it() -> None:
    history = VoterHistory(ONE)
    history.add(0, TWO)
    assert (history.latest, history.latest_offset, history.before) == (TWO, 0, ONE)
    assert history.append(batch(THREE, 7)) == 8
    assert (history.latest, history.latest_offset, history.before) == (THREE, 7, TWO)
    assert history.append(batch(ONE, 7)) == 8, "a batch that is known already"
    assert history.latest == THREE
    assert [history.at(end) for end in (0, 1, 7, 8)] == [None, TWO, TWO, THREE]


def test_what_is_cut_off_the_log_did_not_happen() -> None:
    history = VoterHistory(ONE)
    history.add(3, TWO)
    history.add(7, THREE)
    history.truncate(8)
    assert history.latest == THREE
    history.truncate(7)
    assert history.latest == TWO
    history.truncate(0)
    assert (history.latest, history.latest_offset) == (ONE, -1)


def test_a_snapshot_tells_who_voted_at_its_end() -> None:
    history = VoterHistory(ONE)
    history.add(3, TWO)
    history.add(7, THREE)
    history.install(5, b"")
    assert (history.latest, history.latest_offset) == (TWO, 4), "a snapshot that says nothing keeps what the log said"
    history.install(20, batch(THREE, 0))
    assert (history.latest, history.latest_offset, history.before) == (THREE, 19, ONE)
