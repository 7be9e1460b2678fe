import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;

/**
 * Runs the cases of a class in one virtual machine: every static method that takes one String, the bootstrap address.
 * Each case answers on one line, "CASE name PASS" or "CASE name FAIL", followed by its stack trace with "| " before each line.
 */
public final class Cases {
    private Cases() {}

    /** main(class, bootstrap, names...): without names, all cases. */
    public static void main(String[] args) throws Exception {
        var wanted = Arrays.asList(args).subList(2, args.length);
        Method[] methods = Class.forName(args[0]).getDeclaredMethods();
        Arrays.sort(methods, Comparator.comparing(Method::getName));
        for (Method method : methods) {
            boolean isCase = method.getParameterCount() == 1 && method.getParameterTypes()[0] == String.class
                && method.getReturnType() == void.class && method.getAnnotation(Case.class) != null;
            if (isCase && (wanted.isEmpty() || wanted.contains(method.getName()))) {
                run(method, args[1]);
            }
        }
        System.exit(0); // clients that a failed case left open must not keep the machine alive
    }

    private static void run(Method method, String bootstrap) throws IllegalAccessException {
        long start = System.nanoTime();
        try {
            method.setAccessible(true);
            method.invoke(null, bootstrap);
            System.out.printf("CASE %s PASS %d ms%n", method.getName(), (System.nanoTime() - start) / 1_000_000);
        } catch (InvocationTargetException failure) {
            var text = new StringWriter();
            failure.getCause().printStackTrace(new PrintWriter(text));
            System.out.printf("CASE %s FAIL%n", method.getName());
            text.toString().lines().forEach(line -> System.out.println("| " + line));
        }
    }

    /** Throws when the two differ, saying both. */
    public static void same(Object expected, Object seen) {
        if (!java.util.Objects.equals(expected, seen)) {
            throw new AssertionError("expected " + expected + ", seen " + seen);
        }
    }

    public static void check(boolean truth, String otherwise) {
        if (!truth) {
            throw new AssertionError(otherwise);
        }
    }

    /** Runs the call, which must fail with an exception of this class, bare or as the cause; returns it. */
    public static <E extends Throwable> E fails(Class<E> expected, Call call) {
        try {
            call.run();
        } catch (Throwable thrown) {
            for (Throwable each = thrown; each != null; each = each.getCause()) {
                if (expected.isInstance(each)) {
                    return expected.cast(each);
                }
            }
            throw new AssertionError("expected " + expected.getSimpleName(), thrown);
        }
        throw new AssertionError("expected " + expected.getSimpleName() + ", but it succeeded");
    }

    /** Repeats the call until it succeeds: Apache Kafka answers a change before every reader sees it. */
    public static void soon(Call call) throws Exception {
        long deadline = System.currentTimeMillis() + 60_000;
        while (true) {
            try {
                call.run();
                return;
            } catch (Exception | AssertionError notYet) {
                if (System.currentTimeMillis() > deadline) {
                    throw notYet;
                }
                Thread.sleep(20);
            }
        }
    }

    /** A call that may throw anything. */
    public interface Call {
        void run() throws Exception;
    }

    /** Marks a case. */
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    public @interface Case {}
}
