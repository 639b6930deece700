"""What goes wrong in a simulated cluster, and how it is put right again after a while.

Each fault picks its victim by chance, says what it does, and arranges for its own end. `calm` ends all of them.
`allowed` keeps wiped disks and damaged files within what replication promises to survive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tapelog.base.ports import DiskError
from tapelog.sim.cluster import Cluster
from tapelog.sim.disk import SimDisk
from tapelog.sim.machine import DIRECTORY, Machine
from tapelog.sim.replacing import Replacing
from tapelog.sim.rot import rot

DOWN_MS_MAX: Final = 2500
LONG_MS_MAX: Final = 6000
SLOW_FLUSH_MS_MAX: Final = 400
STOP_MS_MAX: Final = 5000
JUMP_MS_MAX: Final = 7_200_000


class Faults:
    """Faults of a Cluster; `note` gets a line for each."""

    def __init__(self, cluster: Cluster, note: Callable[[str], None]) -> None:
        self.cluster = cluster
        self.world = cluster.world
        self.net = cluster.net
        self.entropy = cluster.entropy.fork()
        self.note = note
        self.over = False
        self.wiped = 0
        self.replacing: Replacing | None = None
        self._crippled: dict[tuple[Machine, int], None] = {}
        """Machines, and in which of their lives, that serve without one of their directories."""
        self._fragile: Machine | None = None
        """A machine that has lost data and must get it back from the others before anything else may happen."""

    # -- processes and machines

    def kill(self) -> None:
        """kill -9."""
        machine = self._up()
        if machine is not None:
            self._kill(machine, self._while())

    def power_cut(self) -> None:
        """The machine loses its power."""
        machine = self._up()
        if machine is not None:
            self._cut_power(machine, self._while())

    def many_down(self) -> None:
        """A majority, or everybody, at once."""
        machines = self.cluster.machines
        count = len(machines) // 2 + 1 + self.entropy.below(len(machines) - len(machines) // 2)
        power, for_ms = self.entropy.chance(60), self._while()
        self.note(f"{count} nodes at once")
        for machine in machines[:count]:
            if machine.up:
                how = self._cut_power if power else self._kill
                how(machine, for_ms + self.entropy.below(300))

    def pause(self) -> None:
        """SIGSTOP for a while: long enough, sometimes, that others take over."""
        machine = self._up()
        if machine is None or machine.paused:
            return
        for_ms = 1 + self.entropy.below(LONG_MS_MAX if self.entropy.chance(40) else 600)
        self.note(f"{machine.name} is stopped for {for_ms}")
        machine.pause()
        boot = machine.boots
        self.world.after(for_ms, lambda: self._go_on(machine, boot))

    def stop(self) -> None:
        """SIGTERM, and a start after a while: one step of a rolling restart."""
        machine = self._up()
        if machine is not None and not machine.paused and not machine.leaving:
            self.note(f"{machine.name} shuts down")
            self._shut_down(machine, self.entropy.below(500))

    def wipe(self) -> None:
        """A machine comes back with an empty disk."""
        machine = self._up()
        if machine is None or self.wiped or not self.allowed(machine):
            return
        self.wiped += 1
        self.note(f"{machine.name} loses its disk")
        self.cluster.rare.count("wiped disk")
        machine.power_cut()
        machine.wipe()
        self._defuse()
        self._fragile = machine
        self._start_later(machine, self._while())
        self.replacing = Replacing(self.cluster, machine)

    def rot(self) -> None:
        """A process dies, and a bit of its files changes."""
        machine = self._up()
        if machine is None or not self.allowed(machine):
            return
        machine.kill()
        path = rot(machine.disk, DIRECTORY, self.entropy)
        if path is not None:
            self.cluster.rare.count("bit rot")
            self._defuse()
            self._fragile = machine
        self.note(f"{machine.name} is killed, and a bit flips in {path}")
        self._start_later(machine, self._while())

    def _defuse(self) -> None:
        """Copies may be lost: a failure that was prepared before and has not come yet must not take the others."""
        for machine in self.cluster.machines:
            for disk in machine.disks:
                disk.syncs_until_failure = None

    # -- net

    def isolate(self) -> None:
        """A node is cut off, from nodes, clients or both, in one direction or both."""
        machines, entropy = self.cluster.machines, self.entropy
        victim = machines[entropy.below(len(machines))].name
        ways = entropy.below(3)
        others = [other.name for other in machines if other.name != victim]
        if entropy.chance(40):
            others += [name for name in self.net.hosts if name.startswith("c-")]
        elif others and entropy.chance(30):
            others = [others[entropy.below(len(others))]]
        self.note(
            f"{victim} is cut off from {','.join(others)}: {('both ways', 'cannot send', 'cannot receive')[ways]}"
        )
        for other in others:
            if ways != 2:
                self.net.cut(victim, other)
            if ways != 1:
                self.net.cut(other, victim)
        self.world.after(1 + entropy.below(LONG_MS_MAX if entropy.chance(50) else 800), self.heal)

    def heal(self) -> None:
        """Every cut ends."""
        if not self.over:
            self.note("the net is whole")
        self.net.heal()

    def reset(self) -> None:
        """Streams of a host break."""
        names = list(self.net.hosts)
        name = names[self.entropy.below(len(names))]
        self.note(f"{self.net.reset(name)} streams of {name} break")

    def stall(self) -> None:
        """What is under way to a host takes long."""
        names = list(self.net.hosts)
        name, for_ms = names[self.entropy.below(len(names))], self.entropy.below(3000)
        self.note(f"what is under way to {name} takes {for_ms} more")
        self.net.stall(name, for_ms)

    # -- disks and clocks

    def fill_disk(self) -> None:
        """Hardly any space is left, for a while."""
        machine = self._any()
        disk = self._disk_of(machine)
        if disk.capacity_bytes is None:
            disk.capacity_bytes = disk.total_bytes() - disk.free_bytes() + self.entropy.below(2000)
            self.note(f"the disk of {machine.name} is almost full")
            self.cluster.rare.count("full disk")
            self.world.after(self._while(), lambda: self._make_room(machine))

    def break_sync(self) -> None:
        """A sync of the coming ones fails."""
        machine = self._any()
        self._disk_of(machine).syncs_until_failure = self.entropy.below(4)
        self.note(f"a sync of {machine.name} will fail")

    def break_directory(self) -> None:
        """A log directory, not the metadata's, cannot be read or written any more, until somebody has repaired it."""
        machine = self._up()
        if machine is not None and not machine.disks[-1].broken:
            self.note(f"the second disk of {machine.name} breaks")
            machine.disks[-1].broken = True

    def slow_disk(self) -> None:
        """Flushes take long, for a while."""
        machine = self._any()
        machine.disk.flush_ms_max = 1 + self.entropy.below(SLOW_FLUSH_MS_MAX)
        self.note(f"flushes of {machine.name} take up to {machine.disk.flush_ms_max}")
        self.world.after(self._while(), lambda: _quick(machine))

    def clocks(self) -> None:
        """A wall clock jumps, or a machine's time goes faster or slower than that of others."""
        machine = self._any()
        if self.entropy.chance(50):
            by_ms = self.entropy.below(JUMP_MS_MAX) - JUMP_MS_MAX // 2
            machine.clock.jump_wall(by_ms)
            self.cluster.clocks_jumped = True
            self.note(f"the wall clock of {machine.name} jumps {by_ms}")
        else:
            pace = 900 + self.entropy.below(200)
            machine.clock.go_at(pace)
            machine.plan()
            self.note(f"the clock of {machine.name} goes at {pace}")

    # -- the end of it

    def after_step(self) -> None:
        """Nodes whose disk failed end themselves, and are started again."""
        for machine in self.cluster.machines:
            if machine.failure is not None and machine.up and not machine.paused:
                self.cluster.rare.count("fsync error")
                self._cut_power(machine, 0 if self.over else self._while())
            elif machine.crippled and (machine, machine.boots) not in self._crippled:
                self._crippled[machine, machine.boots] = None
                self.cluster.rare.count("log directory fails")
                boot = machine.boots
                self.world.after(0 if self.over else self._while(), lambda m=machine, b=boot: self._mend(m, b))  # type: ignore[misc]

    def calm(self) -> None:
        """No more faults: everything is repaired and started."""
        self.over = True
        self.net.heal()
        for machine in self.cluster.machines:
            machine.mend_disks()
            if machine.crippled:
                self._kill(machine, 0)
            _quick(machine)
            if machine.paused:
                machine.go_on()
            if not machine.up:
                self.cluster.start(machine)
        self.cluster.promises.after_event()  # before anybody hears of what they did at once

    def allowed(self, victim: Machine) -> bool:
        """Whether everything that is committed is on the disk of somebody else who counts, too."""
        if len(self.cluster.machines) < 3 or self.fragile or not self.cluster.serving():
            return False
        for machine in self.cluster.machines:
            if machine.crippled or any(disk.broken for disk in machine.disks):  # to be repaired, it must be killed
                return False
            assert machine.core is not None
            for topic in machine.core.image.topics.values():
                for part in topic.partitions:
                    if victim.node_id in part.replicas and len(part.isr) < 2:
                        return False
        return True

    # -- inside

    @property
    def fragile(self) -> bool:
        """Whether a further fault could destroy the last copy of something."""
        victim = self._fragile
        replaced = self.replacing is None or self.replacing.done
        if victim is not None and victim.up and replaced and self.cluster.serving() and self._in_sync(victim):
            self._fragile = None
        return self._fragile is not None

    def _in_sync(self, victim: Machine) -> bool:
        for machine in self.cluster.machines:
            assert machine.core is not None
            for topic in machine.core.image.topics.values():
                for part in topic.partitions:
                    if victim.node_id in part.replicas and victim.node_id not in part.isr:
                        return False
        return True

    def _any(self) -> Machine:
        return self.cluster.machines[self.entropy.below(len(self.cluster.machines))]

    def _up(self) -> Machine | None:
        up = [machine for machine in self.cluster.machines if machine.up]
        return up[self.entropy.below(len(up))] if up else None

    def _while(self) -> int:
        return 1 + self.entropy.below(DOWN_MS_MAX)

    def _kill(self, machine: Machine, for_ms: int) -> None:
        self.note(f"{machine.name} is killed for {for_ms}")
        machine.kill()
        self._start_later(machine, for_ms)

    def _cut_power(self, machine: Machine, for_ms: int) -> None:
        self.note(f"{machine.name} loses its power for {for_ms}")
        machine.power_cut()
        self.cluster.rare.count("lost rename", sum(len(disk.lost_renames) for disk in machine.disks))
        self._start_later(machine, for_ms)

    def _start_later(self, machine: Machine, in_ms: int) -> None:
        machine.disk.capacity_bytes = machine.disk.syncs_until_failure = None
        for disk in machine.others.values():
            disk.capacity_bytes = disk.syncs_until_failure = None
        self.world.after(in_ms, lambda: self.cluster.start(machine))

    def _go_on(self, machine: Machine, boot: int) -> None:
        if machine.paused and machine.boots == boot:
            self.note(f"{machine.name} goes on")
            machine.go_on()

    def _shut_down(self, machine: Machine, down_ms: int) -> None:
        boot = machine.boots

        def ended() -> None:
            if machine.up and machine.boots == boot:
                try:
                    machine.stop()
                except DiskError:
                    machine.kill()
                self._start_later(machine, down_ms)

        machine.shut_down(ended)
        self.world.after(STOP_MS_MAX, lambda: self._insist(machine, boot, down_ms))

    def _insist(self, machine: Machine, boot: int, down_ms: int) -> None:
        if machine.up and machine.boots == boot:
            self._kill(machine, down_ms)

    def _make_room(self, machine: Machine) -> None:
        for disk in machine.disks:
            disk.capacity_bytes = None

    def _disk_of(self, machine: Machine) -> SimDisk:
        """One of its disks."""
        disks = machine.disks
        return disks[self.entropy.below(len(disks))] if len(disks) > 1 else disks[0]

    def _mend(self, machine: Machine, boot: int) -> None:
        """Somebody repaired the directory, and starts the node again."""
        if machine.up and machine.boots == boot and not machine.paused:
            self.note(f"the disks of {machine.name} are repaired")
            machine.mend_disks()
            self._kill(machine, self.entropy.below(300))
        elif machine.up and machine.boots == boot:
            self.world.after(100, lambda: self._mend(machine, boot))


def _quick(machine: Machine) -> None:
    for disk in machine.disks:
        disk.flush_ms_max = 5
