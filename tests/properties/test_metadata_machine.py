"""Any sequence of changes: replay equals the live image, handlers change nothing, snapshot + tail equals the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tapelog.base.ports import DiskFullError
from tapelog.metadata import brokers, records, snapshot
from tapelog.metadata.delta import ImageDelta
from tapelog.metadata.image import MetadataImage, invariants
from tapelog.metadata.outcome import Outcome
from tapelog.metadata.quorum import MetadataLog
from tapelog.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from tapelog.wire.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tapelog.wire.messages.delete_topics_request import DeleteTopicsRequest
from tapelog.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tapelog.wire.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from tests.unit.metadata.harness import CLUSTER_ID, Cluster

names = st.sampled_from(["a", "b", "c.d", "c_d", "bad name"])
ids = st.integers(1, 4)
config_names = st.sampled_from(["retention.ms", "cleanup.policy", "log.retention.ms", "consumer.session.timeout.ms"])
config_values = st.sampled_from(["50000", "compact", "delete", "nonsense", None])
resources = st.sampled_from([(2, "a"), (2, "b"), (4, ""), (4, "1"), (32, "g"), (16, "m")])


def frozen(image: MetadataImage) -> str:
    """Everything an image says, as a text that later changes of its parts could not leave as it was."""
    return repr(
        [
            sorted(
                (t.name, t.id, [[getattr(p, f) for f in p.__slots__] for p in t.partitions])
                for t in image.topics.values()
            ),
            sorted((b.id, b.epoch, b.fenced, b.log_dirs) for b in image.brokers.values()),
            sorted((key, sorted(values.items())) for key, values in image.configs.items()),
            sorted(image.features.items()),
            image.next_producer_id,
            image.offset,
        ]
    )


class MetadataMachine(RuleBasedStateMachine):
    """A controller under random requests, commits, lost writes, snapshots and restarts."""

    @initialize(seed=st.integers(0, 1000))
    def start(self, seed: int) -> None:
        self.cluster = Cluster(brokers=2, seed=seed)
        self.published: list[tuple[MetadataImage, str]] = []
        self.answered = 0
        self.asked = 0

    def propose(self, operation: Callable[[MetadataImage], Outcome[Any]]) -> None:
        """Run it; along the way check that the handler alone changed nothing and that its records survive bytes."""
        log = self.cluster.log
        before = frozen(log.latest)

        def watched(image: MetadataImage) -> Outcome[Any]:
            try:
                outcome = operation(image)
            finally:
                assert frozen(image) == before, "a handler changed the image"
            for record in outcome.records:
                assert records.decode_record(records.encode_record(record)) == record
            return outcome

        def told(_: object) -> None:
            self.answered += 1

        self.asked += 1
        log.propose(watched, told, told)

    @rule(name=names, partitions=st.integers(-1, 4), factor=st.integers(-1, 3), retention=config_values)
    def create(self, name: str, partitions: int, factor: int, retention: str | None) -> None:
        configs = [] if retention is None else [CreatableTopicConfig(name="retention.ms", value=retention)]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor, configs=configs)
        self.propose(lambda image: self.cluster.controller.create_topics(image, CreateTopicsRequest(topics=[topic])))

    @rule(name=names)
    def delete(self, name: str) -> None:
        request = DeleteTopicsRequest(topic_names=[name])
        self.propose(lambda image: self.cluster.controller.delete_topics(image, request, 5))

    @rule(name=names, count=st.integers(1, 6))
    def grow(self, name: str, count: int) -> None:
        request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=name, count=count, assignments=None)])
        self.propose(lambda image: self.cluster.controller.create_partitions(image, request))

    @rule(resource=resources, name=config_names, operation=st.integers(0, 3), value=config_values)
    def alter(self, resource: tuple[int, str], name: str, operation: int, value: str | None) -> None:
        change = AlterableConfig(name=name, config_operation=operation, value=value)
        request = IncrementalAlterConfigsRequest(
            resources=[AlterConfigsResource(resource_type=resource[0], resource_name=resource[1], configs=[change])]
        )
        self.propose(lambda image: self.cluster.controller.incremental_alter_configs(image, request))

    @rule(id=ids, what=st.sampled_from(["register", "fence", "unfence", "unregister", "ids", "epochs"]))
    def broker(self, id: int, what: str) -> None:
        controller, entropy = self.cluster.controller, self.cluster.entropy
        known = self.cluster.log.latest.brokers.get(id)
        epoch = known.epoch if known is not None else 0
        if what == "register":
            registration = brokers.BrokerRegistration(id, CLUSTER_ID, entropy.token(16), [], [bytes([id]) * 16])
            self.propose(lambda image: controller.register_broker(image, registration))
        elif what == "fence":
            self.propose(lambda image: controller.fence_broker(image, id, epoch))
        elif what == "unfence":
            self.propose(lambda image: controller.unfence_broker(image, id, epoch))
        elif what == "unregister":
            self.propose(lambda image: controller.unregister_broker(image, id))
        elif what == "epochs":
            self.propose(lambda image: brokers.new_leader_epochs(image, id))
        else:
            self.propose(lambda image: controller.allocate_producer_ids(image, id, epoch))

    @rule(level=st.integers(0, 3), kind=st.integers(1, 2))
    def feature(self, level: int, kind: int) -> None:
        update = FeatureUpdateKey(feature="transaction.version", max_version_level=level, upgrade_type=kind)
        request = UpdateFeaturesRequest(feature_updates=[update])
        self.propose(lambda image: self.cluster.controller.update_features(image, request, 2))

    @rule(part=st.floats(0, 1))
    def commit(self, part: float) -> None:
        """Some prefix of what was appended becomes durable."""
        log, end = self.cluster.log, self.cluster.port.end_offset
        log.on_commit(log.image.offset + int((end - log.image.offset) * part))

    @rule()
    def lose_unwritten(self) -> None:
        """The log takes back everything that is not committed."""
        self.cluster.port.cut(self.cluster.log.image.offset)
        self.cluster.log.revert(DiskFullError("full"))

    @rule()
    def take_snapshot(self) -> None:
        self.cluster.log.snapshot()

    @precondition(lambda self: self.cluster.log.latest is self.cluster.log.image)
    @rule()
    def restart(self) -> None:
        old = self.cluster
        new = old.reopened()
        assert new.image.same_state(old.image)
        assert (new.image.offset, new.image.epoch) == (old.image.offset, old.image.epoch)
        new.entropy, new.controller = old.entropy, old.controller
        new.lead(new.last_epoch + 1)
        new.commit()
        assert new.image.same_state(old.image)
        self.cluster = new

    @invariant()
    def images_are_sound(self) -> None:
        invariants(self.cluster.log.image)
        invariants(self.cluster.log.latest)
        assert self.cluster.log.latest.offset == self.cluster.port.end_offset

    @invariant()
    def published_images_never_change(self) -> None:
        image = self.cluster.log.image
        if not self.published or self.published[-1][0] is not image:
            self.published.append((image, frozen(image)))
        for old, text in self.published[-5:]:
            assert frozen(old) == text

    @invariant()
    def a_snapshot_says_what_the_image_says(self) -> None:
        image = self.cluster.log.image
        again = snapshot.decode_image(snapshot.encode_image(image), (image.offset, image.epoch), CLUSTER_ID)
        assert again.same_state(image)

    @invariant()
    def replay_of_the_log_gives_the_newest_image(self) -> None:
        """Including what is appended but not committed: it is what a leader would find after a clean stop."""
        found = MetadataLog(
            self.cluster.port,
            self.cluster.snapshots,
            node_id=1,
            cluster_id=CLUSTER_ID,
            clock=self.cluster.clock,
            publish=_nobody,
        )
        found.load()
        assert found.image.same_state(self.cluster.log.latest)

    def teardown(self) -> None:
        self.cluster.commit()
        assert self.answered == self.asked, "everybody is answered exactly once"


def _nobody(image: MetadataImage, delta: ImageDelta) -> None:
    pass


TestMetadataMachine = MetadataMachine.TestCase
TestMetadataMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
