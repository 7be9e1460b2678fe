import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.HashSet;
import java.util.ArrayList;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignorException;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/**
 * Reads streams groups as JSON, one per line, and prints what Kafka's sticky assignor makes of them: for every member its active and
 * its standby tasks by subtopology, or the message of the refusal. Members are in a HashMap, as in Kafka's coordinator.
 */
public class StreamsAssignors {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(JSON.writeValueAsString(assign(JSON.readValue(line, Map.class))));
        }
    }

    private static Object assign(Map<?, ?> group) {
        Map<String, MemberMetadataAndStateImpl> members = new HashMap<>();
        ((Map<?, ?>) group.get("members")).forEach((id, read) -> {
            Map<?, ?> member = (Map<?, ?>) read;
            Map<String, String> tags = new HashMap<>();
            ((Map<?, ?>) member.get("tags")).forEach((tag, value) -> tags.put((String) tag, (String) value));
            members.put((String) id, new MemberMetadataAndStateImpl(Optional.ofNullable((String) member.get("instance")),
                Optional.ofNullable((String) member.get("rack")), (String) member.get("process"), tags, tasks(member.get("active")),
                tasks(member.get("standby")), tasks(member.get("warmup")), offsets(member.get("offsets")), offsets(member.get("ends"))));
        });
        Map<String, Integer> counts = new TreeMap<>();
        ((Map<?, ?>) group.get("tasks")).forEach((id, count) -> counts.put((String) id, (Integer) count));
        Set<Object> stateful = new HashSet<>((List<?>) group.get("stateful"));
        var describer = new TopologyDescriber() {
            @Override
            public List<String> subtopologies() {
                return new ArrayList<>(counts.keySet());
            }

            @Override
            public int maxNumInputPartitions(String id) {
                return counts.get(id);
            }

            @Override
            public boolean isStateful(String id) {
                return stateful.contains(id);
            }
        };
        List<String> racks = new ArrayList<>();
        ((List<?>) group.get("racks")).forEach(tag -> racks.add((String) tag));
        var configs = new AssignmentConfigsImpl((Integer) group.get("standbys"), racks);
        try {
            Map<String, MemberAssignment> assigned =
                new StickyTaskAssignor().assign(new GroupSpecImpl(members, configs), describer).members();
            Map<String, Object> answer = new LinkedHashMap<>();
            assigned.forEach((id, each) -> answer.put(id, List.of(sorted(each.activeTasks()), sorted(each.standbyTasks()))));
            return answer;
        } catch (TaskAssignorException e) {
            return e.getMessage();
        }
    }

    private static Map<String, Set<Integer>> tasks(Object read) {
        Map<String, Set<Integer>> tasks = new HashMap<>();
        ((List<?>) read).forEach(each -> tasks.computeIfAbsent((String) ((List<?>) each).get(0), any -> new HashSet<>())
            .add((Integer) ((List<?>) each).get(1)));
        return tasks;
    }

    private static Map<String, Map<Integer, Long>> offsets(Object read) {
        Map<String, Map<Integer, Long>> offsets = new HashMap<>();
        ((List<?>) read).forEach(each -> offsets.computeIfAbsent((String) ((List<?>) each).get(0), any -> new HashMap<>())
            .put((Integer) ((List<?>) each).get(1), ((Number) ((List<?>) each).get(2)).longValue()));
        return offsets;
    }

    private static Map<String, Set<Integer>> sorted(Map<String, Set<Integer>> tasks) {
        Map<String, Set<Integer>> answer = new TreeMap<>();
        tasks.forEach((id, partitions) -> answer.put(id, new TreeSet<>(partitions)));
        return answer;
    }
}
