"""A consumer of the protocol of KIP-848: one heartbeat says and brings all, and the coordinator shares out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.clients.client import COORDINATOR_ERRORS, GROUP, RETRY_MS, RequestRefused
from pykbroker.simulation.clients.group_consumer import HEARTBEAT_MS, GroupConsumer, MembershipLost
from pykbroker.simulation.network import Disconnected
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.consumer_group_heartbeat import Assignment, ConsumerGroupHeartbeatRequest, TopicPartitions

if TYPE_CHECKING:
    from pykbroker.simulation.clients.client import TopicPartition
    from pykbroker.simulation.history import History
    from pykbroker.simulation.process import Steps
    from pykbroker.simulation.world import World

#: Long enough that nobody is thrown out for being slow to give something back.
_REBALANCE_MS = 120_000
_JOINING, _LEAVING, _LEAVING_FOR_NOW = 0, -1, -2

#: The last: it was silent for so long that the group has gone back to the classic protocol without it.
_FENCED = frozenset(
    {
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)


class ModernConsumer(GroupConsumer):
    """See the module. Two processes: one beats, the other reads and carries out what the heartbeats brought."""

    def __init__(
        self, world: World, history: History, name: str, group: str, topics: list[str], instance_id: str | None = None
    ) -> None:
        super().__init__(world, history, name, group, topics, instance_id)
        self._member_id = f"{name}-{self.random.getrandbits(64):x}"
        self._generation = _JOINING
        #: Partition to topic id: what it owns, and what it is to own.
        self._ids: dict[TopicPartition, bytes] = {}
        self._target: dict[TopicPartition, bytes] | None = None
        #: Counts how often what it owns was settled anew, even if it is the same; and the last count that the coordinator
        #: was told of, None where it is to be told all again.
        self._settled = 0
        self._reported: int | None = None
        #: Whether a heartbeat that says what it owns is not answered yet.
        self._telling = False
        self._hurry: Deferred[None] = Deferred()
        self.spawn(self._run())
        self.spawn(self._beat())

    # Reading

    def _run(self) -> Steps[None]:
        while not self.leaving:
            try:
                if self._target is not None:
                    yield from self._reconcile(self._target)
                else:
                    yield from self._read()
            except (Disconnected, RequestRefused, MembershipLost):
                yield from self.pause(RETRY_MS)
        yield from self._leave()

    def _reconcile(self, target: dict[TopicPartition, bytes]) -> Steps[None]:
        """Give back, then take; the next heartbeat, which comes at once, says that it is done. Nothing is taken while a heartbeat is on its
        way that says what it owns: the coordinator may give the rest to others at once.
        """
        kept = {where: topic_id for where, topic_id in self._ids.items() if target.get(where) == topic_id}
        if len(kept) < len(self._ids):
            yield from self._commit_last()
            if target is not self._target:
                return
            self._settle(kept)
        added = [where for where in target if where not in kept]
        code = yield from self.positions.load(added, self._member_id, self._generation)
        if target is not self._target:
            return
        if code is not ErrorCode.NONE or self._telling:
            yield from self.pause(RETRY_MS)
            return
        self.history.count("assignment")
        self._target = None
        self._settle(target)

    def _settle(self, owned: dict[TopicPartition, bytes]) -> None:
        self._ids = owned
        self._own(list(owned))
        self._settled += 1
        self._hurry.complete(None)

    def _id_assigned(self, where: TopicPartition) -> bytes | None:
        return self._ids[where]

    def _commit_last(self) -> Steps[None]:
        try:
            yield from self.commit()
        except (Disconnected, MembershipLost):
            self.history.count("commit failed")

    # Beating

    def _beat(self) -> Steps[None]:
        while not self.leaving:
            sent_ms = self.world.now_ms
            settled = self._settled
            request = self._heartbeat()
            self._telling = request.topic_partitions is not None
            try:
                answer = yield from self.ask_coordinator(GROUP, self.group, request, 1)
            except Disconnected:
                self._reported = None
                yield from self.pause(RETRY_MS)
                continue
            self._telling = False
            code = ErrorCode(answer.error_code)
            if code is ErrorCode.NONE:
                self.last_heartbeat_ms = sent_ms
                self._generation = answer.member_epoch
                self._reported = settled
                yield from self._on_heartbeat(answer.assignment)
                yield from self._nap(HEARTBEAT_MS if self._settled == self._reported else 0)
                continue
            if code in _FENCED:
                self.history.count(code.name)
                self._lose()
            elif code in COORDINATOR_ERRORS:
                self.forget_coordinator(GROUP, self.group)
            yield from self.pause(RETRY_MS)

    def _heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        """All of it, or only what is new since the last one."""
        full = self._generation == _JOINING or self._reported is None
        request = ConsumerGroupHeartbeatRequest(self.group, self._member_id, self._generation, self.instance_id)
        if full:
            request.rebalance_timeout_ms = _REBALANCE_MS
            request.subscribed_topic_names = self._topics
            request.subscribed_topic_regex = ""
        if full or self._settled != self._reported:
            topics: dict[bytes, list[int]] = {}
            for (_, index), topic_id in self._ids.items():
                topics.setdefault(topic_id, []).append(index)
            request.topic_partitions = [TopicPartitions(topic_id, indexes) for topic_id, indexes in topics.items()]
        return request

    def _on_heartbeat(self, assignment: Assignment | None) -> Steps[None]:
        """A new assignment came, or none. Topics that are gone again are left out."""
        if assignment is None:
            return
        generation = self._generation
        yield from self.partitions(self._topics)
        if generation != self._generation:
            return
        names = {topic_id: name for name in self._topics if (topic_id := self.topic_id(name)) is not None}
        self._target = {
            (names[each.topic_id], index): each.topic_id
            for each in assignment.topic_partitions
            if each.topic_id in names
            for index in each.partitions
        }

    def _nap(self, ms: int) -> Steps[None]:
        """Until the next heartbeat is due, or there is something to report."""
        self._hurry = Deferred()
        self.world.at(ms, partial(self._hurry.complete, None))
        yield self._hurry

    def _lose(self) -> None:
        """Fenced: what it owned is another's, and it begins anew."""
        self.history.count("lost membership")
        self._generation, self._target, self._reported = _JOINING, None, None
        self._ids = {}
        self._own([])

    def _leave(self) -> Steps[None]:
        yield from self._commit_last()
        epoch = _LEAVING if self.instance_id is None else _LEAVING_FOR_NOW
        self._lose()
        request = ConsumerGroupHeartbeatRequest(self.group, self._member_id, epoch, self.instance_id)
        while True:
            try:
                answer = yield from self.ask_coordinator(GROUP, self.group, request, 1)
            except Disconnected:
                yield from self.pause(RETRY_MS)
                continue
            if answer.error_code not in COORDINATOR_ERRORS:
                return
            self.forget_coordinator(GROUP, self.group)
            yield from self.pause(RETRY_MS)
