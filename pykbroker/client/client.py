"""A small synchronous Kafka client: finds brokers, leaders and coordinators, and retries retriable errors.

For commands, which send one request after the other. Programs should use a real client library.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import ClientError, Unreachable, UsageError, raise_for
from pykbroker.runtime.clock import SystemClock
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from pykbroker.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.security.client.settings import ClientSecurity

T = TypeVar("T")

DEFAULT_PORT = 9092
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_CHANGES_ARE_SEEN_S = 5.0
_COORDINATOR_KEYS_SINCE = 4
GROUP, TRANSACTION = 0, 1
"""Key types of FindCoordinator."""


def parse_bootstrap(text: str) -> list[tuple[str, int]]:
    """Parse ``host:port,host:port`` into pairs; the port is optional, IPv6 addresses are in brackets.

    Raises UsageError.
    """
    servers = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        host, separator, port = part.rpartition(":")
        if not separator or port.endswith("]"):
            host, port = part, str(DEFAULT_PORT)
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise UsageError(f"{part!r} is not HOST:PORT.")
        servers.append((host, int(port)))
    if not servers:
        raise UsageError("--bootstrap names no broker; give it as HOST:PORT.")
    return servers


class Client:
    """A cluster, known by its bootstrap servers. Connections are opened when first needed and kept.

    ``timeout_s`` limits each connection attempt, each response, and how long retriable errors are retried. ``security``
    says how to connect; without it connections are plaintext.
    """

    def __init__(
        self,
        bootstrap: list[tuple[str, int]],
        *,
        timeout_s: float,
        client_id: str = "pykbroker-cli",
        security: ClientSecurity | None = None,
    ) -> None:
        self.timeout_s = timeout_s
        self.clock = SystemClock()
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._security = security
        self._connections: dict[tuple[str, int], BrokerConnection] = {}
        self._brokers: dict[int, tuple[str, int]] = {}
        self._controller = -1
        self._leaders: dict[tuple[str, int], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # Brokers

    def any(self) -> BrokerConnection:
        """Return a connection to any bootstrap server. Raises Unreachable if none of them answers."""
        failures = []
        for address in self._bootstrap:
            try:
                return self._connect(address)
            except Unreachable as error:
                failures.append(error.message)
        advice = "Is the broker running? `pykbroker serve` starts one; --bootstrap names another."
        raise Unreachable(" ".join([*failures, advice]))

    def node(self, node_id: int) -> BrokerConnection:
        """Return a connection to the broker with this id, which must be in the metadata."""
        address = self._brokers.get(node_id)
        if address is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        return self._connect(address)

    def open(self, node_id: int) -> BrokerConnection:
        """Open a new connection to this broker, which the caller closes: for requests in flight at the same time."""
        if node_id not in self._brokers:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        return self._new(self._brokers[node_id])

    def controller(self) -> BrokerConnection:
        """Return the broker that takes topic changes: with KRaft any, which forwards; over ZooKeeper the controller."""
        if not self._brokers:
            self.metadata([])
        return self.node(self._controller) if self._controller in self._brokers else self.any()

    def node_ids(self) -> list[int]:
        """Return the ids of the registered brokers."""
        self.metadata([])
        return sorted(self._brokers)

    def nodes(self) -> list[BrokerConnection]:
        """Yield a connection to every broker of the cluster."""
        return [self.node(node_id) for node_id in self.node_ids()]

    def named_node(self, node_id: int) -> BrokerConnection:
        """Return the broker that a user named. Raises ClientError, which lists the brokers, if there is no such broker."""
        known = self.node_ids()
        if node_id not in known:
            raise ClientError(f"There is no broker {node_id}; the cluster has {', '.join(map(str, known))}.")
        return self.node(node_id)

    def coordinator(self, key: str, kind: int = GROUP) -> BrokerConnection:
        """Return the coordinator of the group ``key`` or, with TRANSACTION, of the transactional id ``key``."""
        return self.retrying(lambda: self._find_coordinator(key, kind))

    def node_id(self, address: str) -> int:
        """Return the id of the broker advertised at ``host:port``; -1 if there is none."""
        known = {f"{broker.host}:{broker.port}": broker.node_id for broker in self.metadata([]).brokers}
        return known.get(address, -1)

    # Metadata

    def metadata(self, topics: Iterable[str] | None, *, create: bool = False) -> MetadataResponse:
        """Return the metadata of the cluster and of ``topics`` (None: all).

        Errors of single topics are left in the response.
        """
        names = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=names, allow_auto_topic_creation=create)
        answer = self.any().call(request, MetadataResponse)
        self._brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        self._controller = answer.controller_id
        for topic in answer.topics:
            for partition in topic.partitions:
                self._leaders[topic.name or "", partition.partition_index] = partition.leader_id
        return answer

    def topic(self, name: str, *, create: bool = False) -> MetadataResponseTopic:
        """Return the metadata of one topic once all its partitions have leaders. Raises the KafkaError of the response."""

        def ask() -> MetadataResponseTopic:
            (topic,) = self.metadata([name], create=create).topics
            raise_for(topic.error_code)
            for partition in topic.partitions:
                raise_for(partition.error_code)
            return topic

        # UNKNOWN_TOPIC_OR_PARTITION is retriable in Kafka, but a mistyped name should fail at once
        return self.retrying(ask, final=() if create else (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))

    def leader(self, topic: str, partition: int) -> BrokerConnection:
        """Return the leader of a partition.

        Raises KafkaError LEADER_NOT_AVAILABLE; ClientError if the partition does not exist.
        """
        return self.node(self.leader_id(topic, partition))

    def leader_id(self, topic: str, partition: int) -> int:
        """Return the node id of a partition's leader; raises as ``leader``."""
        if (topic, partition) not in self._leaders:
            self.topic(topic)
        if (topic, partition) not in self._leaders:
            raise ClientError(f"Topic {topic} has no partition {partition}.")
        return self._leaders[topic, partition]

    def forget_leaders(self) -> None:
        """Refresh the leaders when next needed, after a broker answered that they moved."""
        self._leaders.clear()

    # Retries

    def retrying(self, action: Callable[[], T], *, final: Iterable[ErrorCode] = ()) -> T:
        """Return the result of ``action``, repeated until the time limit on retriable errors except those in ``final``.

        Broken connections are retried too, unless the cluster was never reached.
        """
        pause = _FIRST_PAUSE_S
        deadline = self.clock.monotonic() + self.timeout_s
        while True:
            try:
                return action()
            except KafkaError as error:
                if not error.code.retriable or error.code in final or self.clock.monotonic() + pause > deadline:
                    raise
                if error.code.stale_metadata:
                    self.forget_leaders()
            except Unreachable:
                if not self._brokers or self.clock.monotonic() + pause > deadline:
                    raise
                self.forget_leaders()
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait a few seconds at most until brokers show a change that was made: metadata reaches them asynchronously."""
        deadline = self.clock.monotonic() + min(self.timeout_s, _CHANGES_ARE_SEEN_S)
        while not condition() and self.clock.monotonic() < deadline:
            time.sleep(_FIRST_PAUSE_S)

    def _connect(self, address: tuple[str, int]) -> BrokerConnection:
        connection = self._connections.get(address)
        if connection is None or connection.broken:
            connection = self._new(address)
            self._connections[address] = connection
        return connection

    def _new(self, address: tuple[str, int]) -> BrokerConnection:
        return BrokerConnection(*address, timeout_s=self.timeout_s, client_id=self._client_id, security=self._security)

    def _find_coordinator(self, key: str, kind: int) -> BrokerConnection:
        connection = self.any()
        request = FindCoordinatorRequest(key_type=kind)
        if connection.version(request.API_KEY) >= _COORDINATOR_KEYS_SINCE:
            request.coordinator_keys = [key]
            (answer,) = connection.call(request, FindCoordinatorResponse).coordinators
            raise_for(answer.error_code, answer.error_message)
            return self._connect((answer.host, answer.port))
        request.key = key
        old = connection.call(request, FindCoordinatorResponse)
        raise_for(old.error_code, old.error_message)
        return self._connect((old.host, old.port))
