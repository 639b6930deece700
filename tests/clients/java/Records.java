import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;

/** Producing and consuming with the Java client. */
final class Records {
    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static void codecs() throws Exception {
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            String topic = Checks.topic("codec-" + codec, 1);
            long now = System.currentTimeMillis();
            List<ProducerRecord<byte[], byte[]>> sent = new ArrayList<>();
            try (var producer = Checks.producer(Map.of("compression.type", codec, "linger.ms", 20))) {
                for (int number = 0; number < 300; number++) {
                    byte[] key = number % 3 == 0 ? null : bytes("key-" + number);
                    byte[] value = number % 7 == 0 ? null : bytes(("value " + number + " ").repeat(20));
                    var record = new ProducerRecord<>(topic, 0, now + number, key, value);
                    if (number % 2 == 1) {
                        record.headers().add("trace", bytes("" + number)).add("null", null).add("trace", new byte[0]);
                    }
                    sent.add(record);
                    producer.send(record);
                }
            }
            List<ConsumerRecord<byte[], byte[]>> got = Checks.read(topic, 300);
            for (int index = 0; index < 300; index++) {
                var record = got.get(index);
                var wanted = sent.get(index);
                Checks.equal(record.offset(), (long) index, codec + " offset");
                Checks.check(Arrays.equals(record.key(), wanted.key()), codec + " key");
                Checks.check(Arrays.equals(record.value(), wanted.value()), codec + " value");
                Checks.equal(record.timestamp(), wanted.timestamp(), codec + " timestamp");
                Checks.equal(record.timestampType(), TimestampType.CREATE_TIME, codec + " timestamp type");
                Checks.check(Arrays.equals(record.headers().toArray(), wanted.headers().toArray()), codec + " headers");
                Checks.equal(record.leaderEpoch().orElse(-1), 0, codec + " leader epoch");
            }
        }
    }

    static void large() throws Exception {
        String topic = Checks.topic("large", 1, Map.of("max.message.bytes", "11000000"));
        String small = Checks.topic("small", 1, Map.of("max.message.bytes", "100000"));
        byte[] value = new byte[10 * 1024 * 1024];
        Arrays.fill(value, (byte) 7);
        try (var producer = Checks.producer(Map.of("max.request.size", 11_000_000, "buffer.memory", 40_000_000L))) {
            producer.send(new ProducerRecord<>(topic, value)).get();
            Checks.check(Arrays.equals(Checks.read(topic, 1).get(0).value(), value), "the large value changed");
            Class<?> refused = Checks.refusal(() -> producer.send(new ProducerRecord<>(small, new byte[200_000])).get());
            Checks.equal(refused, RecordTooLargeException.class, "beyond the topic's limit");
        }
    }

    static void timestamps() throws Exception {
        String stamped = Checks.topic("stamped", 1, Map.of("message.timestamp.type", "LogAppendTime"));
        long before = System.currentTimeMillis();
        try (var producer = Checks.producer(Map.of())) {
            RecordMetadata report = producer.send(new ProducerRecord<>(stamped, 0, before - 500_000, null, bytes("v"))).get();
            Checks.check(report.timestamp() >= before, "the acknowledgement carries the broker's time");
        }
        ConsumerRecord<byte[], byte[]> got = Checks.read(stamped, 1).get(0);
        Checks.equal(got.timestampType(), TimestampType.LOG_APPEND_TIME, "timestamp type");
        Checks.check(got.timestamp() >= before && got.timestamp() <= System.currentTimeMillis(), "the broker's time");

        String strict = Checks.topic("strict", 1, Map.of("message.timestamp.before.max.ms", "60000"));
        try (var producer = Checks.producer(Map.of())) {
            long old = System.currentTimeMillis() - 3_600_000;
            Class<?> refused = Checks.refusal(() -> producer.send(new ProducerRecord<>(strict, 0, old, null, bytes("v"))).get());
            Checks.equal(refused, InvalidTimestampException.class, "a record too old");
        }

        String topic = Checks.topic("time", 1);
        long start = System.currentTimeMillis() - 1_000_000;
        try (var producer = Checks.producer(Map.of("batch.size", 200))) {
            for (int number = 0; number < 100; number++) {
                producer.send(new ProducerRecord<>(topic, 0, start + number * 1000L, null, bytes("" + number)));
            }
        }
        TopicPartition place = new TopicPartition(topic, 0);
        try (var consumer = Checks.consumer(Map.of())) {
            var found = consumer.offsetsForTimes(Map.of(place, start + 41_500)).get(place);
            Checks.equal(found.offset(), 42L, "offset by time");
            Checks.equal(found.timestamp(), start + 42_000, "timestamp found");
            Checks.check(consumer.offsetsForTimes(Map.of(place, start + 99_001)).get(place) == null, "beyond the last record");
            consumer.assign(List.of(place));
            consumer.seek(place, found.offset());
            Checks.equal(new String(Checks.drain(consumer, 1).get(0).value()), "42", "read from a time");
        }
    }

    static void idempotent() throws Exception {
        String topic = Checks.topic("idempotent", 1);
        List<Future<RecordMetadata>> reports = new ArrayList<>();
        try (var producer = Checks.producer(Map.of("enable.idempotence", true, "acks", "all", "batch.size", 300))) {
            for (int number = 0; number < 3000; number++) {
                reports.add(producer.send(new ProducerRecord<>(topic, 0, null, bytes("" + number))));
            }
        }
        for (int number = 0; number < 3000; number++) Checks.equal(reports.get(number).get().offset(), (long) number, "offset");
        var got = Checks.read(topic, 3000);
        for (int number = 0; number < 3000; number++) Checks.equal(new String(got.get(number).value()), "" + number, "order");
    }

    static void positions() throws Exception {
        String topic = Checks.topic("positions", 1);
        TopicPartition place = new TopicPartition(topic, 0);
        try (var producer = Checks.producer(Map.of())) {
            for (int number = 0; number < 50; number++) producer.send(new ProducerRecord<>(topic, 0, null, bytes("" + number)));
        }
        try (var consumer = Checks.consumer(Map.of("auto.offset.reset", "none"))) {
            consumer.assign(List.of(place));
            consumer.seekToEnd(List.of(place));
            Checks.equal(consumer.position(place), 50L, "the end");
            consumer.seekToBeginning(List.of(place));
            Checks.equal(consumer.position(place), 0L, "the beginning");
            consumer.seek(place, 20);
            Checks.equal(Checks.drain(consumer, 1).get(0).offset(), 20L, "the middle");
            Checks.equal(consumer.currentLag(place).isPresent(), true, "lag is known");
            consumer.seek(place, 900);
            boolean thrown = false;
            for (int round = 0; round < 600 && !thrown; round++) {
                try {
                    consumer.poll(Duration.ofMillis(100));
                } catch (OffsetOutOfRangeException expected) {
                    thrown = true;
                }
            }
            Checks.check(thrown, "an offset out of range is reported");
        }
    }

    static void recreate() throws Exception {
        String topic = Checks.topic("recreate", 1);
        try (Admin admin = Checks.admin(); var producer = Checks.producer(Map.of("metadata.max.age.ms", 300))) {
            producer.send(new ProducerRecord<>(topic, bytes("old"))).get();
            var before = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
            admin.deleteTopics(List.of(topic)).all().get();
            Checks.until("the topic again", () -> {
                try {
                    admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
                    return true;
                } catch (ExecutionException notYet) {
                    return false;
                }
            });
            Checks.until("a new id", () -> {
                try {
                    return !admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId().equals(before);
                } catch (ExecutionException notYet) {
                    Checks.equal(notYet.getCause().getClass(), UnknownTopicOrPartitionException.class, "while recreating");
                    return false;
                }
            });
            producer.send(new ProducerRecord<>(topic, bytes("new"))).get();
            Checks.equal(new String(Checks.read(topic, 1).get(0).value()), "new", "the new topic's first record");
        }
    }
}
