"""The table of records in its three formats. Each commits a batch exactly once, by its own commit log."""
