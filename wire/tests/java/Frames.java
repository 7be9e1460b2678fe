import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Map;

import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.coordinator.transaction.TransactionCoordinatorRecordSerde;
import org.apache.kafka.metadata.MetadataRecordSerde;

/**
 * Reads framed records of internal topics with Kafka's own classes and writes them again. Input lines: "metadata", or
 * the coordinator's name; the value or key in base64; a coordinator's value. Output: the record's class, the same again.
 */
public class Frames {
    static final Map<String, CoordinatorRecordSerde> COORDINATORS = Map.of(
        "group", new GroupCoordinatorRecordSerde(),
        "transaction", new TransactionCoordinatorRecordSerde(),
        "share", new ShareCoordinatorRecordSerde());

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t");
            ByteBuffer first = ByteBuffer.wrap(Base64.getDecoder().decode(parts[1]));
            System.out.println(parts[0].equals("metadata") ? metadata(first)
                : coordinator(COORDINATORS.get(parts[0]), first, ByteBuffer.wrap(Base64.getDecoder().decode(parts[2]))));
        }
    }

    static String metadata(ByteBuffer bytes) {
        MetadataRecordSerde serde = MetadataRecordSerde.INSTANCE;
        var record = serde.read(new ByteBufferAccessor(bytes), bytes.remaining());
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer out = ByteBuffer.allocate(serde.recordSize(record, cache));
        serde.write(record, cache, new ByteBufferAccessor(out));
        return record.message().getClass().getSimpleName() + "\t" + text(out.array());
    }

    static String coordinator(CoordinatorRecordSerde serde, ByteBuffer key, ByteBuffer value) {
        CoordinatorRecord record = serde.deserialize(key, value);
        return record.key().getClass().getSimpleName() + "\t" + text(serde.serializeKey(record)) + "\t"
            + text(serde.serializeValue(record));
    }

    static String text(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }
}
