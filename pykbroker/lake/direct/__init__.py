"""A Spark source that reads log segments from the log directories of pykbroker or Apache Kafka, without a broker."""
