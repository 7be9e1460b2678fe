import java.io.FileInputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;

/** Asks for the topics with each of these files of settings, all at once, and prints of each a line: the file, and what it ended with. */
public class Attacked {
    public static void main(String[] files) throws Exception {
        List<Thread> asking = new ArrayList<>();
        for (String file : files) {
            Thread thread = new Thread(() -> System.out.println(file + "\t" + answer(file)));
            thread.start();
            asking.add(thread);
        }
        for (Thread thread : asking) {
            thread.join();
        }
        Runtime.getRuntime().halt(0); // a thread that computes is not waited for
    }

    private static String answer(String file) {
        Properties settings = new Properties();
        try (FileInputStream in = new FileInputStream(file)) {
            settings.load(in);
            long limit = Long.parseLong(settings.getProperty("attacked.limit.ms", "" + Long.MAX_VALUE));
            Admin admin = Admin.create(settings); // closing it would wait for its thread
            return "answered: " + admin.listTopics().names().get(limit, TimeUnit.MILLISECONDS);
        } catch (TimeoutException waiting) {
            return "waits on";
        } catch (Throwable failed) {
            StringBuilder words = new StringBuilder();
            for (Throwable each = failed; each != null; each = each.getCause()) {
                words.append(each.toString().replaceAll("\\s+", " ")).append("; ");
            }
            return words.toString();
        }
    }
}
