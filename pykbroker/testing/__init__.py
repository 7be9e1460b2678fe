"""A Kafka broker for tests: the real protocol, in the test's own process, ready in milliseconds.

``with Kafka() as kafka:`` runs a broker; clients connect to ``kafka.bootstrap_servers``. With pytest, use the fixture ``kafka``.
See docs/testing.md.

Public: brokers for tests (``kafka.py``), steered in the test's process or in a process of their own (``separate.py``).
``queries.py`` queries and awaits broker state, checked after each turn of the loop (``waiting.py``); ``actions.py`` changes
brokers, ``observations.py`` shows requests of their clients. ``pytest_plugin.py``, above the room, is imported by every
pytest run and therefore imports nothing.
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
