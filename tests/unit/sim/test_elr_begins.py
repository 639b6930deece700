"""Eligible leader replicas begin to be kept while a broker has a minimum of its own: what is acknowledged stays."""

from __future__ import annotations

from tapelog.metadata.image import RESOURCE_BROKER
from tapelog.sim.cluster import Cluster
from tapelog.wire.errors import ErrorCode
from tapelog.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tapelog.wire.record_batch import Record, build_batch
from tests.support.rig import produce_request

ELR = "eligible.leader.replicas.version"
WAIT_MS_MAX = 20_000


def test_a_brokers_own_minimum_ends_when_eligible_leader_replicas_begin() -> None:
    """Broker 5 leads with min.insync.replicas=1 of its own while 3 is eligible: it must not acknowledge alone."""
    cluster = Cluster(7, 5, {"default.replication.factor": "3"})
    cluster.boot()
    world, session, machines = cluster.world, cluster.session("app"), cluster.machines

    def keep_elr(level: int) -> None:
        update = FeatureUpdateKey(feature=ELR, max_version_level=level, upgrade_type=1 if level else 2)
        assert session.call(UpdateFeaturesRequest(feature_updates=[update]), 2).error_code == 0

    def partition() -> tuple[int, list[int]]:
        core = machines[0].core
        assert core is not None
        state = core.image.topics["t"].partitions[0]
        return state.leader, list(state.isr)

    def produce() -> int:
        batch = build_batch([Record(0, 1_700_000_000_000, b"k", b"v")])
        answer = session.call(produce_request(("t", 0, batch)), 9, wait_ms=WAIT_MS_MAX)
        return int(answer.responses[0].partition_responses[0].error_code)

    keep_elr(0)
    placed = [CreatableReplicaAssignment(partition_index=0, broker_ids=[5, 3, 4])]
    topic = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=placed)
    assert session.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7).topics[0].error_code == 0
    assert world.run_until(cluster.whole, WAIT_MS_MAX)
    change = AlterableConfig(name="min.insync.replicas", config_operation=0, value="1")
    own = AlterConfigsResource(resource_type=RESOURCE_BROKER, resource_name="5", configs=[change])
    assert session.call(IncrementalAlterConfigsRequest(resources=[own]), 1).responses[0].error_code == 0
    keep_elr(1)
    assert produce() == 0

    machines[2].pause()
    machines[3].pause()
    assert world.run_until(lambda: partition() == (5, [5]), WAIT_MS_MAX)
    assert produce() == ErrorCode.NOT_ENOUGH_REPLICAS
    machines[4].power_cut()
    machines[2].go_on()
    machines[3].go_on()
    assert world.run_until(lambda: partition()[0] in (3, 4) and produce() == 0, WAIT_MS_MAX)
