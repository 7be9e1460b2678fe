"""A process of brokers from its start to its end: store, metadata, cluster, sockets, and the way back.

The order matters. The store comes first, since it may have to recover; the sockets are opened before the brokers
register, since a free port is only known then; nobody is accepted before the metadata names the brokers; and at the
end the logs are closed last, with the marker that spares the next start a recovery.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.clock import SystemClock
from pykbroker.cluster import Cluster
from pykbroker.housekeeping import Housekeeping
from pykbroker.metadata.image import Endpoint
from pykbroker.metadata.start import open_metadata
from pykbroker.server import Bind, Server
from pykbroker.storage.disk import RealDisk
from pykbroker.storage.manager import LogManager, open_directory
from wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.config.broker_config import BrokerConfig
    from pykbroker.config.listeners import Listener

log = logging.getLogger(__name__)

_SECURITY_PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


class StartFailed(Exception):
    """The broker cannot start; the text says why and what to do."""
