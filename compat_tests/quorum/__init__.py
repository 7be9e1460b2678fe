"""What joins a controller quorum of Apache Kafka, beside real controllers."""
