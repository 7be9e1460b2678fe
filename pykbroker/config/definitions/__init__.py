"""Kafka 4.3.1's settings as literal tables, one file per subject. Defaults are Kafka's; ours are in ``differences``."""
