"""What consumers of both group protocols share: what they own, what they read of it, and what they commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.simulation.clients.client import COORDINATOR_ERRORS, GROUP, SimulatedClient, TopicPartition
from pykbroker.simulation.clients.positions import Positions
from pykbroker.simulation.clients.transactions import ConsumerGroupMetadata
from pykbroker.simulation.history import TopicIds
from pykbroker.simulation.process import Steps
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from pykbroker.simulation.clients.reading import CommittedRecord
    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World

#: How long a silent member stays in its group.
SESSION_MS = 6_000
HEARTBEAT_MS = 2_000
_COMMIT_EVERY = 3


class MembershipLost(Exception):
    """The group does not know this member any more."""


class GroupConsumer(SimulatedClient):
    """A member of ``group``; with ``instance_id`` a static one."""

    def __init__(
        self, world: World, history: History, name: str, group: str, topics: list[str], instance_id: str | None
    ) -> None:
        super().__init__(world, history, name)
        self.group = group
        self.positions = Positions(self, group)
        #: Set to make it leave the group and end.
        self.leaving = False
        #: When the last request was sent that the coordinator took for a sign of life.
        self.last_heartbeat_ms = -SESSION_MS
        self.instance_id = instance_id
        self._topics = topics
        self._member_id = ""
        #: The classic protocol's generation, or the member epoch.
        self._generation = -1
        self._owned: list[TopicPartition] = []
        #: Ids of the topics that it owns partitions of, as they were when it took them.
        self._topic_ids_taken: dict[TopicPartition, bytes | None] = {}
        self._polls = 0

    @property
    def membership(self) -> ConsumerGroupMetadata:
        """Who it is in its group."""
        return ConsumerGroupMetadata(self.group, self._generation, self._member_id, self.instance_id)

    def _own(self, partitions: Collection[TopicPartition]) -> None:
        for where in self._owned:
            if where not in partitions:
                self.history.released(self.group, where, self)
        for where in partitions:
            if where not in self._owned:
                taken = self._topic_ids_taken[where] = self._id_assigned(where)
                known = None if self.topic_id(where[0]) is None else taken
                ids = TopicIds(known, self._id_now(where[0]))
                self.history.taken(self.group, where, self, self.world.now_ms, ids)
        self._owned = list(partitions)
        self.positions.keep(partitions)

    def _id_assigned(self, where: TopicPartition) -> bytes | None:
        """The id of the topic of a partition that it was assigned; by the classic protocol, which has names, the present one's."""
        return self._id_now(where[0])

    def _id_now(self, topic: str) -> bytes | None:
        """The id of a topic in the brokers, which no client knows; None while it is not there, or nobody can say."""
        cluster = self.world.server.cluster
        found = None if cluster is None else cluster.metadata.image.topic(topic)
        return None if found is None else found.id

    @property
    def rebalancing(self) -> bool:
        """Whether it waits for a new assignment of the classic protocol."""
        return False

    def holds_still(self, now_ms: int) -> bool:
        """Whether the coordinator cannot have given its partitions to another: it was heard of within its session, and no
        other may have come under its static name.
        """
        replaced = self.instance_id is not None and (self.leaving or not self.alive)
        return now_ms - self.last_heartbeat_ms < SESSION_MS and not replaced

    def _read(self) -> Steps[None]:
        """Fetch once, and do what is to be done with it."""
        self._polls += 1
        if not self.positions.offsets:
            yield from self.pause(500)
            return
        found = yield from self.positions.fetch()
        yield from self.process({where: records for where, records in found.items() if where in self._owned})

    def process(self, found: dict[TopicPartition, list[CommittedRecord]]) -> Steps[None]:
        """Note the records, and commit now and then."""
        for records in found.values():
            for record in records:
                self.history.consumed(self.group, record.value)
        if self._polls % _COMMIT_EVERY == 0:
            yield from self.commit()

    def commit(self) -> Steps[None]:
        """Commit the positions. Raises Disconnected and MembershipLost."""
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, index), offset in self.positions.offsets.items():
            if self._id_now(topic) != self._topic_ids_taken.get((topic, index)):
                self.history.set_back_to(
                    self.group, (topic, index)
                )  # by its name the new topic gets the old one's offset
            topics.setdefault(topic, []).append(OffsetCommitRequestPartition(index, offset))
        if not topics:
            return
        request = OffsetCommitRequest(
            self.group,
            self._generation,
            self._member_id,
            self.instance_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=found) for topic, found in topics.items()],
        )
        answer = yield from self.ask_coordinator(GROUP, self.group, request, 9)
        for code in sorted({each.error_code for topic in answer.topics for each in topic.partitions}):
            self._check(ErrorCode(code))

    def _check(self, code: ErrorCode) -> None:
        """Note what an answer says of the membership. Raises MembershipLost."""
        if code in COORDINATOR_ERRORS:
            self.forget_coordinator(GROUP, self.group)
        elif code in (
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.ILLEGAL_GENERATION,
            ErrorCode.FENCED_INSTANCE_ID,
            ErrorCode.FENCED_MEMBER_EPOCH,
        ):
            self.history.count(code.name)
            raise MembershipLost
