"""Topics and records as text that people write: read, put into a cluster, and taken out of it again."""
