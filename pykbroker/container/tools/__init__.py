"""Kafka's commands by their names, for scripts that call them in a container: the options that modules, compose files and
tutorials use, and output in Kafka's form where scripts read it. People have ``pykbroker``.
"""
