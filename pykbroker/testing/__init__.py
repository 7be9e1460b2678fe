"""A Kafka broker for tests: the real protocol, in the test's own process, ready in milliseconds.

``with Kafka() as kafka:`` runs a broker; clients connect to ``kafka.bootstrap_servers``. With pytest, use the fixture ``kafka``.
See docs/testing.md.
"""

from pykbroker.steered.request_log import Request
from pykbroker.testing.faults import BadFault, Fault, NeverMatched, NeverMatchedWarning, PlacedFault
from pykbroker.testing.kafka import Kafka, KafkaCluster
from pykbroker.testing.observations import play
from pykbroker.testing.records import Record
from pykbroker.testing.waiting import TimedOut

__all__ = [
    "BadFault",
    "Fault",
    "Kafka",
    "KafkaCluster",
    "NeverMatched",
    "NeverMatchedWarning",
    "PlacedFault",
    "Record",
    "Request",
    "TimedOut",
    "play",
]
