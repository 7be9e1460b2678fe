"""Avro, JSON Schema and Protobuf: each module parses its schemas and compares two of them. Pure, and slow: to be called in a thread."""
