"""Staying in the set of voters: a voter that listens elsewhere says so; with `controller.quorum.auto.join.enable` a
controller that is no voter, and has caught up, asks to become one (KIP-1186). A disk that replaces another of the same
node first asks for the old one's removal. The leader decides; one asks again after a while.
"""

from __future__ import annotations

from tapelog.raft.quorum import Quorum
from tapelog.raft.roles import Follower, Role
from tapelog.raft.voters import KRAFT_VERSION_MAX
from tapelog.wire.message import Message
from tapelog.wire.messages.add_raft_voter_request import AddRaftVoterRequest
from tapelog.wire.messages.add_raft_voter_request import Listener as NewListener
from tapelog.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from tapelog.wire.messages.update_raft_voter_request import KRaftVersionFeature, UpdateRaftVoterRequest
from tapelog.wire.messages.update_raft_voter_request import Listener as UpdatedListener

ADD_VERSION = 1
REMOVE_VERSION = 0
UPDATE_VERSION = 0


class Joining:
    """A follower's requests about its own vote."""

    def __init__(self, quorum: Quorum) -> None:
        self.quorum = quorum

    def entered(self, role: Role) -> None:
        """The replica's role changed."""
        if isinstance(role, Follower) and self.quorum.endpoints:
            self._later()

    def _later(self) -> None:
        self.quorum.later(max(1, self.quorum.config.fetch_timeout_ms), self._look)

    def _look(self) -> None:
        quorum, role = self.quorum, self.quorum.role
        endpoint, request = quorum.leader_endpoint(), self._wish()
        if isinstance(role, Follower) and role.fetched and request is not None and endpoint is not None:
            message, version = request
            quorum.send_to(role.leader_id, endpoint, message, version, quorum.config.request_timeout_ms, _ignore)
        self._later()

    def _wish(self) -> tuple[Message, int] | None:
        quorum = self.quorum
        me, voter = quorum.me, quorum.voters.get(quorum.me.id)
        if voter is not None and voter.key == me:
            if voter.endpoints == quorum.endpoints:
                return None
            update = UpdateRaftVoterRequest(
                cluster_id=quorum.cluster_id,
                current_leader_epoch=quorum.epoch,
                voter_id=me.id,
                voter_directory_id=me.directory_id,
                listeners=[UpdatedListener(name=e.name, host=e.host, port=e.port) for e in quorum.endpoints],
                kraft_version_feature=KRaftVersionFeature(
                    min_supported_version=0, max_supported_version=KRAFT_VERSION_MAX
                ),
            )
            return update, UPDATE_VERSION
        if not quorum.config.auto_join or quorum.history.latest_offset < 0:
            return None
        if voter is not None:
            old = RemoveRaftVoterRequest(
                cluster_id=quorum.cluster_id, voter_id=voter.key.id, voter_directory_id=voter.key.directory_id
            )
            return old, REMOVE_VERSION
        add = AddRaftVoterRequest(
            cluster_id=quorum.cluster_id,
            timeout_ms=quorum.config.request_timeout_ms,
            voter_id=me.id,
            voter_directory_id=me.directory_id,
            listeners=[NewListener(name=e.name, host=e.host, port=e.port) for e in quorum.endpoints],
            ack_when_committed=False,
        )
        return add, ADD_VERSION


def _ignore(_: object) -> None:
    """Whatever came of it stands in the log."""
