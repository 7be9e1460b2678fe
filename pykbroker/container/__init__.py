"""The broker in a container image that can replace Apache Kafka's and Confluent's.

It supports their environment variables, the paths and programs that compose files and Testcontainers' modules call, and
the log lines that they wait for. ``run`` is the container's first process; ``tools`` are Kafka's commands by their
names. The scripts at Kafka's paths (``scripts/image/`` of the repository) call only these.
"""
