"""Kafka's settings: names, types, defaults, rules, and where a value comes from."""
