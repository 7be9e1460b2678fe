"""The broker in an image, where those of Kafka are expected: settings by variables, the paths and programs that compose files
and Testcontainers' modules use, the lines of the log that they wait for.

``run`` is what a container runs; ``tools`` are Kafka's commands by their names. The scripts that stand at Kafka's paths
(``scripts/image/`` of the repository) call nothing else.
"""
