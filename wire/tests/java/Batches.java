import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Iterator;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

/**
 * Reads lines of JSON, each a description of a batch with the bytes that we made of it. Answers each with Kafka's own
 * bytes for the description, and with what Kafka reads in our bytes.
 */
public class Batches {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode wanted = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            answer.put("made", base64(make(wanted)));
            answer.set("read", read(ByteBuffer.wrap(bytes(wanted.get("bytes")))));
            out.println(JSON.writeValueAsString(answer));
        }
        out.flush();
    }

    private static ByteBuffer make(JsonNode wanted) {
        JsonNode marker = wanted.get("marker");
        if (!marker.isNull()) {
            ControlRecordType type = marker.get("commit").asBoolean() ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
            return MemoryRecords.withEndTransactionMarker(
                wanted.get("base_offset").asLong(), wanted.get("max_timestamp").asLong(),
                wanted.get("leader_epoch").asInt(), wanted.get("producer_id").asLong(),
                (short) wanted.get("producer_epoch").asInt(),
                new EndTransactionMarker(type, marker.get("coordinator_epoch").asInt())).buffer();
        }
        boolean logAppend = wanted.get("log_append_time").asBoolean();
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            new ByteBufferOutputStream(1024), RecordBatch.CURRENT_MAGIC_VALUE, compression(wanted),
            logAppend ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME, wanted.get("base_offset").asLong(),
            logAppend ? wanted.get("max_timestamp").asLong() : RecordBatch.NO_TIMESTAMP,
            wanted.get("producer_id").asLong(), (short) wanted.get("producer_epoch").asInt(),
            wanted.get("base_sequence").asInt(), wanted.get("transactional").asBoolean(), false,
            wanted.get("leader_epoch").asInt(), 1 << 30, wanted.get("delete_horizon").asLong());
        for (JsonNode record : wanted.get("records")) {
            builder.appendWithOffset(record.get("offset").asLong(), record.get("timestamp").asLong(),
                bytes(record.get("key")), bytes(record.get("value")), headers(record.get("headers")));
        }
        builder.overrideLastOffset(wanted.get("last_offset").asLong());
        return builder.build().buffer();
    }

    private static Compression compression(JsonNode wanted) {
        String name = wanted.get("compression").asText();
        if (!wanted.has("level")) {
            return Compression.of(name).build();
        }
        int level = wanted.get("level").asInt();
        switch (name) {
            case "gzip": return Compression.gzip().level(level).build();
            case "lz4": return Compression.lz4().level(level).build();
            default: return Compression.zstd().level(level).build();
        }
    }

    private static Header[] headers(JsonNode array) {
        Header[] headers = new Header[array.size()];
        for (int i = 0; i < headers.length; i++) {
            headers[i] = new RecordHeader(array.get(i).get(0).asText(), bytes(array.get(i).get(1)));
        }
        return headers;
    }

    private static ObjectNode read(ByteBuffer buffer) {
        Iterator<MutableRecordBatch> batches = MemoryRecords.readableRecords(buffer).batches().iterator();
        MutableRecordBatch batch = batches.next();
        if (batches.hasNext()) {
            throw new IllegalArgumentException("more than one batch");
        }
        batch.ensureValid();
        ObjectNode read = JSON.createObjectNode();
        read.put("base_offset", batch.baseOffset());
        read.put("last_offset", batch.lastOffset());
        read.put("leader_epoch", batch.partitionLeaderEpoch());
        read.put("compression", batch.compressionType().name);
        read.put("log_append_time", batch.timestampType() == TimestampType.LOG_APPEND_TIME);
        read.put("max_timestamp", batch.maxTimestamp());
        read.put("producer_id", batch.producerId());
        read.put("producer_epoch", batch.producerEpoch());
        read.put("base_sequence", batch.baseSequence());
        read.put("transactional", batch.isTransactional());
        read.put("delete_horizon", batch.deleteHorizonMs().orElse(RecordBatch.NO_TIMESTAMP));
        read.putNull("marker");
        ArrayNode records = read.putArray("records");
        for (Record record : batch) {
            record.ensureValid();
            if (batch.isControlBatch()) {
                EndTransactionMarker marker = EndTransactionMarker.deserialize(record);
                read.putObject("marker").put("commit", marker.controlType() == ControlRecordType.COMMIT)
                    .put("coordinator_epoch", marker.coordinatorEpoch());
            }
            ObjectNode node = records.addObject();
            node.put("offset", record.offset()).put("timestamp", record.timestamp());
            node.put("key", base64(record.key())).put("value", base64(record.value()));
            ArrayNode headers = node.putArray("headers");
            for (Header header : record.headers()) {
                headers.addArray().add(header.key())
                    .add(header.value() == null ? null : base64(ByteBuffer.wrap(header.value())));
            }
        }
        return read;
    }

    private static byte[] bytes(JsonNode node) {
        return node.isNull() ? null : Base64.getDecoder().decode(node.asText());
    }

    private static String base64(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return Base64.getEncoder().encodeToString(bytes);
    }
}
