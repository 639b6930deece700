import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.SecurityDisabledException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.acl.AclBindingFilter;

/** The Java admin client. */
final class Administration {
    static void topics() throws Exception {
        String topic = Checks.topic("topics", 2);
        try (Admin admin = Checks.admin()) {
            NewTopic again = new NewTopic(topic, 1, (short) 1);
            Checks.equal(Checks.refusal(() -> admin.createTopics(List.of(again)).all().get()), TopicExistsException.class, "twice");
            String trial = Checks.fresh("trial");
            var tried = admin.createTopics(List.of(new NewTopic(trial, 3, (short) 1)), new CreateTopicsOptions().validateOnly(true));
            Checks.equal(tried.numPartitions(trial).get(), 3, "partitions it would have");
            Checks.check(!admin.listTopics().names().get().contains(trial), "validation creates nothing");
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all().get();
            Checks.until("five partitions", () ->
                    admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size() == 5);
            Class<?> fewer = Checks.refusal(() -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get());
            Checks.equal(fewer, InvalidPartitionsException.class, "fewer partitions");
            var described = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
            var byId = admin.describeTopics(org.apache.kafka.common.TopicCollection.ofTopicIds(List.of(described.topicId())));
            Checks.equal(byId.allTopicIds().get().get(described.topicId()).name(), topic, "described by id");
            admin.deleteTopics(org.apache.kafka.common.TopicCollection.ofTopicIds(List.of(described.topicId()))).all().get();
            Checks.until("the topic is gone", () -> !admin.listTopics().names().get().contains(topic));
        }
    }

    private static Config describe(Admin admin, ConfigResource resource) throws Exception {
        var options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        return admin.describeConfigs(List.of(resource), options).all().get().get(resource);
    }

