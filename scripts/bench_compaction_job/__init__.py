"""The compaction bench: Apache Kafka 4.4.0 and pykbroker compact the same data, while a producer writes elsewhere."""
