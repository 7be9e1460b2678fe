"""Seeds: topics and records as files, imported into a cluster and exported from it."""
