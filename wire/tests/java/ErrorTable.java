import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints Kafka's error codes: number, name, whether to retry, whether metadata is stale, text. */
public class ErrorTable {
    public static void main(String[] args) {
        for (Errors error : Errors.values()) {
            System.out.println(String.join("\t", Short.toString(error.code()), error.name(),
                Boolean.toString(error.exception() instanceof RetriableException),
                Boolean.toString(error.exception() instanceof InvalidMetadataException), error.message()));
        }
    }
}
