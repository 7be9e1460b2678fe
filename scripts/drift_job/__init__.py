"""What a release of Apache Kafka changes, read from its jars: what this broker has to follow (CONTRIBUTING says how)."""
