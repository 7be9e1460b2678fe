"""The bench: Apache Kafka 4.4.0 and pykbroker get the same loads in turn, on the same machine, with stock clients."""
