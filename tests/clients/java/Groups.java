import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;

/** Consumer groups with the Java client. */
final class Groups {
    /** A member in its own thread: what it owns, what it has read, how it ended. */
    static final class Member extends Thread implements ConsumerRebalanceListener {
        final Set<Integer> owned = ConcurrentHashMap.newKeySet();
        final Set<String> read = ConcurrentHashMap.newKeySet();
        final AtomicInteger assignments = new AtomicInteger();
        volatile Throwable failure;
        private volatile boolean stopping;
        private final KafkaConsumer<byte[], byte[]> consumer;

        Member(String topic, Map<String, Object> settings) {
            consumer = Checks.consumer(settings);
            consumer.subscribe(List.of(topic), this);
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

        void leave() throws InterruptedException {
            stopping = true;
            consumer.wakeup();
            join(60_000);
            owned.clear();
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            assignments.incrementAndGet();
            partitions.forEach(one -> owned.add(one.partition()));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            partitions.forEach(one -> owned.remove(one.partition()));
        }
    }

    /** The sizes of the members' shares, provided that together they own every partition once. */
    static String shares(int partitions, Member... members) {
        Set<Integer> seen = new HashSet<>();
        int total = 0;
        List<String> sizes = new ArrayList<>();
        for (Member member : members) {
            Set<Integer> owned = new TreeSet<>(member.owned);
            seen.addAll(owned);
            total += owned.size();
            sizes.add("" + owned.size());
        }
        return seen.equals(Checks.upTo(partitions)) && total == partitions ? String.join(" ", sizes) : "unsettled";
    }

    static void rebalances() throws Exception {
        for (String assignor : List.of("Range", "RoundRobin", "Sticky", "CooperativeSticky")) {
            String topic = Checks.topic("rebalance", 6);
            String group = Checks.fresh("rebalance");
            Map<String, Object> settings = Map.of("group.id", group, "enable.auto.commit", false,
                    "partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor + "Assignor");
            Member first = new Member(topic, settings);
            Checks.until(assignor + ": one member owns all", () -> shares(6, first).equals("6"));
            Member second = new Member(topic, settings);
            Member third = new Member(topic, settings);
            Checks.until(assignor + ": three share", () -> shares(6, first, second, third).equals("2 2 2"));
            try (var producer = Checks.producer(Map.of())) {
                for (int number = 0; number < 300; number++) {
                    producer.send(new ProducerRecord<>(topic, number % 6, null, new byte[] {1}));
                }
            }
            first.leave();
            Checks.until(assignor + ": two share", () -> shares(6, second, third).equals("3 3"));
            Checks.until(assignor + ": every record", () -> {
                Set<String> all = new HashSet<>(first.read);
                all.addAll(second.read);
                all.addAll(third.read);
                return all.size() == 300;
            });
            second.leave();
            third.leave();
            for (Member member : List.of(first, second, third)) Checks.check(member.failure == null, "" + member.failure);
        }
    }

    static void staticMembers() throws Exception {
        String topic = Checks.topic("static", 4);
        String group = Checks.fresh("static");
        Map<String, Object> one = Map.of("group.id", group, "group.instance.id", "one", "session.timeout.ms", 30_000);
        Map<String, Object> two = Map.of("group.id", group, "group.instance.id", "two", "session.timeout.ms", 30_000);
        Member stays = new Member(topic, one);
        Member goes = new Member(topic, two);
        Checks.until("two share", () -> shares(4, stays, goes).equals("2 2"));
        int undisturbed = stays.assignments.get();
        goes.leave();
        Member back = new Member(topic, two);
        Checks.until("back again", () -> shares(4, stays, back).equals("2 2"));
        Checks.equal(stays.assignments.get(), undisturbed, "assignments of the other member");
        Member usurper = new Member(topic, two);
        Checks.until("the older one is fenced", () -> back.failure instanceof FencedInstanceIdException);
        Checks.until("the newer one took over", () -> usurper.owned.size() == 2);
        usurper.leave();
        stays.leave();
    }

    static void offsets() throws Exception {
        String topic = Checks.topic("offsets", 2);
        String group = Checks.fresh("offsets");
        TopicPartition place = new TopicPartition(topic, 0);
        TopicPartition other = new TopicPartition(topic, 1);
        try (var consumer = Checks.consumer(Map.of("group.id", group, "enable.auto.commit", false))) {
            consumer.assign(List.of(place, other));
            consumer.commitSync(Map.of(place, new OffsetAndMetadata(7, "bookmark")));
            var committed = consumer.committed(Set.of(place, other));
            Checks.equal(committed.get(place), new OffsetAndMetadata(7, "bookmark"), "committed");
            Checks.check(committed.get(other) == null, "nothing committed for the other partition");
        }
        try (var producer = Checks.producer(Map.of())) {
            for (int number = 0; number < 10; number++) producer.send(new ProducerRecord<>(topic, 0, null, new byte[] {1}));
        }
        try (var consumer = Checks.consumer(Map.of("group.id", group))) {
            consumer.subscribe(List.of(topic));
            Checks.equal(Checks.drain(consumer, 3).get(0).offset(), 7L, "resumed");
        }
        try (var consumer = Checks.consumer(Map.of("group.id", group))) {
            Checks.equal(consumer.committed(Set.of(place)).get(place).offset(), 10L, "committed at close");
        }
    }
}
