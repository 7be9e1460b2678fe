"""How fast Spark reads a topic: from the broker with its Kafka source, and from the broker's files with ours."""
