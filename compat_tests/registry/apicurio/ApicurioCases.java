import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.Message;
import com.google.type.LatLng;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaDeserializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaDeserializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;

/** Apicurio's serializers in Confluent's frame: each writes to a topic, and reads it; two read what others wrote, too. */
public class ApicurioCases {
    static String bootstrap;
    static Map<String, Object> registry = new HashMap<>();

    public static void main(String[] arguments) {
        bootstrap = arguments[0];
        registry.put("apicurio.registry.url", arguments[1]);
        registry.put("apicurio.registry.as-confluent", true);
        registry.put("apicurio.registry.headers.enabled", false);
        registry.put("apicurio.registry.auto-register", true);
        registry.put("apicurio.registry.artifact.schema.location", "person.json");
        test("avro", ApicurioCases::avro);
        test("avro_registered", ApicurioCases::avroRegistered);
        test("avro_of_others", () -> equal("{\"id\": 9}", read("avro-of-others", new AvroKafkaDeserializer<GenericRecord>()).toString()));
        test("avro_refused", ApicurioCases::avroRefused);
        test("json", ApicurioCases::json);
        test("json_of_others", () -> equal("{\"name\":\"Bob\"}", read("json-of-others", new JsonSchemaKafkaDeserializer<Object>()).toString()));
        test("protobuf", ApicurioCases::protobuf);
    }

    interface Case {
        void run() throws Exception;
    }

    static void test(String name, Case test) {
        try {
            test.run();
            System.out.println("CASE " + name + " PASS");
        } catch (Throwable error) {
            System.out.println("CASE " + name + " FAIL");
            error.printStackTrace(System.out);
        }
    }

    static void avro() throws Exception {
        Map<String, Object> content = Map.of("apicurio.registry.use-id", "contentId");
        write("avro", order("long", 7L), new AvroKafkaSerializer<GenericRecord>(), Map.of());
        equal("{\"id\": 7}", read("avro", new AvroKafkaDeserializer<GenericRecord>()).toString());
        write("avro-by-content", order("long", 8L), new AvroKafkaSerializer<GenericRecord>(), content);
        registry.putAll(content);
        equal("{\"id\": 8}", read("avro-by-content", new AvroKafkaDeserializer<GenericRecord>()).toString());
        registry.remove("apicurio.registry.use-id");
    }

    static void avroRegistered() throws Exception {
        Map<String, Object> known = Map.of("apicurio.registry.auto-register", false);
        write("avro", order("long", 7L), new AvroKafkaSerializer<GenericRecord>(), known);
        Map<String, Object> latest = Map.of("apicurio.registry.auto-register", false, "apicurio.registry.find-latest", true);
        write("avro", order("long", 7L), new AvroKafkaSerializer<GenericRecord>(), latest);
        Map<String, Object> second = Map.of("apicurio.registry.auto-register", false, "apicurio.registry.find-latest", true, "apicurio.registry.artifact.version", "1");
        write("avro", order("long", 7L), new AvroKafkaSerializer<GenericRecord>(), second);
    }

    static void avroRefused() throws Exception {
        try {
            write("avro", order("string", "seven"), new AvroKafkaSerializer<GenericRecord>(), Map.of());
        } catch (Exception error) {
            String said = String.valueOf(error.getMessage()) + error.getCause();
            if (!said.contains("TYPE_MISMATCH")) {
                throw error;
            }
            return;
        }
        throw new AssertionError("an incompatible schema was registered");
    }

    static void json() throws Exception {
        JsonNode ada = new ObjectMapper().readTree("{\"name\": \"Ada\"}");
        write("json", ada, new JsonSchemaKafkaSerializer<JsonNode>(), Map.of());
        equal("{\"name\":\"Ada\"}", read("json", new JsonSchemaKafkaDeserializer<Object>()).toString());
    }

    static void protobuf() throws Exception {
        LatLng place = LatLng.newBuilder().setLatitude(48.1).build();
        write("protobuf", place, new ProtobufKafkaSerializer<LatLng>(), Map.of());
        equal(place.toByteString(), read("protobuf", new ProtobufKafkaDeserializer<Message>()).toByteString());
    }

    static GenericRecord order(String type, Object id) {
        String text = "{\"type\":\"record\",\"name\":\"Order\",\"fields\":[{\"name\":\"id\",\"type\":\"" + type + "\"}]}";
        GenericRecord made = new GenericData.Record(new Schema.Parser().parse(text));
        made.put("id", id);
        return made;
    }

    static <T> void write(String topic, T value, Serializer<T> serializer, Map<String, Object> more) throws Exception {
        Map<String, Object> settings = new HashMap<>(registry);
        settings.putAll(more);
        serializer.configure(settings, false);
        try (var producer = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap), new ByteArraySerializer(), serializer)) {
            producer.send(new ProducerRecord<>(topic, value)).get();
        }
    }

    static <T> T read(String topic, Deserializer<T> deserializer) {
        deserializer.configure(registry, false);
        try (var consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", bootstrap), new ByteArrayDeserializer(), deserializer)) {
            var partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seek(partition, 0);
            while (true) {
                for (var record : consumer.poll(Duration.ofSeconds(10))) {
                    return record.value();
                }
            }
        }
    }

    static void equal(Object wanted, Object found) {
        if (!wanted.equals(found)) {
            throw new AssertionError(wanted + " was wanted, not " + found);
        }
    }
}
