"""What all clients share: connections to brokers, and finding who leads and who coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pykbroker.simulation.network import Disconnected, Link
from pykbroker.simulation.process import Machine, Steps
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World

TopicPartition = tuple[str, int]

GROUP, TRANSACTION = 0, 1

RETRY_MS = 100

#: The coordinator is elsewhere, or not ready: look for it again.
COORDINATOR_ERRORS = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
#: The group has thrown a member out, or has never known it: join again.
FENCED = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND})


class RequestRefused(Exception):
    """The broker said no, in a way that repeating the request does not help."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(f"{what}: {ErrorCode(code).name}")
        self.code = ErrorCode(code)


class SimulatedClient(Machine):
    """One machine with one client on it."""

    def __init__(self, world: World, history: History, name: str) -> None:
        super().__init__(world, name)
        self.history = history
        self._links: dict[int, Link] = {}
        self._coordinators: dict[tuple[int, str], int] = {}
        self._leaders: dict[TopicPartition, int] = {}
        self._topic_ids: dict[str, bytes] = {}

    def crash(self) -> None:
        super().crash()
        for link in self._links.values():
            link.cut()

    # Requests

    def ask(self, node: int, request: Message, version: int) -> Steps[Any]:
        """The answer of one broker. Raises Disconnected."""
        link = self._links.get(node)
        if link is None or link.closed:
            link = self._links[node] = self.world.network.connect(node, self.name)
        return (yield link.send(request, version))

    def ask_somebody(self, request: Message, version: int) -> Steps[Any]:
        """The answer of any broker, however often it must be asked."""
        while True:
            try:
                return (yield from self.ask(self.random.choice(self.world.server.nodes), request, version))
            except Disconnected:
                yield from self.pause(RETRY_MS)

    def ask_coordinator(self, kind: int, key: str, request: Message, version: int) -> Steps[Any]:
        """The answer of a group's or a transactional id's coordinator. Raises Disconnected."""
        node = yield from self._coordinator(kind, key)
        try:
            return (yield from self.ask(node, request, version))
        except Disconnected:
            self._coordinators.pop((kind, key), None)
            raise

    def ask_leader(self, where: TopicPartition, request: Message, version: int) -> Steps[Any]:
        """The answer of a partition's leader. Raises Disconnected."""
        node = yield from self.leader(where)
        try:
            return (yield from self.ask(node, request, version))
        except Disconnected:
            self._leaders.pop(where, None)
            raise

    # Who is who

    def forget_coordinator(self, kind: int, key: str) -> None:
        """It said that it is none: ask again the next time."""
        self._coordinators.pop((kind, key), None)

    def forget_leader(self, where: TopicPartition) -> None:
        """It said that it is none: ask again the next time."""
        self._leaders.pop(where, None)

    def _coordinator(self, kind: int, key: str) -> Steps[int]:
        while (kind, key) not in self._coordinators:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            answer = yield from self.ask_somebody(request, 4)
            found = answer.coordinators[0]
            if found.error_code:
                yield from self.pause(RETRY_MS)
            else:
                self._coordinators[kind, key] = found.node_id
        return self._coordinators[kind, key]

    def leader(self, where: TopicPartition) -> Steps[int]:
        """The broker that leads a partition, once there is one. Raises RequestRefused for a partition that does not exist."""
        while where not in self._leaders:
            partitions = yield from self.partitions([where[0]])
            if where not in self._leaders:
                if where not in partitions:
                    raise RequestRefused(f"{where}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                yield from self.pause(RETRY_MS)
        return self._leaders[where]

    def partitions(self, topics: Iterable[str]) -> Steps[list[TopicPartition]]:
        """The partitions that these topics have now; their leaders and ids are known afterwards."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in topics], allow_auto_topic_creation=False
        )
        answer = yield from self.ask_somebody(request, 12)
        found: list[TopicPartition] = []
        for topic in answer.topics:
            self._topic_ids.pop(topic.name, None)
            for partition in topic.partitions:
                where = (topic.name, partition.partition_index)
                found.append(where)
                self._topic_ids[topic.name] = topic.topic_id
                if partition.error_code == ErrorCode.NONE and partition.leader_id >= 0:
                    self._leaders[where] = partition.leader_id
                else:
                    self._leaders.pop(where, None)
        return found

    def topic_id(self, topic: str) -> bytes | None:
        """The id of a topic when its metadata was last asked for."""
        return self._topic_ids.get(topic)
