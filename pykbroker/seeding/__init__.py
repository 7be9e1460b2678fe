"""Seeds: topics and records as text, imported into a cluster and exported from it."""
