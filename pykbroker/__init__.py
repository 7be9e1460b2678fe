"""pykbroker: a Kafka-compatible broker in Python. See ARCHITECTURE.md for the map."""

__version__ = "0.2.0"
