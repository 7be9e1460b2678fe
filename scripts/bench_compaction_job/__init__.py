"""The compaction bench: Apache Kafka 4.3.1 and pykbroker compact the same data, while a producer writes elsewhere."""
