package org.apache.kafka.common.utils;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** Takes the place of Kafka's class of this name: the wall clock is ahead by the milliseconds in the file of the property clock.ahead. */
class SystemTime implements Time {
    private static final SystemTime INSTANCE = new SystemTime();

    private final MappedByteBuffer ahead;

    private SystemTime() {
        try (FileChannel file = FileChannel.open(Path.of(System.getProperty("clock.ahead")))) {
            ahead = file.map(FileChannel.MapMode.READ_ONLY, 0, Long.BYTES);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static SystemTime getSystemTime() {
        return INSTANCE;
    }

    @Override
    public long milliseconds() {
        return System.currentTimeMillis() + ahead.getLong(0);
    }

    @Override
    public long nanoseconds() {
        return System.nanoTime();
    }

    @Override
    public void sleep(long ms) {
        Utils.sleep(ms);
    }
}
