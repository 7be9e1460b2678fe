import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.util.Arrays;
import java.util.Base64;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints, as JSON, Kafka's definitions of settings, and what Kafka makes of the values and texts on standard input. */
public class KafkaSettings {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        Map<String, ConfigDef> tables = new LinkedHashMap<>();
        tables.put("broker", kafka.server.KafkaConfig.configDef());
        tables.put("topic", LogConfig.configDefCopy());
        tables.put("group", groupConfigDef());
        tables.put("client metrics", ClientMetricsConfigs.configDef());
        Map<?, ?> asked = JSON.readValue(System.in, Map.class);
        Map<String, Object> answer = new LinkedHashMap<>();
        for (Map.Entry<String, ConfigDef> table : tables.entrySet()) {
            answer.put(table.getKey(), describe(table.getValue()));
        }
        List<Object> parsed = new ArrayList<>();
        for (Object each : (List<?>) asked.get("values")) {
            List<?> value = (List<?>) each;
            parsed.add(parse(tables.get(value.get(0)), (String) value.get(1), (String) value.get(2)));
        }
        answer.put("parsed", parsed);
        List<Object> properties = new ArrayList<>();
        for (Object text : (List<?>) asked.get("properties")) {
            Properties read = new Properties();
            read.load(new StringReader((String) text));
            properties.add(read);
        }
        answer.put("properties", properties);
        List<Object> files = new ArrayList<>();
        for (Object bytes : (List<?>) asked.get("files")) {
            Properties read = new Properties();
            read.load(new ByteArrayInputStream(Base64.getDecoder().decode((String) bytes)));
            files.add(read);
        }
        answer.put("files", files);
        List<Object> refusals = new ArrayList<>();
        for (Object settings : (List<?>) asked.get("together")) {
            refusals.add(refusal((Map<?, ?>) settings));
        }
        answer.put("together", refusals);
        JSON.writeValue(System.out, answer);
    }

    private static List<Object> describe(ConfigDef table) {
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        List<Object> settings = new ArrayList<>();
        for (ConfigDef.ConfigKey key : table.configKeys().values()) {
            boolean required = key.defaultValue == ConfigDef.NO_DEFAULT_VALUE;
            String text = required || key.defaultValue == null ? null : ConfigDef.convertToString(key.defaultValue, key.type);
            settings.add(Arrays.asList(key.name, key.type.name(), required, text, key.importance.name(),
                modes.getOrDefault(key.name, "read-only"), key.internalConfig));
        }
        return settings;
    }

    /** The value as text, or the message of the refusal after a mark. */
    private static List<Object> parse(ConfigDef table, String name, String text) {
        Map<String, String> values = new HashMap<>(Map.of("node.id", "1", "process.roles", "broker", "controller.listener.names", "C"));
        values.put(name, text);
        try {
            Object value = table.parse(values).get(name);
            return Arrays.asList(true, ConfigDef.convertToString(value, table.configKeys().get(name).type));
        } catch (RuntimeException e) {
            return Arrays.asList(false, e.getMessage());
        }
    }

    /** Why a broker does not start with these settings; null where it does. */
    private static String refusal(Map<?, ?> settings) {
        Properties properties = new Properties();
        properties.putAll(settings);
        try {
            kafka.server.KafkaConfig.fromProps(properties);
            return null;
        } catch (RuntimeException e) {
            return e.getMessage();
        }
    }

    private static ConfigDef groupConfigDef() throws IllegalAccessException {
        for (Field field : GroupConfig.class.getDeclaredFields()) {
            if (field.getType() == ConfigDef.class) {
                field.setAccessible(true);
                return (ConfigDef) field.get(null);
            }
        }
        throw new IllegalStateException("GroupConfig has no ConfigDef");
    }
}
