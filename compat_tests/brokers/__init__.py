"""Several brokers of one process are a cluster for clients."""
