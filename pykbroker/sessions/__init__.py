"""Recordings of requests and responses, and their replay against a broker."""
