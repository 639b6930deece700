"""The quorum-state file: Kafka's format, either version."""

from __future__ import annotations

import pytest

from tapelog.base import ids
from tapelog.raft import state_file
from tapelog.raft.state_file import ElectionState
from tapelog.raft.values import ReplicaKey

DIRECTORY = bytes(range(16))


def test_it_is_kafkas_and_reads_back() -> None:
    state = ElectionState(17, 3, ReplicaKey(2, DIRECTORY))
    data = state_file.render(state)
    assert data == (
        b'{"leaderId":3,"leaderEpoch":17,"votedId":2,"votedDirectoryId":"'
        + ids.to_text(DIRECTORY).encode()
        + b'","data_version":1}'
    )
    assert state_file.parse(data) == state


def test_nobody_voted_for_reads_back_as_nobody() -> None:
    assert state_file.parse(state_file.render(ElectionState(4))) == ElectionState(4, -1, None)


def test_the_file_of_a_static_quorum_is_read() -> None:
    data = (
        b'{"clusterId":"","leaderId":3,"leaderEpoch":17,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":3}],"data_version":0}'
    )
    assert state_file.parse(data) == ElectionState(17, 3, None)


@pytest.mark.parametrize("bad", [b"[]", b"{}", b"", b'{"leaderEpoch":"x"}'])
def test_anything_else_is_refused(bad: bytes) -> None:
    with pytest.raises(ValueError):
        state_file.parse(bad)
