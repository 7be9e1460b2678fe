"""Bugs of timing that people write with aiokafka, planted, found by worlds, and their corrected twins (docs/worlds.md)."""
