import java.util.Properties;
import org.apache.zookeeper.server.ServerConfig;
import org.apache.zookeeper.server.ZooKeeperServerMain;
import org.apache.zookeeper.server.quorum.QuorumPeerConfig;

/** Apache Kafka as it ran before KRaft, with the ZooKeeper it needs in the same JVM: one start in place of two. */
public final class KafkaWithZooKeeper {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("dataDir", args[0]);
        properties.setProperty("clientPort", args[1]);
        properties.setProperty("clientPortAddress", "127.0.0.1");
        properties.setProperty("admin.enableServer", "false");
        QuorumPeerConfig parsed = new QuorumPeerConfig();
        parsed.parseProperties(properties);
        ServerConfig config = new ServerConfig();
        config.readFrom(parsed);
        Thread zookeeper = new Thread(() -> serve(config), "zookeeper");
        zookeeper.setDaemon(true);
        zookeeper.start();
        kafka.Kafka.main(new String[] {args[2]});
    }

    private static void serve(ServerConfig config) {
        try {
            new ZooKeeperServerMain().runFromConfig(config);
        } catch (Exception error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }
}
