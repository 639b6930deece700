"""A voter whose disk was replaced has another directory id: an operator takes the old voter out and the new one in."""

from __future__ import annotations

from typing import Any, Final

from tapelog.base.ids import from_text
from tapelog.sim.cluster import Cluster
from tapelog.sim.machine import CLUSTER_ID, CONTROLLER, CONTROLLER_PORT, Machine
from tapelog.sim.wire import Wire
from tapelog.wire.errors import ErrorCode
from tapelog.wire.message import Message
from tapelog.wire.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from tapelog.wire.messages.remove_raft_voter_request import RemoveRaftVoterRequest

AGAIN_MS: Final = 300
TIMEOUT_MS: Final = 1500


class Replacing:
    """Asks one controller after the other until both changes are made."""

    def __init__(self, cluster: Cluster, machine: Machine) -> None:
        self.cluster = cluster
        self.machine = machine
        voter = next(voter for voter in machine.voters if voter.startswith(f"{machine.node_id}@"))
        self.old = from_text(voter.rpartition(":")[2])
        self.removed = False
        self.done = False
        self._turn = 0
        self._next()

    def _next(self) -> None:
        core = self.machine.core
        request: Message | None = None
        if not self.removed:
            request = RemoveRaftVoterRequest(CLUSTER_ID, self.machine.node_id, self.old)
        elif core is not None:
            listener = Listener(CONTROLLER, self.machine.name, CONTROLLER_PORT)
            id = core.directory.directory_id
            request = AddRaftVoterRequest(CLUSTER_ID, TIMEOUT_MS, self.machine.node_id, id, [listener])
        if request is None:
            self.cluster.world.after(AGAIN_MS, self._next)
            return
        machines = self.cluster.machines
        self._turn += 1
        target = machines[self._turn % len(machines)].name
        wire = Wire(self.cluster.world, self.cluster.net.of("c-operator"), target, CONTROLLER_PORT)
        wire.send(request, 0, TIMEOUT_MS, lambda response: self._answered(wire, response))

    def _answered(self, wire: Wire, response: Any) -> None:
        wire.drop("done")
        code = response.error_code if response is not None else ErrorCode.NETWORK_EXCEPTION
        if not self.removed:
            self.removed = code in (ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND)
        elif code in (ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER):
            self.done = True
            self.cluster.rare.count("voter replaced")
            return
        self.cluster.world.after(AGAIN_MS, self._next)
