"""Earlier releases of Kafka that the broker emulates: their APIs, settings and different responses."""
