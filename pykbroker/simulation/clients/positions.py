"""Where a consumer stands in its partitions: what is committed, what it reads from there, and what it commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.simulation.clients.client import COORDINATOR_ERRORS, GROUP, RETRY_MS, SimulatedClient, TopicPartition
from pykbroker.simulation.clients.reading import FETCH_VERSION, CommittedRecord, committed, fetch_request
from pykbroker.simulation.network import Disconnected
from pykbroker.simulation.process import Steps
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_WAIT_MS = 500
_EARLIEST = -2


class Positions:
    """The positions of a consumer in the partitions that it owns."""

    def __init__(self, client: SimulatedClient, group: str) -> None:
        self._client = client
        self._group = group
        #: How long the broker may keep a fetch that finds nothing.
        self.max_wait_ms = _MAX_WAIT_MS
        self.offsets: dict[TopicPartition, int] = {}

    def keep(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget all others."""
        kept = set(partitions)
        self.offsets = {where: offset for where, offset in self.offsets.items() if where in kept}

    def load(self, partitions: list[TopicPartition], member_id: str | None = None, epoch: int = -1) -> Steps[ErrorCode]:
        """Begin where the group has committed, once that is stable; at the beginning where it has not.

        The code of a refusal, or NONE. ``member_id`` and ``epoch`` are those of a member of the consumer protocol.
        """
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[index]) for topic, index in partitions]
        asked = OffsetFetchRequestGroup(self._group, member_id, epoch, topics)
        request = OffsetFetchRequest(groups=[asked], require_stable=True)
        while partitions:
            try:
                answer = yield from self._client.ask_coordinator(GROUP, self._group, request, 9)
            except Disconnected:
                yield from self._client.pause(RETRY_MS)
                continue
            found = answer.groups[0]
            codes = {ErrorCode(each.error_code) for topic in found.topics for each in topic.partitions}
            codes.add(ErrorCode(found.error_code))
            codes.discard(ErrorCode.NONE)
            if not codes:
                for topic in found.topics:
                    for each in topic.partitions:
                        self.offsets[topic.name, each.partition_index] = max(each.committed_offset, 0)
                break
            if codes & COORDINATOR_ERRORS:
                self._client.forget_coordinator(GROUP, self._group)
            elif ErrorCode.UNSTABLE_OFFSET_COMMIT in codes:
                self._client.history.count("unstable offset")
            else:
                return codes.pop()
            yield from self._client.pause(RETRY_MS)
        return ErrorCode.NONE

    def fetch(self) -> Steps[dict[TopicPartition, list[CommittedRecord]]]:
        """What is committed behind the positions, which move on; one fetch from one of the leaders."""
        nodes: dict[int, dict[TopicPartition, int]] = {}
        for where, offset in self.offsets.items():
            nodes.setdefault((yield from self._client.leader(where)), {})[where] = offset
        node = self._client.random.choice(sorted(nodes))
        try:
            answer = yield from self._client.ask(node, fetch_request(nodes[node], self.max_wait_ms), FETCH_VERSION)
        except Disconnected:
            for where in nodes[node]:
                self._client.forget_leader(where)
            yield from self._client.pause(RETRY_MS)
            return {}
        found: dict[TopicPartition, list[CommittedRecord]] = {}
        for topic in answer.responses:
            for data in topic.partitions:
                where = (topic.topic, data.partition_index)
                if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    yield from self._to_the_beginning(where)
                elif data.error_code:
                    self._client.forget_leader(where)
                elif where in self.offsets:
                    found[where], self.offsets[where] = committed(data, self.offsets[where])
        return found

    def _to_the_beginning(self, where: TopicPartition) -> Steps[None]:
        """``auto.offset.reset=earliest``: the records that were next are gone."""
        asked = ListOffsetsTopic(where[0], [ListOffsetsPartition(where[1], -1, _EARLIEST)])
        try:
            answer = yield from self._client.ask_leader(where, ListOffsetsRequest(-1, 1, [asked]), 6)
        except Disconnected:
            return
        found = answer.topics[0].partitions[0]
        if found.error_code == ErrorCode.NONE and where in self.offsets:
            self._client.history.count("out of range")
            self._client.history.set_back_to(self._group, where)
            self.offsets[where] = found.offset
