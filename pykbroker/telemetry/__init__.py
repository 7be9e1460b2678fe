"""Client telemetry (KIP-714): which metrics the broker asks of which clients, and what they have sent.

- ``subscriptions``: what the subscriptions of the metadata ask of a client
- ``instances``: the clients that ask and push, and when they may
- ``otlp``: the metrics of a push, decoded from OpenTelemetry's protobuf messages
- ``received``: the newest values of all clients
- ``manager``: what one broker does with both requests
"""
