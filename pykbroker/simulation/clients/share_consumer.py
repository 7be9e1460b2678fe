"""A member of a share group (KIP-932): it heartbeats, acquires records, and says of each what became of it, at once or later."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING
from zlib import crc32

from pykbroker.share_partitions.states import Acknowledge
from pykbroker.simulation.clients.client import (
    COORDINATOR_ERRORS,
    FENCED,
    GROUP,
    RETRY_MS,
    RequestRefused,
    SimulatedClient,
)
from pykbroker.simulation.clients.group_consumer import HEARTBEAT_MS
from pykbroker.simulation.network import Disconnected, Link
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pykbroker.wire.messages.share_fetch import AcknowledgementBatch as FetchBatch
from pykbroker.wire.messages.share_fetch import (
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ShareFetchRequest,
)
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from pykbroker.wire.records import decode_records, iter_batches

if TYPE_CHECKING:
    from pykbroker.simulation.process import Steps
    from pykbroker.simulation.share_ledger import RequestTime, ShareLedger, Where
    from pykbroker.simulation.world import World

#: How long a share partition keeps records for a member, and how often it delivers one.
LOCK_MS, DELIVERIES = 4000, 4
_JOINING, _LEAVING = 0, -1
_FETCH_VERSION = _ACKNOWLEDGE_VERSION = 2
_MAX_WAIT_MS = 500
#: One record of so many can be processed by nobody: it is released until the group gives it up.
_POISON = 23

#: What a member says of offsets of a partition.
Said = list[tuple[int, Acknowledge]]


def is_poison(value: bytes) -> bool:
    """Whether no member can process a record."""
    return crc32(value) % _POISON == 0


@dataclass(eq=False)
class _ShareSession:
    """The share session at one broker, which lives as long as its connection."""

    link: Link | None = None
    epoch: int = 0
    partitions: set[Where] = field(default_factory=set)


class ShareConsumer(SimulatedClient):
    """See the module. Two processes: one heartbeats, the other fetches and acknowledges."""

    def __init__(self, world: World, ledger: ShareLedger, name: str, group: str, topics: list[str]) -> None:
        super().__init__(world, ledger.history, name)
        self.leaving = False
        self._ledger = ledger
        self._group = group
        self._topics = topics
        self._member_id = f"{name}-{self.random.getrandbits(64):x}"
        self._epoch = _JOINING
        self._says_all = True
        self._assigned: set[Where] = set()
        self._names: dict[bytes, str] = {}
        self._sessions: dict[int, _ShareSession] = {}
        self.spawn(self._beat())
        self.spawn(self._run())

    # Membership

    def _beat(self) -> Steps[None]:
        while not self.leaving:
            names = self._topics if self._epoch == _JOINING or self._says_all else None
            request = ShareGroupHeartbeatRequest(self._group, self._member_id, self._epoch, None, names)
            try:
                answer = yield from self.ask_coordinator(GROUP, self._group, request, 1)
            except Disconnected:
                self._says_all = True  # the answer may have had its assignment, which who says all is told again
                yield from self.pause(RETRY_MS)
                continue
            self._says_all = False
            yield from self.pause(self._on_answer(answer))
        request = ShareGroupHeartbeatRequest(self._group, self._member_id, _LEAVING)
        try:
            yield from self.ask_coordinator(GROUP, self._group, request, 1)
        except Disconnected:
            self.history.count("share member left unheard")

    def _on_answer(self, answer: ShareGroupHeartbeatResponse) -> int:
        """How long to wait for the next heartbeat, in milliseconds."""
        code = ErrorCode(answer.error_code)
        if code is not ErrorCode.NONE:
            if code in FENCED:
                self.history.count("share member fenced")
                self._epoch, self._assigned = _JOINING, set()
            elif code in COORDINATOR_ERRORS:
                self.forget_coordinator(GROUP, self._group)
            return RETRY_MS
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            self.history.count("share assignment")
            self._assigned = {
                (each.topic_id, index) for each in answer.assignment.topic_partitions for index in each.partitions
            }
        return HEARTBEAT_MS

    # Records

    def _run(self) -> Steps[None]:
        while not self.leaving:
            if not self._assigned:
                yield from self.pause(RETRY_MS)
                continue
            try:
                by_node = yield from self._led()
            except RequestRefused:
                yield from self.pause(RETRY_MS)
                continue
            for node in sorted(by_node.keys() | self._sessions.keys()):
                try:
                    yield from self._turn(node, by_node.get(node, set()))
                except Disconnected:
                    self._sessions.pop(node, None)
                    yield from self.pause(RETRY_MS)
            if not by_node:
                yield from self.pause(RETRY_MS)
        for node, session in sorted(self._sessions.items()):
            if session.epoch:
                session.epoch = -1
                try:
                    self._ledger.left(self)
                    yield from self.ask(node, self._fetch_request(session, set(), {}), _FETCH_VERSION)
                except Disconnected:
                    self.history.count("share member left unheard")

    def _led(self) -> Steps[dict[int, set[Where]]]:
        """The partitions that it is assigned, by the brokers that lead them."""
        there = yield from self.partitions(self._topics)
        found: dict[int, set[Where]] = {}
        for topic, index in there:
            topic_id = self.topic_id(topic)
            if topic_id is not None and (topic_id, index) in self._assigned and (topic, index) in self._leaders:
                self._names[topic_id] = topic
                found.setdefault(self._leaders[topic, index], set()).add((topic_id, index))
        return found

    def _turn(self, node: int, wanted: set[Where]) -> Steps[None]:
        """Acquire records of one broker, and say what becomes of them. Raises Disconnected."""
        said: dict[Where, Said] = {}
        for _ in range(self.random.randint(1, 3)):
            session = self._sessions.setdefault(node, _ShareSession())
            if session.link is not None and session.link.closed:  # and the session with it
                session = self._sessions[node] = _ShareSession()
                said = {}
            request = self._fetch_request(session, wanted, said)
            self._saying(said)
            requested = self._ledger.request_time()
            answer = yield from self.ask(node, request, _FETCH_VERSION)
            session.link = self._links[node]
            if answer.error_code:
                self.history.count(f"share session: {ErrorCode(answer.error_code).name}")
                del self._sessions[node]
                yield from self.pause(RETRY_MS)
                return
            session.epoch += 1
            session.partitions = set(wanted)
            parts = [
                ((topic.topic_id, data.partition_index), data)
                for topic in answer.responses
                for data in topic.partitions
            ]
            for where, data in parts:
                if where in said and not data.acknowledge_error_code:
                    self._ledger.done(self, where, said[where])
            said = {}
            for where, data in parts:
                if data.acquired_records:
                    said[where] = yield from self._processed(session, where, data, requested)
            if said and self.random.random() < 0.5:
                yield from self._acknowledge(node, session, said)
                said = {}
        if said:
            yield from self._acknowledge(node, self._sessions[node], said)

    def _fetch_request(self, session: _ShareSession, wanted: set[Where], said: dict[Where, Said]) -> ShareFetchRequest:
        new = wanted - session.partitions
        gone = session.partitions - wanted
        topics = [
            FetchTopic(
                topic_id,
                [
                    FetchPartition(index, 0, [FetchBatch(*each) for each in _batches(said.get((topic_id, index), []))])
                    for _, index in some
                ],
            )
            for topic_id, some in groupby(sorted(new | said.keys()), _topic_of)
        ]
        last = session.epoch < 0
        return ShareFetchRequest(
            self._group,
            self._member_id,
            session.epoch,
            0 if last else _MAX_WAIT_MS,
            0 if last else self.random.choice((1, 1, 200)),
            0 if last else 1 << 20,
            0 if last else self.random.randint(1, 15),
            0 if last else self.random.randint(1, 15),
            self.random.randint(0, 1),
            topics=[] if last else topics,
            forgotten_topics_data=[
                ForgottenTopic(topic_id, [index for _, index in some])
                for topic_id, some in groupby(sorted(gone if not last else ()), _topic_of)
            ],
        )

    def _processed(
        self, session: _ShareSession, where: Where, data: PartitionData, requested: RequestTime
    ) -> Steps[Said]:
        """Take what was acquired; what is to be said of it, after a while."""
        values: dict[int, bytes] = {}
        records = b"" if data.records is None or isinstance(data.records, list) else bytes(data.records)
        for start, header in iter_batches(records):
            if not header.is_control:
                batch = records[start : start + header.size]
                values.update((each.offset, each.value or b"") for each in decode_records(batch, header=header))
        said: Said = []
        for acquired in data.acquired_records:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                self._ledger.delivered(self, session.link, where, offset, acquired.delivery_count, requested)
                if offset in values:
                    self.history.saw(values[offset])
                    kind = self._became(values[offset])
                    if kind is not None:
                        said.append((offset, kind))
                else:
                    said.append((offset, Acknowledge.GAP))
        if self.random.random() < 0.05:
            yield from self.pause(LOCK_MS + 500)
        else:
            yield from self.pause(self.random.randint(0, 200))
        return said

    def _became(self, value: bytes) -> Acknowledge | None:
        if is_poison(value):
            return Acknowledge.RELEASE
        if self._ledger.quiet:
            return Acknowledge.ACCEPT
        what = self.random.random()
        for most, kind in (
            (0.8, Acknowledge.ACCEPT),
            (0.88, Acknowledge.RELEASE),
            (0.92, Acknowledge.REJECT),
            (0.95, Acknowledge.RENEW),
        ):
            if what < most:
                return kind
        return None  # its lock will end

    def _acknowledge(self, node: int, session: _ShareSession, said: dict[Where, Said]) -> Steps[None]:
        topics = [
            AcknowledgeTopic(
                topic_id,
                [
                    AcknowledgePartition(
                        index, [AcknowledgementBatch(*each) for each in _batches(said[topic_id, index])]
                    )
                    for _, index in some
                ],
            )
            for topic_id, some in groupby(sorted(said), _topic_of)
        ]
        renews = any(kind is Acknowledge.RENEW for each in said.values() for _, kind in each)
        request = ShareAcknowledgeRequest(self._group, self._member_id, session.epoch, renews, topics)
        self._saying(said)
        answer = yield from self.ask(node, request, _ACKNOWLEDGE_VERSION)
        if answer.error_code:
            self.history.count(f"share session: {ErrorCode(answer.error_code).name}")
            del self._sessions[node]
            return
        session.epoch += 1
        for topic in answer.responses:
            for data in topic.partitions:
                where = (topic.topic_id, data.partition_index)
                if data.error_code:
                    self.history.count(f"share acknowledgement: {ErrorCode(data.error_code).name}")
                else:
                    self._ledger.done(self, where, said[where])

    def _saying(self, said: dict[Where, Said]) -> None:
        for where, each in said.items():
            self._ledger.saying(where, each)


def _batches(said: Said) -> list[tuple[int, int, list[int]]]:
    """Neighbouring offsets together, with a type for each."""
    found: list[tuple[int, int, list[int]]] = []
    for offset, kind in said:
        if found and found[-1][1] + 1 == offset:
            first, _, kinds = found[-1]
            found[-1] = (first, offset, [*kinds, int(kind)])
        else:
            found.append((offset, offset, [int(kind)]))
    return found


def _topic_of(where: Where) -> bytes:
    return where[0]
