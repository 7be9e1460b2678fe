"""Compaction under measurement: Apache Kafka 4.3.1 and pykbroker clean the same data, while a producer writes elsewhere."""