    private static void alter(Admin admin, ConfigResource resource, String name, String value, AlterConfigOp.OpType kind)
            throws Exception {
        var operation = new AlterConfigOp(new ConfigEntry(name, value), kind);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(operation))).all().get();
    }

    static void configs() throws Exception {
        String topic = Checks.topic("configs", 1, Map.of("retention.ms", "1000000"));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigResource everyBroker = new ConfigResource(ConfigResource.Type.BROKER, "");
        try (Admin admin = Checks.admin()) {
            ConfigEntry retention = describe(admin, resource).get("retention.ms");
            Checks.equal(retention.value(), "1000000", "value");
            Checks.equal(retention.source(), ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, "source");
            Checks.equal(retention.type(), ConfigEntry.ConfigType.LONG, "type");
            ConfigEntry segment = describe(admin, resource).get("segment.bytes");
            Checks.check(segment.isDefault(), "segment.bytes is a default");
            Checks.equal(segment.synonyms().get(0).name(), "log.segment.bytes", "synonym");
            alter(admin, everyBroker, "log.retention.bytes", "987654321", AlterConfigOp.OpType.SET);
            Checks.until("the cluster's default on the topic", () ->
                    describe(admin, resource).get("retention.bytes").value().equals("987654321"));
            Checks.equal(describe(admin, resource).get("retention.bytes").source(),
                    ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, "source of the cluster's default");
            alter(admin, everyBroker, "log.retention.bytes", null, AlterConfigOp.OpType.DELETE);
            Checks.until("Kafka's default again", () -> describe(admin, resource).get("retention.bytes").value().equals("-1"));
            Class<?> refused = Checks.refusal(() -> {
                alter(admin, resource, "retention.ms", "soon", AlterConfigOp.OpType.SET);
                return null;
            });
            Checks.equal(refused, InvalidConfigurationException.class, "a wrong value");
            alter(admin, resource, "cleanup.policy", "compact", AlterConfigOp.OpType.APPEND);
            Checks.until("both policies", () -> describe(admin, resource).get("cleanup.policy").value().equals("delete,compact"));
            Checks.check(admin.listConfigResources().all().get().contains(resource), "the topic is listed as a resource");
            for (var kind : List.of(ConfigResource.Type.BROKER, ConfigResource.Type.BROKER_LOGGER)) {
                String id = "" + admin.describeCluster().nodes().get().iterator().next().id();
                Checks.check(describe(admin, new ConfigResource(kind, id)).entries().size() > 0, kind + " has entries");
            }
            ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "any");
            Checks.check(describe(admin, group).entries().size() > 0, "GROUP has entries");
        }
    }

    static void records() throws Exception {
        String topic = Checks.topic("records", 1);
        TopicPartition place = new TopicPartition(topic, 0);
        long now = System.currentTimeMillis();
        try (var producer = Checks.producer(Map.of()); Admin admin = Checks.admin()) {
            for (long stamp : new long[] {100, 300, 900, 500, 200}) {
                producer.send(new ProducerRecord<>(topic, 0, now + stamp, null, new byte[] {1})).get();
            }
            Map<OffsetSpec, Long> wanted = Map.of(OffsetSpec.earliest(), 0L, OffsetSpec.latest(), 5L,
                    OffsetSpec.maxTimestamp(), 2L, OffsetSpec.forTimestamp(now + 400), 2L,
                    OffsetSpec.earliestLocal(), 0L, OffsetSpec.latestTiered(), -1L);
            for (var entry : wanted.entrySet()) {
                ListOffsetsResult result = admin.listOffsets(Map.of(place, entry.getKey()));
                Checks.equal(result.partitionResult(place).get().offset(), entry.getValue(), "offset of " + entry.getKey());
            }
            var deleted = admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(3)));
            Checks.equal(deleted.lowWatermarks().get(place).get().lowWatermark(), 3L, "low watermark");
            Checks.equal(admin.listOffsets(Map.of(place, OffsetSpec.earliest())).partitionResult(place).get().offset(), 3L, "start");
            Class<?> beyond = Checks.refusal(() -> admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(99))).all().get());
            Checks.equal(beyond, OffsetOutOfRangeException.class, "beyond the end");
        }
    }

    static void groups() throws Exception {
        String topic = Checks.topic("groups", 2);
        String group = Checks.fresh("groups");
        TopicPartition place = new TopicPartition(topic, 0);
        try (Admin admin = Checks.admin()) {
            admin.alterConsumerGroupOffsets(group, Map.of(place, new OffsetAndMetadata(5, "here"))).all().get();
            var listed = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
            Checks.equal(listed.get(place), new OffsetAndMetadata(5, "here"), "altered offset");
            Groups.Member member = new Groups.Member(topic, Map.of("group.id", group, "client.id", "someone"));
            Checks.until("a member", () -> member.owned.size() == 2);
            var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            Checks.equal(described.groupState(), GroupState.STABLE, "state");
            Checks.equal(described.partitionAssignor(), "range", "assignor");
            Checks.equal(described.members().iterator().next().clientId(), "someone", "client id");
            Checks.equal(described.members().iterator().next().host(), "/127.0.0.1", "host");
            Checks.equal(described.members().iterator().next().assignment().topicPartitions().size(), 2, "assignment");
            Class<?> inUse = Checks.refusal(() -> admin.deleteConsumerGroups(List.of(group)).all().get());
            Checks.equal(inUse, GroupNotEmptyException.class, "deleting a group in use");
            member.leave();
            Checks.until("the group is empty", () ->
                    admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState() == GroupState.EMPTY);
            Map<String, Object> fixed = Map.of("group.id", group, "group.instance.id", "fixed");
            Groups.Member permanent = new Groups.Member(topic, fixed);
            Checks.until("a static member", () -> permanent.owned.size() == 2);
            permanent.leave();
            var removal = new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("fixed")));
            admin.removeMembersFromConsumerGroup(group, removal).all().get();
            Checks.until("empty again", () ->
                    admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState() == GroupState.EMPTY);
            admin.deleteConsumerGroupOffsets(group, Set.of(place)).all().get();
            Checks.check(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(place) == null, "deleted");
            Checks.check(admin.listGroups().all().get().stream().anyMatch(one -> one.groupId().equals(group)), "listed");
            admin.deleteConsumerGroups(List.of(group)).all().get();
            Class<?> gone = Checks.refusal(() -> admin.describeConsumerGroups(List.of(group)).all().get());
            Checks.equal(gone, GroupIdNotFoundException.class, "a group that is gone");
        }
    }

    static void cluster() throws Exception {
        String topic = Checks.topic("cluster", 1);
        try (Admin admin = Checks.admin()) {
            var cluster = admin.describeCluster();
            var node = cluster.nodes().get().iterator().next();
            Checks.equal(cluster.nodes().get().size(), 1, "nodes");
            Checks.equal(node.host() + ":" + node.port(), Checks.bootstrap, "address");
            Checks.equal(cluster.controller().get().id(), node.id(), "controller");
            Checks.equal(cluster.clusterId().get().length(), 22, "length of the cluster id");
            var dirs = admin.describeLogDirs(List.of(node.id())).allDescriptions().get().get(node.id());
            Checks.equal(dirs.size(), 1, "log directories");
            var dir = dirs.values().iterator().next();
            Checks.check(dir.replicaInfos().containsKey(new TopicPartition(topic, 0)), "the topic's replica");
            Checks.check(dir.totalBytes().getAsLong() > 0, "size of the disk");
            var features = admin.describeFeatures().featureMetadata().get();
            Checks.check(features.finalizedFeatures().containsKey("metadata.version"), "metadata.version is finalized");
            Checks.equal(admin.describeMetadataQuorum().quorumInfo().get().leaderId(), node.id(), "quorum leader");
            Checks.equal(admin.listPartitionReassignments().reassignments().get().size(), 0, "reassignments");
            Checks.equal(Checks.refusal(() -> admin.describeAcls(AclBindingFilter.ANY).values().get()),
                    SecurityDisabledException.class, "ACLs without an authorizer");
            Checks.equal(admin.describeClientQuotas(org.apache.kafka.common.quota.ClientQuotaFilter.all()).entities().get().size(),
                    0, "quotas");
        }
    }
}
