import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.MemoryRecords;

/**
 * Kafka's own serialisers as a filter. Input lines: a schema's name, a version and, with "read", a message in base64.
 * Output lines: name, version, the message in base64, and what it says as JSON. With "write SEED SAMPLES" the messages
 * are made here, with random content for every field that the version has.
 */
public class Messages {
    static final String[] PACKAGES = {
        "org.apache.kafka.common.message.", "org.apache.kafka.common.metadata.",
        "org.apache.kafka.coordinator.group.generated.", "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.coordinator.share.generated.", "org.apache.kafka.raft.generated."};
    static final String[] ALPHABET = {"a", "Z", "0", "-", "_", ".", "é", "漢", "😀", " "};

    static Random random;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        boolean write = args[0].equals("write");
        int samples = write ? Integer.parseInt(args[2]) : 1;
        random = new Random(write ? Long.parseLong(args[1]) : 0);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", -1);
            Class<?> type = find(parts[0]);
            short version = Short.parseShort(parts[1]);
            for (int i = 0; i < samples; i++) {
                Message message;
                if (write) {
                    message = (Message) fill(type, version, i);
                } else {
                    Constructor<?> read = type.getConstructor(Readable.class, short.class);
                    ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(parts[2]));
                    try {
                        message = (Message) read.newInstance(new ByteBufferAccessor(bytes), version);
                    } catch (java.lang.reflect.InvocationTargetException e) {
                        out.println(parts[0] + "\t" + version + "\terror\t" + e.getCause());
                        continue;
                    }
                    if (bytes.hasRemaining())
                        throw new IllegalStateException(line + ": bytes left over");
                }
                byte[] bytes = MessageUtil.toByteBufferAccessor(message, version).buffer().array();
                out.println(parts[0] + "\t" + version + "\t" + Base64.getEncoder().encodeToString(bytes) + "\t"
                    + json(type, message, version));
            }
        }
        out.flush();
    }

    static Class<?> find(String name) {
        for (String prefix : PACKAGES) {
            for (String suffix : new String[] {"Data", ""}) {
                try {
                    return Class.forName(prefix + name + suffix);
                } catch (ClassNotFoundException e) {
                    continue;
                }
            }
        }
        throw new IllegalArgumentException("no class for " + name);
    }

    static Object json(Class<?> type, Object message, short version) throws Exception {
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        Method write = converter.getMethod("write", type, short.class);
        return write.invoke(null, message, version);
    }

    /** An object with random content; the first sample of each version has every list and tagged field filled. */
    static Object fill(Class<?> type, short version, int sample) throws Exception {
        Schema[] schemas = (Schema[]) type.getField("SCHEMAS").get(null);
        return struct(type, schemas[version], sample == 0);
    }

    static Object struct(Class<?> type, Schema schema, boolean full) throws Exception {
        Object object = type.getConstructor().newInstance();
        for (var bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields) {
                TaggedFields tagged = (TaggedFields) bound.def.type;
                for (Map.Entry<Integer, Field> entry : tagged.fields().entrySet())
                    if (full || random.nextBoolean())
                        set(object, entry.getValue(), full);
                if (full || random.nextInt(4) == 0)
                    unknown(object);
            } else {
                set(object, bound.def, full);
            }
        }
        return object;
    }

    @SuppressWarnings("unchecked")
    static void unknown(Object object) throws Exception {
        List<RawTaggedField> fields =
            (List<RawTaggedField>) object.getClass().getMethod("unknownTaggedFields").invoke(object);
        fields.add(new RawTaggedField(100 + random.nextInt(27), bytes(random.nextInt(5))));
        fields.add(new RawTaggedField(1000 + random.nextInt(100000), bytes(random.nextInt(200))));
    }

    static void set(Object object, Field field, boolean full) throws Exception {
        StringBuilder name = new StringBuilder();
        for (String word : field.name.split("_"))
            name.append(name.length() == 0 ? word.substring(0, 1) : word.substring(0, 1).toUpperCase())
                .append(word.substring(1));
        java.lang.reflect.Field target = member(object.getClass(), name.toString());
        target.setAccessible(true);
        target.set(object, value(field.type, target.getGenericType(), full));
    }

    static java.lang.reflect.Field member(Class<?> type, String name) {
        for (java.lang.reflect.Field field : type.getDeclaredFields())
            if (field.getName().equalsIgnoreCase(name))
                return field;
        throw new IllegalArgumentException(type + " has no field " + name);
    }

    static Object value(Type type, java.lang.reflect.Type java, boolean full) throws Exception {
        if (type.isNullable() && !full && random.nextInt(4) == 0)
            return null;
        if (type.isArray())
            return list(type.arrayElementType().get(), java, full);
        if (type instanceof Schema)
            return struct((Class<?>) java, (Schema) type, full);
        switch (type.toString()) {
            case "BOOLEAN": return random.nextBoolean();
            case "INT8": return (byte) random.nextInt();
            case "INT16": return (short) random.nextInt();
            case "UINT16": return random.nextInt(65536);
            case "INT32": return random.nextInt() >> random.nextInt(32);
            case "UINT32": return random.nextLong() >>> 32;
            case "INT64": return random.nextLong() >> random.nextInt(64);
            case "FLOAT64": return random.nextDouble() * 1e6;
            case "UUID": return new Uuid(random.nextLong(), random.nextLong());
            default:
        }
        if (java == String.class)
            return text();
        byte[] bytes = bytes(length());
        if (java == byte[].class)
            return bytes;
        return java == ByteBuffer.class ? ByteBuffer.wrap(bytes) : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes));
    }

    @SuppressWarnings("unchecked")
    static Object list(Type element, java.lang.reflect.Type java, boolean full) throws Exception {
        Collection<Object> list;
        java.lang.reflect.Type inner;
        if (java instanceof ParameterizedType) {
            list = new ArrayList<>();
            inner = ((ParameterizedType) java).getActualTypeArguments()[0];
        } else {
            list = (Collection<Object>) ((Class<?>) java).getConstructor().newInstance();
            inner = ((ParameterizedType) ((Class<?>) java).getGenericSuperclass()).getActualTypeArguments()[0];
        }
        int size = random.nextInt(40) == 0 && !(element instanceof Schema) ? 150 : random.nextInt(3);
        for (int i = full ? -1 : 0; i < size; i++)
            list.add(value(element, inner, full));
        return list;
    }

    static String text() {
        StringBuilder text = new StringBuilder();
        for (int i = length() / 2; i > 0; i--)
            text.append(ALPHABET[random.nextInt(ALPHABET.length)]);
        return text.toString();
    }

    /** Mostly short; sometimes around and above what one byte of a compact length can say. */
    static int length() {
        return random.nextInt(8) == 0 ? 110 + random.nextInt(200) : random.nextInt(20);
    }

    static byte[] bytes(int size) {
        byte[] bytes = new byte[size];
        random.nextBytes(bytes);
        return bytes;
    }
}
