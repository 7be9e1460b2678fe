"""What one client, broker or issuer does to others, beside Apache Kafka in the same run: both brokers, or the clients of both."""
