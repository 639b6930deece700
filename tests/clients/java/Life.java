import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A client that lives through whatever happens to a cluster, until its standard input ends (see tests/chaos/cluster).
 * java Life follow BOOTSTRAP TOPIC PARTITIONS LEVEL: every record from the beginning, a line each: PARTITION OFFSET VALUE.
 * java Life write BOOTSTRAP TOPIC PARTITIONS NAME RATE: numbered records; ack NUMBER PARTITION OFFSET, or fail NUMBER REASON;
 * at the end: end COUNT.
 */
public final class Life {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static volatile boolean stopping;

    public static void main(String[] arguments) throws Exception {
        Thread waiting = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException gone) {
                // as good as the end
            }
            stopping = true;
        });
        waiting.setDaemon(true);
        waiting.start();
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", arguments[1]));
        int partitions = Integer.parseInt(arguments[3]);
        if (arguments[0].equals("follow")) follow(settings, arguments[2], partitions, arguments[4]);
        else write(settings, arguments[2], partitions, arguments[4], Integer.parseInt(arguments[5]));
        OUT.flush();
    }

    private static void follow(Map<String, Object> settings, String topic, int partitions, String level) {
        settings.putAll(Map.of("isolation.level", level, "auto.offset.reset", "none", "enable.auto.commit", false));
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> places = new ArrayList<>();
            for (int number = 0; number < partitions; number++) places.add(new TopicPartition(topic, number));
            consumer.assign(places);
            for (TopicPartition place : places) consumer.seek(place, 0);
            while (!stopping) {
                for (var one : consumer.poll(Duration.ofMillis(100))) {
                    OUT.println(one.partition() + " " + one.offset() + " " + new String(one.value(), StandardCharsets.UTF_8));
                }
                OUT.flush();
            }
        }
    }

    private static void write(Map<String, Object> settings, String topic, int partitions, String name, int rate) throws Exception {
        settings.putAll(Map.of("acks", "all", "enable.idempotence", true, "linger.ms", 5));
        int count = 0;
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            long began = System.nanoTime();
            while (!stopping) {
                if (count >= (System.nanoTime() - began) / 1e9 * rate) {
                    Thread.sleep(2);
                    OUT.flush();
                    continue;
                }
                int number = count++;
                byte[] value = (name + " " + number).getBytes(StandardCharsets.UTF_8);
                producer.send(new ProducerRecord<>(topic, number % partitions, null, value), (where, failure) -> {
                    if (failure == null) OUT.println("ack " + number + " " + where.partition() + " " + where.offset());
                    else OUT.println("fail " + number + " " + failure);
                });
            }
        }
        OUT.println("end " + count);
    }
}
