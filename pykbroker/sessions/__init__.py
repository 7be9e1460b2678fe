"""Recordings of requests and answers, and their replay against a broker."""
