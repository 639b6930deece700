import java.lang.reflect.Field;
import java.util.*;
import java.util.function.Function;
import org.apache.kafka.common.config.ConfigDef;

/** Prints facts about every Kafka configuration name, one tab-separated line each: no prose, only names, types and bounds. */
public class ConfigFacts {
    static Object field(String type, String name) throws Exception {
        Field field = Class.forName(type).getDeclaredField(name);
        field.setAccessible(true);
        return field.get(null);
    }

    static String text(Object value) {
        if (value == null) return "\\N";
        return value.toString().replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n");
    }

    static void keys(String scope, ConfigDef def) {
        for (ConfigDef.ConfigKey key : new TreeMap<>(def.configKeys()).values()) {
            String dflt = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : "\\R";
            System.out.println(String.join("\t", scope, key.name, key.type.name(),
                key.hasDefault() ? text(dflt) : "\\R", key.importance.name(), key.internalConfig ? "internal" : "public",
                key.validator == null ? "" : text(key.validator.toString())));
        }
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        keys("topic", (ConfigDef) (Object) org.apache.kafka.storage.internals.log.LogConfig.configDefCopy());
        keys("broker", kafka.server.KafkaConfig.configDef());
        keys("quota-broker", (ConfigDef) Class.forName("org.apache.kafka.server.config.QuotaConfig").getMethod("brokerQuotaConfigs").invoke(null));
        keys("group", (ConfigDef) field("org.apache.kafka.coordinator.group.GroupConfig", "CONFIG_DEF"));
        keys("client-metrics", org.apache.kafka.server.metrics.ClientMetricsConfigs.configDef());
        for (Map.Entry<String, String> mode : new TreeMap<>(org.apache.kafka.server.config.DynamicBrokerConfig.dynamicConfigUpdateModes()).entrySet())
            System.out.println("mode\t" + mode.getKey() + "\t" + mode.getValue());
        for (String name : new TreeSet<>((Set<String>) field("org.apache.kafka.server.config.DynamicBrokerConfig", "ALL_DYNAMIC_CONFIGS")))
            System.out.println("dynamic\t" + name);
        Map<String, List<Object>> topic = (Map<String, List<Object>>) field("org.apache.kafka.server.config.ServerTopicConfigSynonyms", "ALL_TOPIC_CONFIG_SYNONYMS");
        for (Map.Entry<String, List<Object>> entry : new TreeMap<>(topic).entrySet())
            for (Object synonym : entry.getValue()) {
                String name = (String) synonym.getClass().getMethod("name").invoke(synonym);
                Function<String, String> converter = (Function<String, String>) synonym.getClass().getMethod("converter").invoke(synonym);
                System.out.println("topic-synonym\t" + entry.getKey() + "\t" + name + "\t" + converter.apply("1"));
            }
        Map<String, Optional<String>> group = (Map<String, Optional<String>>) field("org.apache.kafka.coordinator.group.GroupConfig", "ALL_GROUP_CONFIG_SYNONYMS");
        for (Map.Entry<String, Optional<String>> entry : new TreeMap<>(group).entrySet())
            System.out.println("group-synonym\t" + entry.getKey() + "\t" + entry.getValue().orElse(""));
        for (String name : new TreeSet<>(kafka.server.KafkaConfig.configDef().names()))
            System.out.println("broker-synonym\t" + name + "\t" + String.join(",", org.apache.kafka.server.config.DynamicBrokerConfig.brokerConfigSynonyms(name, true)));
        System.out.println("metadata-version\t" + org.apache.kafka.server.common.MetadataVersion.latestProduction().featureLevel()
            + "\t" + org.apache.kafka.server.common.MetadataVersion.latestProduction());
    }
}
