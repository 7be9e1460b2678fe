"""pykbroker: a Kafka-compatible broker in Python. See ARCHITECTURE.md for the map."""

__version__ = "0.1.0"
