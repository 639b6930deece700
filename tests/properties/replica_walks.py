"""Random walks of three replicas: what may happen to them, step by step."""

from __future__ import annotations

from tapelog.sim.entropy import SimEntropy
from tests.properties.replica_world import IDS, ReplicaWorld

STEPS = [
    *["produce"] * 8,
    *["pass"] * 10,
    *("kill", "power", "power", "restart", "restart", "restart", "move", "move", "checkpoint", "checkpoint", "loss"),
]


WITHOUT_POWER_CUTS = [name for name in STEPS if name != "power"]


def step(world: ReplicaWorld, name: str, number: int) -> None:
    """One of the steps."""
    id = IDS[number % 3]
    match name:
        case "produce":
            world.produce(number % 5 + 1)
        case "pass":
            world.pass_time(number % 40)
        case "kill":
            world.crash(id, False)
        case "power":
            world.crash(id, True)
        case "restart":
            world.restart(id)
        case "move":
            world.move_leader(number)
        case "checkpoint":
            world.checkpoint(id)
        case "loss":
            world.loss_percent = (0, 5, 30)[number // 3 % 3]


def run_seed(seed: int, steps: int, page_cache: bool = False) -> ReplicaWorld:
    """A random walk from a seed, and then peace."""
    world, chance = ReplicaWorld(seed, {"tapelog.flush": "page-cache"} if page_cache else None), SimEntropy(seed + 1)
    names = WITHOUT_POWER_CUTS if page_cache else STEPS
    for _ in range(steps):
        step(world, names[chance.below(len(names))], chance.below(100_000))
    world.heal()
    return world
