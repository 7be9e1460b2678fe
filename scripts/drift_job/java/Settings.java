import java.lang.reflect.Field;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints every setting in a line: what it is of, its name, type, default, validator, importance, and how it can be altered. */
public class Settings {
    public static void main(String[] args) throws Exception {
        Map<String, ConfigDef> tables = new LinkedHashMap<>();
        tables.put("broker", kafka.server.KafkaConfig.configDef());
        tables.put("topic", LogConfig.configDefCopy());
        for (Field field : GroupConfig.class.getDeclaredFields()) {
            if (field.getType() == ConfigDef.class) {
                field.setAccessible(true);
                tables.put("group", (ConfigDef) field.get(null));
            }
        }
        tables.put("client metrics", ClientMetricsConfigs.configDef());
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        for (Map.Entry<String, ConfigDef> table : tables.entrySet()) {
            for (ConfigDef.ConfigKey key : table.getValue().configKeys().values()) {
                String initial = key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : "required";
                String mode = table.getKey().equals("broker") ? ", " + modes.getOrDefault(key.name, "read-only") : "";
                System.out.printf("%s %s: %s = %s %s, %s%s%s%n", table.getKey(), key.name, key.type, initial,
                    text(key.validator), key.importance, mode, key.internalConfig ? ", internal" : "");
            }
        }
    }

    /** Validators without a text of their own print their addresses. */
    private static String text(Object validator) {
        return validator == null ? "" : validator.toString().replaceAll("@[0-9a-f]+$", "").replaceAll("\\$\\$Lambda.*$", "(code)");
    }
}
