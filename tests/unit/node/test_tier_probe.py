"""Several clusters may have one bucket: nobody's probe is another's to take away."""

from __future__ import annotations

from tapelog.log.tier import scripts
from tapelog.log.tier.store import StoreError
from tapelog.node.tier import Tier
from tapelog.sim.objects import Bucket, SimStore
from tests.support.rig import Rig


def test_a_node_leaves_the_probe_of_another_clusters_node_of_its_number_alone() -> None:
    core = Rig().node.core
    assert core is not None
    bucket, names, ended = Bucket(), list[str](), list[StoreError | None]()
    store = SimStore(bucket)
    store.before = lambda verb, name: names.append(name)
    Tier(core, store).start()
    probe = names[0].removeprefix(scripts.PROBES)
    other, between = SimStore(bucket), [Tier(core, SimStore(bucket)).start]
    other.after = lambda verb, name: between.pop()() if between else None  # all of ours between two of its calls
    scripts.play(scripts.probe(probe.replace(core.config.cluster_id, "another-cluster")), other, ended.append)
    assert ended == [None] and not bucket.objects
