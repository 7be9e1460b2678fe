package io.debezium.kafka;

import java.io.File;
import java.util.function.Consumer;

/** In the place of Debezium's: brokers need none any more. */
public class ZookeeperServer {
    public ZookeeperServer startup() {
        return this;
    }

    public void shutdown(boolean deleteData) {}

    public ZookeeperServer setPort(int port) {
        return this;
    }

    public String getConnection() {
        return "";
    }

    public int getPort() {
        return 0;
    }

    public ZookeeperServer setStateDirectory(File directory) {
        return this;
    }

    void onEachDirectory(Consumer<File> consumer) {}

    File getSnapshotDirectory() {
        return null;
    }

    File getLogDirectory() {
        return null;
    }
}
