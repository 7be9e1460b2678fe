import java.time.Duration;
import java.util.Map;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/** Prints topic, partition and offset where a group of another cluster goes on: main(bootstrap, alias of that cluster, group). */
public final class Translated {
    private Translated() {}

    public static void main(String[] args) throws Exception {
        Map<String, Object> here = Map.of("bootstrap.servers", args[0]);
        RemoteClusterUtils.translateOffsets(here, args[1], args[2], Duration.ofSeconds(20))
            .forEach((where, offset) ->
                System.out.println(where.topic() + " " + where.partition() + " " + offset.offset()));
    }
}
