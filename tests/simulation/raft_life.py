"""A life of a quorum from a seed: faults of every kind for a while, then peace, in which it must recover."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.raft_world import CONFIG, Node, World

FAULTY_MS = 5000
PEACE_MS = 8000


class Life(World):
    """What happens is drawn from the seed: how many nodes, how bad the net, which faults."""

    def __init__(self, seed: int) -> None:
        shape = 5 if seed % 10 == 9 else (3, 3, 3, 5, 4, 1, 2)[seed % 7]
        super().__init__(seed, nodes=shape, spares=(0, 1, 2)[seed // 7 % 3] or int(seed % 5 == 4), wire=seed % 8 == 0)
        self.loss_percent = (0, 0, 2, 10)[self.entropy.below(4)]
        self.duplicate_percent = (0, 5, 20)[self.entropy.below(3)]
        self.late_percent = (0, 2, 10)[self.entropy.below(3)]
        self.disk_full_percent = (0, 0, 0, 2)[self.entropy.below(4)]
        self.faults: list[tuple[int, Callable[[], None]]] = [
            (5, self.crash_one),
            (6, self.cut_one),
            (3, self.cut_half),
            (6, self.heal),
            (3, self.pause_one),
            (2, self.crash_all),
            (6, self.restart_one),
            (2, self.stop_leader),
            (3, self.take_snapshot),
            (2, self.wipe_one),
            (4, self.change_voters),
            (2, self.slow_one),
            (1, self.crash_leader),
        ]
        self.crash_after_vote_percent = (0, 0, 30)[self.entropy.below(3)]
        self.latency_ms = (6, 6, 30, 120)[self.entropy.below(4)]
        if seed % 6 == 3:  # who is no voter asks to be one
            self.config = CONFIG._replace(auto_join=True)
        if seed % 5 == 4:
            self.faults += [(20, self.fidget), (8, self.cut_half), (4, self.take_snapshot)]
            self.removable_from = 3
        self.total = sum(weight for weight, _ in self.faults)

    def live(self) -> None:
        """All of it; AssertionError names what broke."""
        for node in self.nodes:
            node.boot()
        end_ms = self.clock.monotonic_ms() + FAULTY_MS
        while self.clock.monotonic_ms() < end_ms:
            self.run(self.entropy.below(120))
            for node in self.nodes:
                if node.raft is not None and node.raft.is_leader and self.entropy.chance(60):
                    self.propose(node)
            if self.entropy.chance(45):
                self.some_fault()
            self.check_logs()
        self.peace()

    def some_fault(self) -> None:
        """One of them."""
        number = self.entropy.below(self.total)
        for weight, fault in self.faults:
            if number < weight:
                fault()
                return
            number -= weight

    def peace(self) -> None:
        """No more faults: within bounded time somebody leads, commits, and everybody hears of it."""
        self.note("peace")
        self.cuts.clear()
        self.loss_percent = self.duplicate_percent = self.late_percent = self.disk_full_percent = 0
        self.crash_after_vote_percent, self.latency_ms = 0, 6
        for node in self.nodes:
            node.paused_until_ms, node.slow = 0, False
            if node.raft is None:
                node.boot()
        assert self.run(PEACE_MS, lambda: self.leader() is not None), "nobody leads"
        goal = [0]

        def caught_up() -> bool:
            leader = self.leader()
            if leader is None or leader.raft is None:
                return False
            if self.leaders_of_goal != leader.epoch_led:
                self.leaders_of_goal = leader.epoch_led
                goal[0] = self.propose(leader)
            return all(node.raft is not None and node.applied >= goal[0] for node in self.nodes)

        self.leaders_of_goal = -1
        assert self.run(PEACE_MS, caught_up), f"no progress: {[(n.id, n.applied) for n in self.nodes]} of {goal}"
        self.check_logs()
        assert len({node.state for node in self.nodes if node.applied == goal[0]}) <= 1

    # -- faults

    def up(self) -> list[Node]:
        """Nodes with a process."""
        return [node for node in self.nodes if node.raft is not None]

    def any(self, nodes: list[Node]) -> Node | None:
        """One of them, if there is any."""
        return nodes[self.entropy.below(len(nodes))] if nodes else None

    def crash_one(self) -> None:
        node = self.any(self.up())
        if node is not None:
            self.count("crash")
            node.crash()
            if self.entropy.chance(50):
                self.at(self.entropy.below(1000), None, lambda: node.boot() if node.raft is None else None)

    def crash_leader(self) -> None:
        node = self.leader()
        if node is not None:
            self.count("leader crash")
            node.crash()

    def crash_all(self) -> None:
        self.count("all crash")
        for node in self.up():
            node.crash()
            self.at(self.entropy.below(300), None, lambda node=node: node.boot() if node.raft is None else None)  # type: ignore[misc]

    def restart_one(self) -> None:
        node = self.any([node for node in self.nodes if node.raft is None])
        if node is not None:
            node.boot()

    def stop_leader(self) -> None:
        node = self.leader()
        if node is not None and node.raft is not None:
            self.count("clean stop")
            node.raft.stop()
            self.run(20)
            node.crash()

    def cut_one(self) -> None:
        node = self.any(self.nodes)
        assert node is not None
        way = self.entropy.below(3)
        self.count(("cut", "deaf", "mute")[way])
        for other in self.nodes:
            if other is not node:
                if way in (0, 1):
                    self.cuts[(other.id, node.id)] = None
                if way in (0, 2):
                    self.cuts[(node.id, other.id)] = None

    def cut_half(self) -> None:
        self.count("split")
        left = [node.id for node in self.nodes if self.entropy.chance(50)]
        one_way = self.entropy.chance(40)
        for node in self.nodes:
            for other in self.nodes:
                if node.id in left and other.id not in left:
                    self.cuts[(node.id, other.id)] = None
                    if not one_way:
                        self.cuts[(other.id, node.id)] = None

    def heal(self) -> None:
        self.cuts.clear()

    def pause_one(self) -> None:
        node = self.leader() if self.entropy.chance(50) else self.any(self.up())
        if node is not None:
            self.count("pause")
            node.paused_until_ms = self.clock.monotonic_ms() + self.entropy.below(2000)

    def fidget(self) -> None:
        """A restless administrator, who does not wait for answers."""
        for _ in range(1 + self.entropy.below(4)):
            self.change_voters()

    def slow_one(self) -> None:
        node = self.any(self.nodes)
        if node is not None:
            self.count("slow disk")
            node.slow = not node.slow

    def take_snapshot(self) -> None:
        for node in self.up():
            if self.entropy.chance(50):
                node.snapshot()

    def wipe_one(self) -> None:
        """A disk is lost: at most one among the voters that anybody knows of, and nobody is away."""
        if len(self.up()) < len(self.nodes):
            return
        known = [voter for node in self.up() if node.raft for voter in node.raft.voters.voters.values()]
        committed = [
            voter
            for node in self.up()
            if node.raft and (voters := node.raft.voters_at(node.applied))
            for voter in voters.voters.values()
        ]
        if any(voter.key in self.lost_keys for voter in (*known, *committed)):
            return
        if any(node.raft is not None and len(node.raft.voters) < 3 for node in self.up()):
            return
        node = self.any(self.up())
        assert node is not None
        self.count("wiped disk")
        self.lost_keys[node.key] = None
        node.wipe()
        node.boot()


def tell_history(seed: int) -> str:
    """Everything worth telling of a life, and every log at its end."""
    life = Life(seed)
    life.live()
    logs = [f"{node.id} {node.state} {[entry[:3] for entry in node.log.entries]}" for node in life.nodes]
    return "\n".join([*life.trace, *logs])
