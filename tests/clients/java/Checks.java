import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The Java client against a broker: java Checks BOOTSTRAP CHECK... Exit 0 when every check holds; else the reasons on stderr. */
public final class Checks {
    interface Check {
        void run() throws Exception;
    }

    static String bootstrap;

    public static void main(String[] arguments) {
        bootstrap = arguments[0];
        Map<String, Check> checks = new HashMap<>();
        checks.put("codecs", Records::codecs);
        checks.put("large", Records::large);
        checks.put("timestamps", Records::timestamps);
        checks.put("idempotent", Records::idempotent);
        checks.put("positions", Records::positions);
        checks.put("recreate", Records::recreate);
        checks.put("rebalances", Groups::rebalances);
        checks.put("static", Groups::staticMembers);
        checks.put("offsets", Groups::offsets);
        checks.put("txn-endings", Transactions::endings);
        checks.put("txn-fencing", Transactions::fencing);
        checks.put("txn-timeout", Transactions::timeOut);
        checks.put("txn-offsets", Transactions::offsets);
        checks.put("txn-describing", TransactionAdmin::describing);
        checks.put("txn-aborting", TransactionAdmin::aborting);
        checks.put("txn-fenced-by-admin", TransactionAdmin::fencing);
        checks.put("new-ten-members", NewGroups::tenMembers);
        checks.put("new-patterns", NewGroups::patterns);
        checks.put("new-static", NewGroups::staticMembers);
        checks.put("new-and-classic", NewGroups::protocolsTogether);
        checks.put("new-rolling", NewGroups::rolling);
        checks.put("new-group-configs", NewGroups::groupConfigs);
        checks.put("topics", Administration::topics);
        checks.put("configs", Administration::configs);
        checks.put("records", Administration::records);
        checks.put("groups", Administration::groups);
        checks.put("cluster", Administration::cluster);
        int failures = 0;
        for (int index = 1; index < arguments.length; index++) {
            try {
                checks.get(arguments[index]).run();
            } catch (Throwable failure) {
                failures++;
                System.err.println("FAILED " + arguments[index]);
                failure.printStackTrace();
            }
        }
        System.exit(failures == 0 ? 0 : 1);
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static void equal(Object got, Object wanted, String what) {
        if (!wanted.equals(got)) throw new AssertionError(what + ": wanted " + wanted + ", got " + got);
    }

    static String fresh(String stem) {
        return "java-" + stem + "-" + UUID.randomUUID().toString().substring(0, 8);
    }

    static void until(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + 120_000_000_000L;
        while (!condition.call()) {
            check(System.nanoTime() < deadline, "not within 120 s: " + what);
            Thread.sleep(20);
        }
    }

    /** The failure with which an admin call's future ended. */
    static Class<?> refusal(Callable<?> call) throws Exception {
        try {
            call.call();
        } catch (ExecutionException refused) {
            return refused.getCause().getClass();
        }
        throw new AssertionError("was not refused");
    }

    static Admin admin() {
        return Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    static String topic(String stem, int partitions, Map<String, String> configs) throws Exception {
        String topic = fresh(stem);
        try (Admin admin = admin()) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(configs))).all().get();
            until(topic + " online", () -> {
                try {
                    var described = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
                    return described.partitions().size() == partitions
                            && described.partitions().stream().allMatch(one -> one.leader() != null);
                } catch (ExecutionException notYet) {
                    return false;
                }
            });
        }
        return topic;
    }

    static String topic(String stem, int partitions) throws Exception {
        return topic(stem, partitions, Map.of());
    }

    static KafkaProducer<byte[], byte[]> producer(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
        all.putAll(settings);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> settings) {
        Properties all = new Properties();
        all.put("bootstrap.servers", bootstrap);
        all.put("auto.offset.reset", "earliest");
        all.put("session.timeout.ms", 30_000);
        all.put("heartbeat.interval.ms", 200);
        all.putAll(settings);
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** The first `count` records of partition 0. */
    static List<ConsumerRecord<byte[], byte[]>> read(String topic, int count) {
        try (Consumer<byte[], byte[]> consumer = consumer(Map.of())) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            return drain(consumer, count);
        }
    }

    static List<ConsumerRecord<byte[], byte[]>> drain(Consumer<byte[], byte[]> consumer, int count) {
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        long deadline = System.nanoTime() + 120_000_000_000L;
        while (got.size() < count) {
            check(System.nanoTime() < deadline, got.size() + " of " + count + " records");
            consumer.poll(Duration.ofMillis(100)).forEach(got::add);
        }
        return got;
    }

    static Set<Integer> upTo(int count) {
        Set<Integer> numbers = new HashSet<>();
        for (int number = 0; number < count; number++) numbers.add(number);
        return numbers;
    }
}
