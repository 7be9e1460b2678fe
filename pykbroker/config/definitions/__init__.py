"""Kafka 4.4.0's settings as literal tables, one file per subject. Defaults are Kafka's; ours are in ``differences``."""
