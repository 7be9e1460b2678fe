"""Stock clients of a schema registry, on pykbroker's own."""
