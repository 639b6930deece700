"""What a replica remembers of an election across restarts: the `quorum-state` file, in Kafka's format.

Version 1 (voters have directory ids) is written; version 0 is read too. The vote in it is durable before it is told.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from tapelog.base import ids
from tapelog.raft.values import NO_NODE, ReplicaKey


class ElectionState(NamedTuple):
    """The epoch, its leader if known, and whom this replica voted for in it."""

    epoch: int = 0
    leader_id: int = NO_NODE
    voted: ReplicaKey | None = None


def render(state: ElectionState) -> bytes:
    """The content of the file."""
    voted = state.voted
    return json.dumps(
        {
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": voted.id if voted is not None else NO_NODE,
            "votedDirectoryId": ids.to_text(voted.directory_id if voted is not None else ids.ZERO),
            "data_version": 1,
        },
        separators=(",", ":"),
    ).encode()


def parse(data: bytes) -> ElectionState:
    """The inverse of render, for either version; ValueError if it is not such a file."""
    content = json.loads(data)
    if not isinstance(content, dict):
        raise ValueError("quorum-state is not an object")
    epoch, leader, voted = content.get("leaderEpoch"), content.get("leaderId"), content.get("votedId", NO_NODE)
    if type(epoch) is not int or type(leader) is not int or type(voted) is not int:
        raise ValueError("quorum-state lacks leaderEpoch, leaderId or votedId")
    directory = content.get("votedDirectoryId")
    key = ReplicaKey(voted, ids.from_text(directory) if isinstance(directory, str) else ids.ZERO)
    return ElectionState(epoch, leader, key if voted != NO_NODE else None)
