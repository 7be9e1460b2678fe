import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The Java client with a key table, in the realm of KRB5_CONFIG. KERBEROS_JAAS is its login module. */
final class KerberosCases {
    static {
        System.setProperty("java.security.krb5.conf", System.getenv("KRB5_CONFIG"));
    }

    private KerberosCases() {}

    private static Properties properties(String bootstrap, String service) {
        var properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("security.protocol", "SASL_PLAINTEXT");
        properties.put("sasl.mechanism", "GSSAPI");
        properties.put("sasl.kerberos.service.name", service);
        properties.put("sasl.jaas.config", System.getenv("KERBEROS_JAAS"));
        return properties;
    }

    private static Properties encrypted() {
        var properties = properties(System.getenv("KERBEROS_ENCRYPTED"), "kafka");
        properties.put("security.protocol", "SASL_SSL");
        properties.put("ssl.truststore.type", "PEM");
        properties.put("ssl.truststore.location", System.getenv("KERBEROS_AUTHORITY"));
        return properties;
    }

    @Cases.Case
    static void thereAndBack(String bootstrap) throws Exception {
        thereAndBack(properties(bootstrap, "kafka"), "java-kerberos");
    }

    @Cases.Case
    static void thereAndBackOverTls(String bootstrap) throws Exception {
        thereAndBack(encrypted(), "java-kerberos-tls");
    }

    private static void thereAndBack(Properties properties, String topic) throws Exception {
        try (var admin = Admin.create(properties)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
            Cases.soon(() -> admin.describeTopics(List.of(topic)).allTopicNames().get());
        }
        try (var producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>(topic, "key", "value")).get(60, TimeUnit.SECONDS);
        }
        try (var consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            consumer.seekToBeginning(List.of(new TopicPartition(topic, 0)));
            Cases.same("value", consumer.poll(Duration.ofSeconds(60)).iterator().next().value());
        }
    }

    @Cases.Case
    static void isTheUserOfHisName(String bootstrap) throws Exception {
        for (var properties : List.of(properties(bootstrap, "kafka"), encrypted())) {
            try (var admin = Admin.create(properties)) {
                var token = admin.createDelegationToken(new CreateDelegationTokenOptions()).delegationToken().get();
                Cases.same("User:java", token.tokenInfo().owner().toString());
            }
        }
    }

    @Cases.Case
    static void aTicketForAnotherServiceIsRefused(String bootstrap) throws Exception {
        try (var admin = Admin.create(properties(bootstrap, "http"))) {
            var failure = Cases.fails(SaslAuthenticationException.class, () -> admin.describeCluster().clusterId().get());
            Cases.check(failure.getMessage().contains("invalid credentials with SASL mechanism GSSAPI"), failure.getMessage());
        }
    }

    @Cases.Case
    static void aSessionIsRenewed(String bootstrap) throws Exception {
        try (var admin = Admin.create(properties(System.getenv("KERBEROS_SHORT"), "kafka"))) {
            long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(100);
            while (renewals(admin) < 1) {
                Cases.check(System.nanoTime() < limit, "the session was not renewed");
                admin.describeCluster().clusterId().get();
                Thread.sleep(50);
            }
        }
    }

    private static double renewals(Admin admin) {
        return admin.metrics().values().stream()
            .filter(metric -> metric.metricName().name().equals("successful-reauthentication-total"))
            .mapToDouble(metric -> (double) metric.metricValue()).sum();
    }
}
