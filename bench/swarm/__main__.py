"""`python -m bench.swarm members|commits|fill|loaded|storm …`: one run against one broker; prints one JSON object."""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable

from bench.swarm import classic, consumer, offsets
from bench.swarm import storm as storms
from bench.swarm.links import Swarm

TIMEOUT_S = 120.0


def members(swarm: Swarm, args: argparse.Namespace) -> dict[str, float]:
    """A group of so many forms, then one more joins: how long until everybody has its assignment."""
    offsets.wait_for_coordinator(swarm, swarm.connect())
    group = f"swarm-{time.time_ns()}"
    links = [swarm.connect() for _ in range(args.members + 1)]
    if args.protocol == "classic":
        first = [classic.ClassicMember(swarm, link, group) for link in links[:-1]]
        form_s = swarm.run_until(lambda: classic.is_settled(first), TIMEOUT_S, "the group is formed")
        first.append(classic.ClassicMember(swarm, links[-1], group))
        return {"form_s": form_s, "rebalance_s": _timed(swarm, lambda: classic.is_settled(first))}
    second = [consumer.ConsumerMember(swarm, link, group, args.topic) for link in links[:-1]]
    partitions = args.partitions
    form_s = swarm.run_until(lambda: consumer.is_settled(second, partitions), TIMEOUT_S, "the group is formed")
    second.append(consumer.ConsumerMember(swarm, links[-1], group, args.topic))
    return {"form_s": form_s, "rebalance_s": _timed(swarm, lambda: consumer.is_settled(second, partitions))}


def _timed(swarm: Swarm, settled: Callable[[], bool]) -> float:
    return swarm.run_until(settled, TIMEOUT_S, "everybody has an assignment after one more joined")


def commits(swarm: Swarm, args: argparse.Namespace) -> dict[str, float]:
    """Commits of one partition for many groups in turn."""
    offsets.wait_for_coordinator(swarm, swarm.connect())
    requests = [offsets.commit_of(group, args.topic, 1) for group in range(args.groups)]
    run = offsets.Commits(swarm, itertools.cycle(requests))
    took = run.run(args.secs)
    return {"requests": float(run.answered), "elapsed_s": took}


def fill(swarm: Swarm, args: argparse.Namespace) -> dict[str, float]:
    """Every group commits once, for every partition."""
    offsets.wait_for_coordinator(swarm, swarm.connect())
    requests = (offsets.commit_of(group, args.topic, args.partitions) for group in range(args.groups))
    run = offsets.Commits(swarm, requests)
    took = run.run(float("inf"))
    return {"requests": float(run.answered), "elapsed_s": took}


def loaded(swarm: Swarm, args: argparse.Namespace) -> dict[str, float]:
    """How long until committed offsets of all groups are told."""
    return {"loaded_s": offsets.wait_loaded(swarm, args.groups, args.topic, TIMEOUT_S)}


def storm(swarm: Swarm, args: argparse.Namespace) -> dict[str, float]:
    """Members come and go: how long each partition stood still."""
    offsets.wait_for_coordinator(swarm, swarm.connect())
    return storms.run(swarm, args.protocol, args.topic, args.members, args.partitions, args.secs)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.swarm", description=__doc__)
    runs: dict[str, Callable[[Swarm, argparse.Namespace], dict[str, float]]] = {
        "members": members,
        "commits": commits,
        "fill": fill,
        "loaded": loaded,
        "storm": storm,
    }
    parser.add_argument("run", choices=sorted(runs))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--topic", default="events")
    parser.add_argument("--protocol", choices=("classic", "consumer"), default="consumer")
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=2000)
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--secs", type=float, default=3.0)
    args = parser.parse_args()
    print(json.dumps(runs[args.run](Swarm(args.port), args)))


if __name__ == "__main__":
    main()
