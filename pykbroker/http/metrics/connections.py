"""Metrics of client connections, by listener and by client software."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from pykbroker.http.metrics.metric import counter, gauge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.page import Page, Steps
    from pykbroker.network.connection import Connection

OPEN = gauge(
    "kafka_server_socket_server_metrics_connection_count",
    "Open connections.",
    *("broker", "listener"),
    moves="Grows without end: a client that does not close. At the limit on open files no more are accepted, and the log "
    "says so.",
)
MADE = counter(
    "kafka_server_socket_server_metrics_connection_creation_total",
    "Accepted connections.",
    "broker",
    moves="A high rate: clients that connect anew for each request, or are refused and try again.",
)
SOFTWARE = gauge(
    "kafka_server_socket_server_metrics_connections_software",
    "Open connections, by client software name and version (KIP-511).",
    *("clientSoftwareName", "clientSoftwareVersion", "listener"),
    moves="A release of yours that brings another client.",
)
UNSENT = gauge(
    "pykbroker_unsent_bytes",
    "Response bytes that wait for clients to read, beyond socket buffers.",
    moves="Tens of megabytes: consumers that ask for much and read slowly. They alone wait.",
)

MEMORY_LIMIT = gauge(
    "pykbroker_memory_limit_bytes",
    "The memory budget: bytes that requests on their way, decompression and answers may use together.",
    moves="With pykbroker.memory.bytes, or the memory of the container at the start.",
)
MEMORY_USED = gauge(
    "pykbroker_memory_used_bytes",
    "Bytes of the budget in use: received (requests on their way or waiting), decompressed, unsent.",
    "use",
    moves="Near the limit: requests wait, and answers stay in their files. More memory, or fewer and smaller requests at once.",
)
MEMORY_WAITS = counter(
    "pykbroker_memory_waits_total",
    "Requests and batches that have waited for the memory budget.",
    moves="Grows: the budget is too small for what clients send at once; they are served one after the other.",
)

#: Limit on distinct names of client software, since clients may send any name.
_MOST_SOFTWARE: Final = 50
_IN_A_STEP: Final = 50


class ConnectionCollector:
    """``of`` returns the connections of a broker by its id."""

    def __init__(self, of: Callable[[int], Iterable[Connection]]) -> None:
        self._of = of

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        software: Counter[tuple[str, str, str]] = Counter()
        for node_id, broker in list(cluster.brokers.items()):
            listeners = {endpoint.listener: 0 for endpoint in broker.endpoints}
            for number, each in enumerate(list(self._of(node_id))):
                listeners[each.listener] += 1
                said = (*each.client_software, each.listener)
                software[said if said in software or len(software) < _MOST_SOFTWARE else _others(each)] += 1
                if not number % _IN_A_STEP:
                    yield None
            for listener, count in listeners.items():
                page.add(OPEN, count, node_id, listener)
            page.add(MADE, broker.connections_made, node_id)
        for said, count in software.items():
            page.add(SOFTWARE, count, *said)
        memory = cluster.runtime.memory
        page.add(UNSENT, memory.unsent.held)
        page.add(MEMORY_LIMIT, memory.limit)
        page.add(MEMORY_USED, memory.received.held, "received")
        page.add(MEMORY_USED, memory.decompressed.held, "decompressed")
        page.add(MEMORY_USED, memory.unsent.held, "unsent")
        page.add(MEMORY_WAITS, memory.waits)


def _others(connection: Connection) -> tuple[str, str, str]:
    return ("others", "", connection.listener)
