"""What a container says when its broker accepts clients.

Others, above all Testcontainers' modules, wait for lines of Kafka's log: they are printed in its format, on standard output, as
by its image. For the check of health the broker's summary becomes a file.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from pykbroker.container import health, writable_files

if TYPE_CHECKING:
    from pykbroker.process.node import Node


def tell_ready(node: Node) -> None:
    """Print the lines and write the summary."""
    try:
        writable_files.write(json.dumps(node.summary()), health.READY)
    except OSError as error:
        logging.getLogger(__name__).warning(
            "%s cannot be written, so health is asked over HTTP alone: %s", health.READY, error
        )
    now = datetime.now().astimezone()
    when = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
    for line in lines(node.addresses(), when):
        print(line)
    sys.stdout.flush()


def lines(node_ids: Iterable[int], when: str) -> Iterator[str]:
    """Return the lines for each broker: unfenced, started, and started as logged over ZooKeeper.

    ``when`` is the time as Kafka's log writes it.
    """
    for node_id in node_ids:
        yield (
            f"[{when}] INFO [BrokerLifecycleManager id={node_id}] The broker has been unfenced. "
            "Transitioning from RECOVERY to RUNNING. (kafka.server.BrokerLifecycleManager)"
        )
        yield f"[{when}] INFO [KafkaRaftServer nodeId={node_id}] Kafka Server started (kafka.server.KafkaRaftServer)"
        yield f"[{when}] INFO [KafkaServer id={node_id}] started (kafka.server.KafkaServer)"
