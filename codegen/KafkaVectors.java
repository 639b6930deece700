import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;

/**
 * Lets Apache Kafka judge encoded messages: reads lines "name version hex", decodes each with Kafka's class of that
 * name, and prints "name version hex json", both as Kafka writes them. Called by codegen/vectors.py.
 */
public class KafkaVectors {
    static final String[] PACKAGES = {
        "org.apache.kafka.common.message.",
        "org.apache.kafka.common.metadata.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.coordinator.share.generated.",
        "org.apache.kafka.raft.generated.",
        "org.apache.kafka.server.log.remote.metadata.storage.generated.",
        "org.apache.kafka.storage.internals.generated.",
        "org.apache.kafka.server.generated.",
    };

    static Class<?> find(String name) throws ClassNotFoundException {
        for (String prefix : PACKAGES) {
            try {
                return Class.forName(prefix + name);
            } catch (ClassNotFoundException e) {
                // look further
            }
        }
        throw new ClassNotFoundException(name);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ", -1);
            String name = parts[0];
            short version = Short.parseShort(parts[1]);
            String suffix = name.endsWith("Request") || name.endsWith("Response") ? "Data" : name.endsWith("Header") ? "Data" : "";
            Class<?> cls = find(name + suffix);
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(parts[2]));
            try {
                Message message = (Message) cls.getConstructor(Readable.class, short.class)
                    .newInstance(new ByteBufferAccessor(bytes), version);
                if (bytes.hasRemaining()) {
                    throw new IllegalStateException(bytes.remaining() + " bytes left");
                }
                Class<?> json = Class.forName(cls.getName() + "JsonConverter");
                JsonNode node = null;
                for (var method : json.getMethods()) {
                    if (method.getName().equals("write") && method.getParameterCount() == 3) {
                        node = (JsonNode) method.invoke(null, message, version, true);
                    }
                }
                ByteBuffer written = MessageUtil.toByteBufferAccessor(message, version).buffer();
                byte[] out = new byte[written.remaining()];
                written.get(out);
                System.out.println(name + " " + version + " " + HexFormat.of().formatHex(out) + " " + node);
            } catch (Exception e) {
                Throwable cause = e.getCause() == null ? e : e.getCause();
                System.out.println(name + " " + version + " ! " + cause);
            }
        }
    }
}
