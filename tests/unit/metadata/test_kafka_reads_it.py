"""Apache Kafka's own dumper decodes our metadata log and our snapshots."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tapelog.metadata import snapshot
from tapelog.raft import control
from tapelog.raft.voters import parse_voters
from tests.unit.metadata.harness import Cluster
from tests.unit.metadata.test_alter_configs import SET, alter, resource
from tests.unit.metadata.test_topics import create, delete, topic

ROOT = Path(__file__).resolve().parents[3]
LIB = Path(os.environ.get("TAPELOG_KAFKA_LIB") or ROOT / ".tools" / "kafka" / "lib")


def dump(path: Path) -> str:
    """What Kafka says of a file."""
    command = ["java", "-Xmx256m", "-cp", f"{LIB}/*", "org.apache.kafka.tools.DumpLogSegments"]
    done = subprocess.run(
        [*command, "--cluster-metadata-decoder", "--files", str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.needs("java")
@pytest.mark.slow
@pytest.mark.skipif(not LIB.is_dir(), reason="needs Apache Kafka's jars (TAPELOG_KAFKA_LIB)")
def test_kafkas_dumper_decodes_log_and_snapshot(tmp_path: Path) -> None:
    cluster = Cluster()
    create(cluster, topic("orders", 3, retention_ms="1000"), topic("gone"))
    delete(cluster, ("gone", bytes(16)))
    alter(cluster, resource(4, "", ("log.retention.ms", SET, "5000")))
    epoch = cluster.image.brokers[1].epoch
    cluster.run(lambda image: cluster.controller.allocate_producer_ids(image, 1, epoch))
    cluster.run(lambda image: cluster.controller.fence_broker(image, 1, epoch))
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"".join(cluster.port.batches))
    told = dump(log)
    for kind in (
        'LeaderChange: {"version":0,"leaderId":1,',
        '"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":30}',
        '"type":"REGISTER_BROKER_RECORD"',
        '"type":"TOPIC_RECORD","version":0,"data":{"name":"orders"',
        '"type":"PARTITION_RECORD"',
        '"resourceName":"orders","name":"retention.ms","value":"1000"',
        '"type":"REMOVE_TOPIC_RECORD"',
        '"type":"PRODUCER_IDS_RECORD"',
        '"type":"PARTITION_CHANGE_RECORD"',
        '"type":"BROKER_REGISTRATION_CHANGE_RECORD"',
    ):
        assert kind in told
    assert "isvalid: false" not in told
    assert f"offset: {cluster.port.end_offset - 1} " in told

    cluster.log.snapshot()
    ((id, data),) = cluster.snapshots.files.items()
    checkpoint = tmp_path / snapshot.file_name(id)
    checkpoint.write_bytes(data)
    told = dump(checkpoint)
    for kind in ("SnapshotHeader", '"type":"TOPIC_RECORD"', '"type":"PRODUCER_IDS_RECORD"', "SnapshotFooter"):
        assert kind in told
    assert "isvalid: false" not in told


@pytest.mark.needs("java")
@pytest.mark.slow
@pytest.mark.skipif(not LIB.is_dir(), reason="needs Apache Kafka's jars (TAPELOG_KAFKA_LIB)")
def test_kafkas_dumper_decodes_what_the_quorum_says_of_itself(tmp_path: Path) -> None:
    voters = parse_voters(["1@a:9093:AAECAwQFBgcICQoLDA0ODw", "2@b:9093:EBESExQVFhcYGRobHB0eHw"])
    granted = [voter.key for voter in voters.voters.values()]
    begun = [control.leader_change(2, voters, granted, 7), control.version_record(7), control.voters_record(voters, 7)]
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(control.control_batch(begun, 5))
    taken = tmp_path / "00000000000000000001-0000000005.checkpoint"
    taken.write_bytes(snapshot.encode_image(Cluster().image, begun[1:]))
    for told in (dump(log), dump(taken)):
        assert 'KRaftVersion {"version":0,"kRaftVersion":1}' in told
        assert '"voterId":2,"voterDirectoryId":"EBESExQVFhcYGRobHB0eHw","endpoints":[{"name":"CONTROLLER"' in told
    assert '"leaderId":2,"voters":[{"voterId":1},{"voterId":2}],"grantingVoters":[{"voterId":1}' in dump(log)
