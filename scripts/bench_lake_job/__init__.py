"""The bench of Spark reading a topic: by its Kafka source, and by the direct source from the broker's files."""
