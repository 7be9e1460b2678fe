package io.debezium.kafka;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/**
 * In the place of Debezium's, which runs a broker of 2024 in this JVM: brokers in processes of their own. The first server that is started starts
 * as many as were made, by the command in broker.command; the last that is shut down ends them.
 */
public class KafkaServer {
    private static Process process;
    private static int made;
    private static int running;

    private final Properties config = new Properties();
    private final int brokerId;
    private int port;

    public KafkaServer(Supplier<String> zookeeper, int brokerId) {
        this.brokerId = brokerId;
        made += 1;
    }

    protected int brokerId() {
        return brokerId;
    }

    public KafkaServer setPort(int wanted) {
        port = wanted;
        return this;
    }

    public KafkaServer setProperties(Properties properties) {
        config.putAll(properties);
        return this;
    }

    public KafkaServer startup() {
        if (running == 0) {
            start(config.containsKey("authorizer.class.name"));
        }
        running += 1;
        return this;
    }

    private void start(boolean authorizer) {
        List<String> command = new ArrayList<>(List.of(System.getProperty("broker.command").split(" ")));
        command.addAll(List.of(Integer.toString(port), Integer.toString(made)));
        if (authorizer) {
            command.add("--authorizer");
        }
        try {
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            String ready = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
            if (ready == null) {
                throw new IllegalStateException("no broker was started by " + String.join(" ", command));
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    public void shutdown(boolean deleteData) {
        running -= 1;
        if (running > 0) {
            return;
        }
        made = 0;
        try {
            process.getOutputStream().close();
            process.waitFor();
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    public void deleteData() {}

    /** As Debezium's says it, which some tests compare. */
    public String getConnection() {
        return "localhost:" + port;
    }

    public void createTopics(String... topics) {
        createTopics(1, 1, topics);
    }

    public void createTopics(int partitions, int replication, String... topics) {
        for (String topic : topics) {
            createTopic(topic, partitions, replication);
        }
    }

    public void createTopic(String topic, int partitions, int replication) {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", getConnection()))) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) replication))).all().get();
        } catch (InterruptedException | ExecutionException error) {
            throw new IllegalStateException(error);
        }
    }

    public File getStateDirectory() {
        return null;
    }

    public void setStateDirectory(File directory) {}

    void onEachDirectory(Consumer<File> consumer) {}
}
