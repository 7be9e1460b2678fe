"""Kafka's commands by their names, for scripts that call them in a container.

They have the options that Testcontainers' modules, compose files and tutorials use, and Kafka's output where scripts
parse it. People use ``pykbroker``.
"""
