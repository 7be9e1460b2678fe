"""Earlier releases of Kafka that the broker emulates: their APIs, and their different answers."""
