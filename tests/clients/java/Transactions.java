import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;

/** Transactions with the Java client, which speaks version 2 of them: the broker adds partitions and raises the epoch. */
final class Transactions {
    static KafkaProducer<byte[], byte[]> producer(String id, Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(settings);
        all.put("transactional.id", id);
        KafkaProducer<byte[], byte[]> producer = Checks.producer(all);
        producer.initTransactions();
        return producer;
    }

    static void send(KafkaProducer<byte[], byte[]> producer, String topic, int partition, String... values) throws Exception {
        for (String value : values) {
            producer.send(new ProducerRecord<>(topic, partition, null, value.getBytes(StandardCharsets.UTF_8))).get();
        }
    }

    static long end(Admin admin, TopicPartition place, IsolationLevel level) throws Exception {
        var asked = admin.listOffsets(Map.of(place, OffsetSpec.latest()), new ListOffsetsOptions(level));
        return asked.partitionResult(place).get().offset();
    }

    /** What a reader of that isolation sees of partition 0 up to its end. */
    static List<String> read(String topic, String isolation) {
        TopicPartition place = new TopicPartition(topic, 0);
        List<String> values = new ArrayList<>();
        try (var consumer = Checks.consumer(Map.of("isolation.level", isolation))) {
            consumer.assign(List.of(place));
            consumer.seekToBeginning(List.of(place));
            long end = consumer.endOffsets(List.of(place)).get(place);
            while (consumer.position(place) < end) {
                consumer.poll(Duration.ofMillis(100)).forEach(one -> values.add(new String(one.value(), StandardCharsets.UTF_8)));
            }
        }
        return values;
    }

    static void shows(String topic, String... values) throws Exception {
        Checks.until("committed " + List.of(values), () -> read(topic, "read_committed").equals(List.of(values)));
    }

    static void endings() throws Exception {
        String topic = Checks.topic("txn", 1);
        String other = Checks.topic("txn", 3);
        try (var producer = producer(Checks.fresh("txn"), Map.of()); Admin admin = Checks.admin()) {
            producer.beginTransaction();
            send(producer, topic, 0, "a", "b");
            for (int partition = 0; partition < 3; partition++) send(producer, other, partition, "x");
            Checks.equal(read(topic, "read_committed"), List.of(), "nothing before the commit");
            Checks.equal(read(topic, "read_uncommitted"), List.of("a", "b"), "everything for those who ask for it");
            Checks.equal(end(admin, new TopicPartition(topic, 0), IsolationLevel.READ_COMMITTED), 0L, "stable end");
            Checks.equal(end(admin, new TopicPartition(topic, 0), IsolationLevel.READ_UNCOMMITTED), 2L, "end");
            producer.commitTransaction();
            shows(topic, "a", "b");
            for (int number = 0; number < 50; number++) {
                producer.beginTransaction();
                if (number % 4 != 3) send(producer, topic, 0, "" + number);
                if (number % 2 == 0) producer.commitTransaction();
                else producer.abortTransaction();
            }
            List<String> wanted = new ArrayList<>(List.of("a", "b"));
            for (int number = 0; number < 50; number += 2) wanted.add("" + number);
            shows(topic, wanted.toArray(new String[0]));
        }
    }

    static void fencing() throws Exception {
        String topic = Checks.topic("fencing", 1);
        String id = Checks.fresh("fencing");
        var zombie = producer(id, Map.of());
        zombie.beginTransaction();
        send(zombie, topic, 0, "from the zombie");
        try (var heir = producer(id, Map.of())) {
            heir.beginTransaction();
            send(heir, topic, 0, "from the heir");
            Class<?> writing = Checks.refusal(() -> zombie.send(new ProducerRecord<>(topic, 0, null, new byte[1])).get());
            Checks.check(writing == ProducerFencedException.class || writing == InvalidProducerEpochException.class,
                    "a zombie's write ended with " + writing);
            try {
                zombie.commitTransaction();
                throw new AssertionError("the zombie committed");
            } catch (KafkaException fenced) {
                // as it should be
            }
            zombie.close(Duration.ZERO);
            heir.commitTransaction();
        }
        shows(topic, "from the heir");
    }

    static void timeOut() throws Exception {
        String topic = Checks.topic("timeout", 1);
        String id = Checks.fresh("timeout");
        var producer = producer(id, Map.of("transaction.timeout.ms", 1000));
        producer.beginTransaction();
        send(producer, topic, 0, "forgotten");
        try (var plain = Checks.producer(Map.of())) {
            send(plain, topic, 0, "after");
        }
        shows(topic, "after");
        try {
            producer.commitTransaction();
            throw new AssertionError("committed what the broker had aborted");
        } catch (KafkaException refused) {
            producer.close(Duration.ZERO);
        }
        try (var again = producer(id, Map.of())) {
            again.beginTransaction();
            send(again, topic, 0, "anew");
            again.commitTransaction();
        }
        shows(topic, "after", "anew");
    }

    /** Read, process, write: what was read is committed in the transaction that writes the result. */
    static void offsets() throws Exception {
        for (String protocol : List.of("classic", "consumer")) {
            String source = Checks.topic("source", 1);
            String target = Checks.topic("target", 1);
            String group = Checks.fresh("offsets");
            TopicPartition place = new TopicPartition(source, 0);
            try (var plain = Checks.producer(Map.of())) {
                send(plain, source, 0, "0", "1", "2", "3");
            }
            Map<String, Object> settings = NewGroups.settings(protocol, group);
            settings.put("max.poll.records", 1);
            settings.put("isolation.level", "read_committed");
            try (KafkaConsumer<byte[], byte[]> consumer = NewGroups.consumer(settings);
                    var producer = producer(Checks.fresh("offsets"), Map.of());
                    Admin admin = Checks.admin()) {
                consumer.subscribe(List.of(source));
                for (int number = 0; number < 4; number++) {
                    var record = Checks.drain(consumer, 1).get(0);
                    producer.beginTransaction();
                    producer.send(new ProducerRecord<>(target, 0, null, record.value()));
                    producer.sendOffsetsToTransaction(
                            Map.of(place, new OffsetAndMetadata(record.offset() + 1, "" + number)), consumer.groupMetadata());
                    if (number < 3) producer.commitTransaction();
                    else producer.abortTransaction();
                }
                Checks.equal(consumer.committed(Set.of(place)).get(place), new OffsetAndMetadata(3, "2"), "committed");
            }
            shows(target, "0", "1", "2");
            try (KafkaConsumer<byte[], byte[]> consumer = NewGroups.consumer(settings)) {
                consumer.subscribe(List.of(source));
                Checks.equal(Checks.drain(consumer, 1).get(0).offset(), 3L, protocol + ": resumed at what was aborted");
            }
        }
    }
}
