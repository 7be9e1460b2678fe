import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads lines of JSON, a pattern and texts: ["a.*", "ab", "b"], and answers each with a line: which of the texts RE2/J
 * matches whole, [true, false], or the description of its refusal, "missing closing )".
 */
public class Re2jPatterns {
    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        var lines = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            List<?> asked = json.readValue(line, List.class);
            System.out.println(json.writeValueAsString(answer((String) asked.get(0), asked.subList(1, asked.size()))));
        }
    }

    private static Object answer(String text, List<?> names) {
        try {
            Pattern pattern = Pattern.compile(text);
            List<Boolean> matches = new ArrayList<>();
            names.forEach(name -> matches.add(pattern.matcher((String) name).matches()));
            return matches;
        } catch (PatternSyntaxException e) {
            return e.getDescription();
        } catch (Throwable e) {
            return "THROWN " + e;
        }
    }
}
