"""Spark's source that reads log segments themselves: the folder of a broker of ours or of Apache Kafka's, no broker asked."""
