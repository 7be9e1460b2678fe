"""Runs the compatibility suites one by one, keeps each one's result, and writes the report of all."""
