"""The table of records in its three forms. Each takes a batch exactly once, by a commit log of its own."""
