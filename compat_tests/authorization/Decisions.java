import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.internals.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Reads lines of JSON: {"super": "User:a;User:b", "default": true, "acls": [[type, name, pattern, principal, host,
 * operation, permission]], "asked": [[principal, host, operation, type, name or null]], "filters": [[as an acl]]}, and
 * answers each with a line: what Kafka's StandardAuthorizer decides of what is asked (without a name: of any resource of
 * the type), and how many lists each filter matches.
 */
public class Decisions {
    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        StandardAuthorizer authorizer = new StandardAuthorizer();
        authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(json.writeValueAsString(answer(authorizer, json.readValue(line, Map.class))));
        }
    }

    private static List<Object> answer(StandardAuthorizer authorizer, Map<?, ?> scene) throws Exception {
        authorizer.configure(Map.of(
            StandardAuthorizer.SUPER_USERS_CONFIG, scene.get("super"),
            StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG, scene.get("default").toString()));
        Map<Uuid, StandardAcl> acls = new HashMap<>();
        for (Object each : (List<?>) scene.get("acls")) {
            acls.put(Uuid.randomUuid(), acl((List<?>) each));
        }
        authorizer.loadSnapshot(acls);
        authorizer.completeInitialLoad();
        List<Object> answers = new ArrayList<>();
        for (Object each : (List<?>) scene.get("asked")) {
            answers.add(decision(authorizer, (List<?>) each));
        }
        for (Object each : (List<?>) scene.get("filters")) {
            int count = 0;
            for (AclBinding ignored : authorizer.acls(filter((List<?>) each))) {
                count++;
            }
            answers.add(count);
        }
        return answers;
    }

    private static Boolean decision(StandardAuthorizer authorizer, List<?> asked) throws Exception {
        Asker asker = new Asker(
            SecurityUtils.parseKafkaPrincipal((String) asked.get(0)), InetAddress.getByName((String) asked.get(1)));
        AclOperation operation = AclOperation.fromCode(code(asked.get(2)));
        ResourceType type = ResourceType.fromCode(code(asked.get(3)));
        if (asked.get(4) == null) {
            return authorizer.authorizeByResourceType(asker, operation, type) == AuthorizationResult.ALLOWED;
        }
        ResourcePattern resource = new ResourcePattern(type, (String) asked.get(4), PatternType.LITERAL);
        return authorizer.authorize(asker, List.of(new Action(operation, resource, 1, false, false))).get(0)
            == AuthorizationResult.ALLOWED;
    }

    private static StandardAcl acl(List<?> acl) {
        return new StandardAcl(
            ResourceType.fromCode(code(acl.get(0))), (String) acl.get(1), PatternType.fromCode(code(acl.get(2))),
            (String) acl.get(3), (String) acl.get(4), AclOperation.fromCode(code(acl.get(5))),
            AclPermissionType.fromCode(code(acl.get(6))));
    }

    private static AclBindingFilter filter(List<?> acl) {
        return new AclBindingFilter(
            new ResourcePatternFilter(
                ResourceType.fromCode(code(acl.get(0))), (String) acl.get(1), PatternType.fromCode(code(acl.get(2)))),
            new AccessControlEntryFilter(
                (String) acl.get(3), (String) acl.get(4), AclOperation.fromCode(code(acl.get(5))),
                AclPermissionType.fromCode(code(acl.get(6)))));
    }

    private static byte code(Object number) {
        return ((Number) number).byteValue();
    }

    private record Asker(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        public String listenerName() {
            return "PLAINTEXT";
        }

        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        public int requestType() {
            return 0;
        }

        public int requestVersion() {
            return 0;
        }

        public String clientId() {
            return "";
        }

        public int correlationId() {
            return 0;
        }
    }
}
