"""Earlier releases of Kafka that this broker can be taken for: what they list, and what they answer otherwise."""
