"""A Kafka broker for tests: the real protocol, in the test's own process, ready in milliseconds.

``with Kafka() as kafka:`` runs a broker; ``kafka.bootstrap_servers`` is what clients are pointed at. With pytest, ask for
the fixture ``kafka``. docs/testing.md has it all.
"""

from pykbroker.testing.faults import BadFault, Fault, NeverMatched, NeverMatchedWarning, PlacedFault
from pykbroker.testing.kafka import Kafka, KafkaCluster
from pykbroker.testing.observing import play
from pykbroker.testing.records import Record
from pykbroker.testing.request_log import Request
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
