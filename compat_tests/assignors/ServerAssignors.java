import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Reads groups as JSON, one per line, and prints what Kafka's assignors on the server make of them: for every member its
 * partitions by topic, or the message of the refusal. Members, topics and partitions are handed over in the order in
 * which they come, so that nothing but what the assignors sort or hash themselves is in another order.
 */
public class ServerAssignors {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, ConsumerGroupPartitionAssignor> ASSIGNORS =
        Map.of("uniform", new UniformAssignor(), "range", new RangeAssignor());

    public static void main(String[] args) throws Exception {
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(assign(JSON.readValue(line, Map.class))));
        }
    }

    private static Object assign(Map<?, ?> group) {
        Map<Uuid, Integer> counts = new HashMap<>();
        ((Map<?, ?>) group.get("partitions")).forEach((topic, count) -> counts.put(uuid(topic), (Integer) count));
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<Uuid>> subscriptions = new LinkedHashSet<>();
        ((Map<?, ?>) group.get("members")).forEach((id, member) -> {
            MemberSubscriptionAndAssignmentImpl read = member((Map<?, ?>) member);
            members.put((String) id, read);
            subscriptions.add(read.subscribedTopicIds());
            read.partitions().forEach((topic, partitions) -> partitions.forEach(partition ->
                owners.computeIfAbsent(topic, any -> new HashMap<>()).put(partition, (String) id)));
        });
        SubscriptionType type = subscriptions.size() > 1 ? SubscriptionType.HETEROGENEOUS : SubscriptionType.HOMOGENEOUS;
        try {
            Map<String, MemberAssignment> assigned = ASSIGNORS.get(group.get("assignor"))
                .assign(new GroupSpecImpl(members, type, owners), describer(counts)).members();
            Map<String, Object> answer = new LinkedHashMap<>();
            members.keySet().forEach(id -> answer.put(id, assigned.containsKey(id) ? texts(assigned.get(id)) : Map.of()));
            return answer;
        } catch (PartitionAssignorException e) {
            return e.getMessage();
        }
    }

    private static MemberSubscriptionAndAssignmentImpl member(Map<?, ?> member) {
        Set<Uuid> subscribed = new LinkedHashSet<>();
        ((List<?>) member.get("subscribed")).forEach(topic -> subscribed.add(uuid(topic)));
        Map<Uuid, Set<Integer>> assigned = new LinkedHashMap<>();
        ((Map<?, ?>) member.get("assigned")).forEach((topic, partitions) -> {
            Set<Integer> read = new LinkedHashSet<>();
            ((List<?>) partitions).forEach(partition -> read.add((Integer) partition));
            assigned.put(uuid(topic), read);
        });
        return new MemberSubscriptionAndAssignmentImpl(Optional.empty(), Optional.ofNullable((String) member.get("instance_id")),
            subscribed, new Assignment(Collections.unmodifiableMap(assigned)));
    }

    private static Map<String, List<Integer>> texts(MemberAssignment assignment) {
        Map<String, List<Integer>> answer = new HashMap<>();
        assignment.partitions().forEach((topic, partitions) ->
            answer.put(topic.toString(), new ArrayList<>(new TreeSet<>(partitions))));
        return answer;
    }

    private static Uuid uuid(Object text) {
        return Uuid.fromString((String) text);
    }

    private static SubscribedTopicDescriber describer(Map<Uuid, Integer> counts) {
        return new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topicId) {
                return counts.getOrDefault(topicId, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid topicId, int partition) {
                return Set.of();
            }
        };
    }
}
