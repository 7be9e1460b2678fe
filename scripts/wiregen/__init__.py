"""Writes wire/messages, wire/internal and wire/apis.py from the JSON schemas inside Kafka's jars."""
