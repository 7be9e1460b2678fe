import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.security.kerberos.KerberosName;
import org.apache.kafka.common.security.kerberos.KerberosShortNamer;

/**
 * Reads lines of JSON: {"realm": the default one, "rules": [...], "names": [...]}, and answers each with a line: null where Kafka
 * does not take the rules, else for each name the user, or null where it is nobody's.
 */
public class ShortNames {
    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in, "UTF-8"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(json.writeValueAsString(answer(json.readValue(line, Map.class))));
        }
    }

    @SuppressWarnings("unchecked")
    private static List<String> answer(Map<?, ?> asked) {
        KerberosShortNamer namer;
        try {
            namer = KerberosShortNamer.fromUnparsedRules((String) asked.get("realm"), (List<String>) asked.get("rules"));
        } catch (RuntimeException notTaken) {
            return null;
        }
        return ((List<String>) asked.get("names")).stream().map(name -> user(namer, name)).toList();
    }

    private static String user(KerberosShortNamer namer, String name) {
        try {
            return namer.shortName(KerberosName.parse(name));
        } catch (Exception nobody) {
            return null;
        }
    }
}
