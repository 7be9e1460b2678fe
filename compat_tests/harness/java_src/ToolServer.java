import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Kafka's command-line tools in one virtual machine, so that each use costs milliseconds instead of a start of Java.
 * Read from standard input: a count, then as many strings (class, standard input, arguments...), each as length and UTF-8.
 * Written to standard output: exit status, then what the tool wrote to its standard output and to its standard error.
 */
public final class ToolServer {
    private ToolServer() {}

    /** Thrown in place of ending the machine. Some tools catch it and call exit again: the first call counts. */
    private static final class ToolExit extends RuntimeException {
        ToolExit() {
            super(null, null, false, false);
        }
    }

    /** A stream whose target changes from tool to tool; libraries that remember System.out hold this one. */
    private static final class Switched extends OutputStream {
        private volatile ByteArrayOutputStream target = new ByteArrayOutputStream();
        private volatile boolean closed;

        @Override
        public void write(int value) {
            if (!closed) {
                target.write(value);
            }
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            if (!closed) {
                target.write(bytes, from, length);
            }
        }

        void open() {
            target = new ByteArrayOutputStream();
            closed = false;
        }
    }

    private static final Switched OUT = new Switched();
    private static final Switched ERR = new Switched();
    private static final List<Runnable> HOOKS = new ArrayList<>();
    private static volatile Integer firstExit;

    public static void main(String[] args) throws Exception {
        var requests = new DataInputStream(System.in);
        var answers = new DataOutputStream(System.out);
        System.setOut(new PrintStream(OUT, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(ERR, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> exit(status, message));
        Exit.setHaltProcedure((status, message) -> exit(status, message));
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        while (true) {
            String[] request = readStrings(requests);
            OUT.open();
            ERR.open();
            firstExit = null;
            System.setIn(new ByteArrayInputStream(request[1].getBytes(StandardCharsets.UTF_8)));
            int status = run(request[0], Arrays.copyOfRange(request, 2, request.length));
            answers.writeInt(status);
            writeBytes(answers, OUT.target.toByteArray());
            writeBytes(answers, ERR.target.toByteArray());
            answers.flush();
        }
    }

    private static void exit(int status, String message) {
        if (firstExit == null) {
            if (message != null) {
                System.err.println(message);
            }
            firstExit = status;
            OUT.closed = ERR.closed = true;
        }
        throw new ToolExit();
    }

    private static int run(String tool, String[] args) throws Exception {
        int status = 0;
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) args);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof ToolExit)) {
                thrown.getCause().printStackTrace();
                status = 1;
            }
        }
        for (Runnable hook : List.copyOf(HOOKS)) { // the console producer flushes in one
            hook.run();
        }
        HOOKS.clear();
        return firstExit == null ? status : firstExit;
    }

    private static String[] readStrings(DataInputStream in) throws IOException {
        int count;
        try {
            count = in.readInt();
        } catch (EOFException end) {
            Runtime.getRuntime().halt(0);
            return null;
        }
        var strings = new String[count];
        for (int i = 0; i < count; i++) {
            strings[i] = new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8);
        }
        return strings;
    }

    private static void writeBytes(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }
}
