import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.config.ReplicationQuotaManagerConfig;
import org.apache.kafka.server.quota.QuotaType;
import org.apache.kafka.server.quota.ReplicationQuotaManager;

/**
 * Reads what happens to Kafka's ReplicationQuotaManager, one event a line after its time in milliseconds, and prints after each whether the
 * quota is exceeded. A line "new NUMBER SECONDS" makes another one, with that many windows of so many seconds.
 */
public class ReplicationQuotas {
    private static long now;

    private static final Time TIME = (Time) java.lang.reflect.Proxy.newProxyInstance(Time.class.getClassLoader(),
        new Class<?>[] {Time.class}, (proxy, method, args) -> switch (method.getName()) {
            case "milliseconds", "hiResClockMs" -> now;
            case "nanoseconds" -> now * 1_000_000;
            default -> throw new UnsupportedOperationException(method.getName());
        });

    public static void main(String[] args) throws Exception {
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        ReplicationQuotaManager quota = null;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            now = Long.parseLong(words[0]);
            switch (words[1]) {
                case "new" -> {
                    var config = new ReplicationQuotaManagerConfig(Integer.parseInt(words[2]), Integer.parseInt(words[3]));
                    quota = new ReplicationQuotaManager(config, new Metrics(TIME), QuotaType.LEADER_REPLICATION, TIME);
                }
                case "limit" -> quota.updateQuota(new Quota(Double.parseDouble(words[2]), true));
                case "record" -> quota.record(Long.parseLong(words[2]));
                default -> { }
            }
            System.out.println("exceeded " + quota.isQuotaExceeded());
        }
    }
}
