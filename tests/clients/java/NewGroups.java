import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidRegularExpression;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Groups of the newer protocol (KIP-848) with the Java client. */
final class NewGroups {
    static Map<String, Object> settings(String protocol, String group) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", Checks.bootstrap, "auto.offset.reset", "earliest",
                "group.id", group, "enable.auto.commit", false, "group.protocol", protocol));
        if (protocol.equals("classic")) all.putAll(Map.of("session.timeout.ms", 30_000, "heartbeat.interval.ms", 200));
        return all;
    }

    static KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> settings) {
        Properties all = new Properties();
        all.putAll(settings);
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** A member in its own thread: what it owns, what it has lost, what it has read, how it ended. */
    static final class Member extends Thread implements ConsumerRebalanceListener {
        final Set<TopicPartition> owned = ConcurrentHashMap.newKeySet();
        final Set<TopicPartition> revoked = ConcurrentHashMap.newKeySet();
        final Set<String> read = ConcurrentHashMap.newKeySet();
        volatile Throwable failure;
        private volatile boolean stopping;
        private final KafkaConsumer<byte[], byte[]> consumer;

        Member(Object subscription, Map<String, Object> settings) {
            consumer = consumer(settings);
            if (subscription instanceof SubscriptionPattern pattern) consumer.subscribe(pattern, this);
            else consumer.subscribe(List.of((String) subscription), this);
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            try {
                while (!stopping) {
                    consumer.poll(Duration.ofMillis(50)).forEach(one -> read.add(one.partition() + "/" + one.offset()));
                    try {
                        consumer.commitSync();
                    } catch (CommitFailedException | RebalanceInProgressException again) {
                        // read again by whoever gets the partition
                    }
                }
            } catch (WakeupException asked) {
                // leaving
            } catch (Throwable unexpected) {
                failure = unexpected;
            } finally {
                consumer.close();
            }
        }

        void stopSoon() {
            stopping = true;
        }

        void leave() throws InterruptedException {
            stopping = true;
            join(60_000);
            owned.clear();
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            owned.addAll(partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            owned.removeAll(partitions);
            revoked.addAll(partitions);
        }
    }

    /** Whether the members own so many partitions, each one once, and the shares differ by at most one. */
    static boolean share(int partitions, List<Member> members) {
        Set<TopicPartition> seen = new HashSet<>();
        List<Integer> sizes = new ArrayList<>();
        for (Member member : members) {
            Set<TopicPartition> owned = Set.copyOf(member.owned);
            seen.addAll(owned);
            sizes.add(owned.size());
        }
        int total = sizes.stream().mapToInt(Integer::intValue).sum();
        int most = sizes.stream().mapToInt(Integer::intValue).max().orElse(0);
        int least = sizes.stream().mapToInt(Integer::intValue).min().orElse(0);
        return seen.size() == partitions && total == partitions && most - least <= 1;
    }

    static ConsumerGroupDescription describe(Admin admin, String group) throws Exception {
        return admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
    }

    private static void unhurt(List<Member> members) throws Exception {
        for (Member member : members) member.stopSoon();
        for (Member member : members) member.leave();
        for (Member member : members) Checks.check(member.failure == null, "" + member.failure);
    }

    static void tenMembers() throws Exception {
        String topic = Checks.topic("ten", 20);
        String group = Checks.fresh("ten");
        Map<String, Object> settings = settings("consumer", group);
        List<Member> members = new ArrayList<>(List.of(new Member(topic, settings)));
        Checks.until("one owns all", () -> share(20, members));
        for (int number = 1; number < 10; number++) members.add(new Member(topic, settings));
        Checks.until("ten share", () -> share(20, members));
        try (var producer = Checks.producer(Map.of()); Admin admin = Checks.admin()) {
            Checks.until("stable", () -> describe(admin, group).groupState() == GroupState.STABLE);
            var described = describe(admin, group);
            Checks.equal(described.type(), GroupType.CONSUMER, "type");
            Checks.equal(described.members().size(), 10, "members");
            Checks.equal(described.partitionAssignor(), "uniform", "assignor");
            for (var member : described.members()) {
                Checks.equal(member.assignment().topicPartitions().size(), 2, "partitions of a member");
                Checks.equal(member.targetAssignment().orElseThrow(), member.assignment(), "target");
                Checks.equal(member.memberEpoch().orElseThrow(), described.groupEpoch().orElseThrow(), "epoch");
            }
            for (int number = 0; number < 1000; number++) {
                producer.send(new ProducerRecord<>(topic, number % 20, null, new byte[] {1}));
            }
            producer.flush();
            List<Member> leaving = members.subList(0, 6);
            for (Member member : leaving) member.stopSoon();
            for (Member member : leaving) member.leave();
            Checks.until("four share", () -> share(20, members.subList(6, 10)));
            Checks.until("every record", () -> {
                Set<String> all = new HashSet<>();
                for (Member member : members) all.addAll(member.read);
                return all.size() == 1000;
            });
            unhurt(members);
            Checks.until("empty", () -> describe(admin, group).groupState() == GroupState.EMPTY);
            admin.deleteConsumerGroups(List.of(group)).all().get();
        }
    }

    static void patterns() throws Exception {
        String stem = Checks.fresh("pattern");
        Map<String, Object> settings = settings("consumer", Checks.fresh("pattern"));
        try (Admin admin = Checks.admin()) {
            var one = new org.apache.kafka.clients.admin.NewTopic(stem + "-one", 2, (short) 1);
            var no = new org.apache.kafka.clients.admin.NewTopic("not-" + stem, 2, (short) 1);
            admin.createTopics(List.of(one, no)).all().get();
            List<Member> members = new ArrayList<>();
            members.add(new Member(new SubscriptionPattern(stem + "-.*"), settings));
            members.add(new Member(new SubscriptionPattern(stem + "-(one|two)"), settings));
            Checks.until("the matching topic", () -> share(2, members));
            var two = new org.apache.kafka.clients.admin.NewTopic(stem + "-two", 4, (short) 1);
            admin.createTopics(List.of(two)).all().get();
            Checks.until("a topic that appeared", () -> share(6, members));
            unhurt(members);
        }
        Member wrong = new Member(new SubscriptionPattern("(unfinished"), settings);
        Checks.until("a wrong pattern is refused", () -> wrong.failure instanceof InvalidRegularExpression);
    }

    static void staticMembers() throws Exception {
        String topic = Checks.topic("static", 4);
        String group = Checks.fresh("static");
        Map<String, Object> one = settings("consumer", group);
        one.put("group.instance.id", "one");
        Map<String, Object> two = settings("consumer", group);
        two.put("group.instance.id", "two");
        Member stays = new Member(topic, one);
        Member goes = new Member(topic, two);
        Checks.until("two share", () -> share(4, List.of(stays, goes)));
        Set<TopicPartition> had = Set.copyOf(goes.owned);
        stays.revoked.clear();
        Member usurper = new Member(topic, two);
        Checks.until("the name is in use", () -> usurper.failure instanceof UnreleasedInstanceIdException);
        goes.leave();
        Member back = new Member(topic, two);
        Checks.until("back again", () -> back.owned.equals(had));
        Checks.check(stays.revoked.isEmpty() && stays.owned.size() == 2, "the other member was disturbed");
        unhurt(List.of(stays, back));
    }

    static void protocolsTogether() throws Exception {
        String topic = Checks.topic("both", 6);
        String group = Checks.fresh("both");
        try (Admin admin = Checks.admin()) {
            Member old = new Member(topic, settings("classic", group));
            Checks.until("the classic one", () -> share(6, List.of(old)));
            Checks.equal(describe(admin, group).type(), GroupType.CLASSIC, "type");
            Member fresh = new Member(topic, settings("consumer", group));
            Checks.until("both", () -> share(6, List.of(old, fresh)));
            Checks.equal(describe(admin, group).type(), GroupType.CONSUMER, "type when mixed");
            fresh.leave();
            Checks.until("the classic one again", () -> share(6, List.of(old)));
            Checks.equal(describe(admin, group).type(), GroupType.CLASSIC, "type afterwards");
            unhurt(List.of(old, fresh));
        }
    }

    /** All members change to the newer protocol, one by one, and back again, while records flow: none is left out. */
    static void rolling() throws Exception {
        String topic = Checks.topic("rolling", 6);
        String group = Checks.fresh("rolling");
        List<Member> all = new ArrayList<>();
        List<Member> now = new ArrayList<>();
        int sent = 0;
        try (Admin admin = Checks.admin(); var producer = Checks.producer(Map.of())) {
            for (String protocol : List.of("classic", "consumer", "classic")) {
                for (int place = 0; place < 2; place++) {
                    if (now.size() > place) now.get(place).leave();
                    Member member = new Member(topic, settings(protocol, group));
                    all.add(member);
                    if (now.size() > place) now.set(place, member);
                    else now.add(member);
                    for (int number = 0; number < 300; number++, sent++) {
                        producer.send(new ProducerRecord<>(topic, sent % 6, null, new byte[] {1}));
                    }
                    producer.flush();
                    Checks.until(protocol + " " + place + " shares", () -> share(6, now));
                }
                GroupType type = protocol.equals("classic") ? GroupType.CLASSIC : GroupType.CONSUMER;
                Checks.until("a group of that kind", () -> describe(admin, group).type() == type);
            }
            int expected = sent;
            Checks.until("every record", () -> {
                Set<String> read = new HashSet<>();
                for (Member member : all) read.addAll(member.read);
                return read.size() == expected;
            });
        }
        unhurt(all);
    }

    /** Session and heartbeat times belong to the group, and can be changed for it. */
    static void groupConfigs() throws Exception {
        String topic = Checks.topic("configs", 2);
        String group = Checks.fresh("configs");
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        try (Admin admin = Checks.admin()) {
            var entry = new ConfigEntry("consumer.session.timeout.ms", "7000");
            admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET)))).all().get();
            Checks.until("the group's own time", () -> admin.describeConfigs(List.of(resource)).all().get().get(resource)
                    .get("consumer.session.timeout.ms").value().equals("7000"));
            Member member = new Member(topic, settings("consumer", group));
            Checks.until("it owns all", () -> share(2, List.of(member)));
            unhurt(List.of(member));
        }
    }
}
