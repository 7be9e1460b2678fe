"""Fetch sessions under quotas, while topics are deleted and created under the same names: what each answer has, and in which order.

The model is what Apache Kafka does with the same requests (compat_tests/oracle/test_fetch_sessions.py): a session is an ordered
list of partitions, of which it knows the request, what was answered last, and the name of a topic that was asked for by its id.
Any seed can be run alone: ``pytest -k 'test_sessions[42]'``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from pykbroker.handlers import fetch, usual_fetch
from pykbroker.partitions.fetch_sessions import ItemKey
from pykbroker.partitions.partition import Partition
from pykbroker.quotas.throttling import Throttling
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster, Peer
from pykbroker.tests.kit.reading import whole
from pykbroker.tests.storage.seeds import seeds
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

STEPS = 60
#: Seeds that have found something: fetches that wait while a quota is removed, sessions that begin at the end.
FOUND = (487, 1229, 2820)
NAMES = ("a", "b", "c")
PARTITIONS = 2
#: No topic has so many partitions.
NOT_THERE = PARTITIONS
SIZES = (10, 200, 1000)
LIMITS = (1, 300, 1500, 9000)
#: Bytes per second; ten times that is the most that an answer may have, which no limit here is above.
RATES = (1000.0, 3000.0)
MAX_WAIT_MS = 500
NOBODY = bytes(range(16))


@dataclass
class Stored:
    """A topic: the batches of its partitions, each of one record, and where the logs start."""

    topic_id: bytes
    batches: list[list[bytes]] = field(default_factory=lambda: [[] for _ in range(PARTITIONS)])
    starts: list[int] = field(default_factory=lambda: [0] * PARTITIONS)


@dataclass
class Wanted:
    """A partition of a session."""

    offset: int
    limit: int
    name: str | None = None
    sent: tuple[int, int] = (-1, -1)


Told = tuple[ItemKey, int, int, int, bytes]
"""A partition of an answer: error, high watermark, log start offset and records."""


class Reader:
    """A client with one session at most. ``wanted`` is the session's order."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.peer = Peer()
        self.id = self.epoch = 0
        #: Whether the request under way has no session.
        self.alone = False
        self.wanted: dict[ItemKey, Wanted] = {}
        self.request = FetchRequest()
        self.waiting: Deferred[Any] | None = None
        self.deadline = 0
        self.mutes = 0


class World(MemoryCluster):
    def __init__(self, seed: int) -> None:
        super().__init__(seed=seed)
        self.throttling = Throttling(self.cluster, self.dispatcher)
        self.controller.subscribe(self.throttling.changed)
        self.draw = random.Random(seed)
        self.stored: dict[str, Stored] = {}
        #: Ids of topics, also of deleted ones.
        self.ids: dict[str, list[bytes]] = {name: [NOBODY] for name in NAMES}
        #: Of all topics that there ever were.
        self.partitions: list[Partition] = []
        self.readers = [Reader(version) for version in (12, 17, 17)]
        self.limited = False
        self.throttled = self.answered = 0

    # ---- what happens between fetches

    def create_or_delete(self) -> None:
        name = self.draw.choice(NAMES)
        if self.stored.pop(name, None) is not None:
            self.delete_topic(name)
            return
        self.stored[name] = Stored(self.topic(name, PARTITIONS))
        self.ids[name].append(self.stored[name].topic_id)
        self.partitions += [self.partition(name, index) for index in range(PARTITIONS)]

    def append(self) -> None:
        for name, stored in self.drawn_topics():
            index = self.draw.randrange(PARTITIONS)
            batch = encode_batch([Record(value=bytes(self.draw.choice(SIZES)), timestamp=1)])
            data = [TopicProduceData(name, partition_data=[PartitionProduceData(index, batch)])]
            answer = self.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data), 9)
            assert answer.responses[0].partition_responses[0].error_code == 0
            offset = len(stored.batches[index]).to_bytes(8, "big")
            stored.batches[index].append(offset + batch[8:12] + bytes(4) + batch[16:])

    def delete_records(self) -> None:
        for name, stored in self.drawn_topics():
            index = self.draw.randrange(PARTITIONS)
            start = self.draw.randint(stored.starts[index], len(stored.batches[index]))
            partitions = [DeleteRecordsPartition(index, start)]
            self.ask(DeleteRecordsRequest([DeleteRecordsTopic(name, partitions)], 1000), 2)
            stored.starts[index] = start

    def drawn_topics(self) -> list[tuple[str, Stored]]:
        return [each for each in self.stored.items() if self.draw.random() < 0.5]

    def limit(self) -> None:
        self.limited = self.draw.random() < 0.7
        rate = OpData("consumer_byte_rate", self.draw.choice(RATES), remove=not self.limited)
        self.ask(AlterClientQuotasRequest([AlterClientQuotasRequestEntryData([EntityData("user", None)], [rate])]), 1)

    # ---- fetching

    def drawn(self, reader: Reader, most: int) -> list[ItemKey]:
        found: list[ItemKey] = []
        for _ in range(self.draw.randint(0, most)):
            name = self.draw.choice(NAMES)
            topic = name if reader.version < 13 else self.draw.choice([*self.ids[name], self.ids[name][-1]])
            found.append((topic, self.draw.randint(0, NOT_THERE)))
        return found

    def fetch(self, reader: Reader) -> None:
        if reader.epoch and self.draw.random() < 0.05:
            reader.epoch = 0
        begins = reader.epoch == 0
        reader.alone = False
        named = self.drawn(reader, 5 if begins else 2)
        forgotten = [] if begins else self.drawn(reader, 1)
        if begins:
            reader.wanted = {}
        topics = [FetchTopic(**reference(topic), partitions=[self.asked(index)]) for topic, index in named]
        for (topic, index), asked in zip(named, topics, strict=True):
            self.want(reader, (topic, index), asked.partitions[0])
        for key in forgotten:
            reader.wanted.pop(key, None)
        if not begins and not reader.wanted:  # that ends the session, and what is named is answered alone
            reader.alone = True
            for (topic, index), asked in zip(named, topics, strict=True):
                self.want(reader, (topic, index), asked.partitions[0])
        patient = self.draw.random() < 0.4
        reader.deadline = self.clock.now_ms() + (MAX_WAIT_MS if patient else 0)
        reader.request = FetchRequest(
            replica_id=-1,
            max_wait_ms=MAX_WAIT_MS if patient else 0,
            min_bytes=self.draw.choice(LIMITS[:3]),
            max_bytes=self.draw.choice(LIMITS),
            session_id=reader.id,
            session_epoch=reader.epoch,
            topics=topics,
            forgotten_topics_data=[
                ForgottenTopic(**reference(topic), partitions=[index]) for topic, index in forgotten
            ],
        )
        for key, wanted in reader.wanted.items():
            self.name(key, wanted)
        reader.mutes = len(reader.peer.mutes)
        reader.waiting = self.post(reader.request, reader.version, peer=reader.peer)

    def asked(self, index: int) -> FetchPartition:
        return FetchPartition(index, -1, self.draw.randint(0, 6), -1, -1, self.draw.choice(LIMITS))

    def want(self, reader: Reader, key: ItemKey, asked: FetchPartition) -> None:
        wanted = reader.wanted.setdefault(key, Wanted(0, 0))
        wanted.offset, wanted.limit = asked.fetch_offset, asked.partition_max_bytes

    def name(self, key: ItemKey, wanted: Wanted) -> None:
        for name, stored in self.stored.items():
            if key[0] in (name, stored.topic_id):
                wanted.name = name

    def expected(self, reader: Reader) -> list[Told]:
        """What all partitions of a request answer now, in order."""
        found: list[Told] = []
        refused: list[Told] = []
        left, empty = reader.request.max_bytes, True
        for key, wanted in reader.wanted.items():
            code = self.refusal(key, wanted)
            if code in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                refused.append((key, code, -1, -1, b""))
            elif code:
                found.append((key, code, -1, -1, b""))
            else:
                stored = self.stored[str(wanted.name)]
                batches, room = stored.batches[key[1]], min(left, wanted.limit)
                records = whole(batches[wanted.offset :], room, at_least_one=empty)
                left, empty = left - len(records), empty and not records
                found.append((key, 0, len(batches), stored.starts[key[1]], records))
        refused.sort(key=lambda told: told[1] != ErrorCode.UNKNOWN_TOPIC_ID)
        return found + refused

    def refusal(self, key: ItemKey, wanted: Wanted) -> int:
        if wanted.name is None:
            return ErrorCode.UNKNOWN_TOPIC_ID if isinstance(key[0], bytes) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        stored = self.stored.get(wanted.name)
        if stored is None or key[1] == NOT_THERE:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if isinstance(key[0], bytes) and key[0] != stored.topic_id:
            return ErrorCode.INCONSISTENT_TOPIC_ID
        start, end = stored.starts[key[1]], len(stored.batches[key[1]])
        return 0 if start <= wanted.offset <= end else ErrorCode.OFFSET_OUT_OF_RANGE

    def look(self, reader: Reader) -> None:
        """Take the answer, if there is one; there must be one if there is a reason."""
        if reader.waiting is None:
            return
        everything = self.expected(reader)
        if not reader.waiting.done:
            assert self.clock.now_ms() < reader.deadline
            assert not any(code for _, code, *_ in everything), "errors are answered at once"
            assert sum(len(told[4]) for told in everything) < min(reader.request.min_bytes, reader.request.max_bytes)
            assert everything, "a fetch of nothing does not wait"
            return
        answer, reader.waiting = reader.waiting.value, None
        self.answered += 1
        assert answer.error_code == 0, answer
        mutes = reader.peer.mutes[reader.mutes :]
        assert mutes == [answer.throttle_time_ms] * (answer.throttle_time_ms > 0)
        if answer.throttle_time_ms:
            assert self.limited
            self.is_throttled(reader, answer, everything)
        else:
            self.is_answered(reader, answer, everything)

    def is_throttled(self, reader: Reader, answer: Any, everything: list[Told]) -> None:
        """Nothing is told; the session remembers what was asked, and one that would have begun does not. What would have been
        told is told next time (Apache Kafka leaves out watermarks that it told before).
        """
        self.throttled += 1
        assert answer.responses == []
        if reader.epoch == 0 or reader.alone:
            assert answer.session_id == 0
            reader.id = reader.epoch = 0
        else:
            assert answer.session_id == reader.id
            reader.epoch += 1
            for told in everything:
                if is_news(reader.wanted[told[0]], told):
                    reader.wanted[told[0]].sent = (-1, -1)

    def is_answered(self, reader: Reader, answer: Any, everything: list[Told]) -> None:
        full = reader.epoch == 0 or reader.alone
        told = [each for each in everything if full or is_news(reader.wanted[each[0]], each)]
        assert [each for topic in answer.responses for each in of(topic, reader.version)] == told
        assert bool(answer.session_id) != reader.alone
        reader.id, reader.epoch = answer.session_id, 0 if reader.alone else reader.epoch + 1
        for key, code, high_watermark, start, records in told:
            wanted = reader.wanted[key]
            wanted.sent = (-1, -1) if code else (high_watermark, start)
            if full or records:
                reader.wanted[key] = reader.wanted.pop(key)

    def close(self, reader: Reader) -> None:
        """End the session, under a fetch that waits, too."""
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, session_id=reader.id, session_epoch=-1)
        assert self.ask(request, reader.version, peer=reader.peer).session_id == 0

    # ---- all of it

    def step(self) -> None:
        for change, chance in (
            (self.append, 0.7),
            (self.create_or_delete, 0.15),
            (self.delete_records, 0.1),
            (self.limit, 0.05),
        ):
            if self.draw.random() < chance:
                change()
                self.look_at_all()
        if self.draw.random() < 0.3:
            self.advance(self.draw.choice((1, 300, 2000)))
            self.look_at_all()
        for reader in self.readers:
            if reader.waiting is None and self.draw.random() < 0.7:
                self.fetch(reader)
        self.look_at_all()

    def look_at_all(self) -> None:
        for _ in range(3):
            self.run_turn()
        for reader in self.readers:
            self.look(reader)


def reference(topic: str | bytes) -> dict[str, Any]:
    return {"topic_id": topic} if isinstance(topic, bytes) else {"topic": topic}


def is_news(wanted: Wanted, told: Told) -> bool:
    _, code, high_watermark, start, records = told
    return bool(code or records) or (high_watermark, start) != wanted.sent


def of(topic: Any, version: int) -> list[Told]:
    name = topic.topic if version < 13 else topic.topic_id
    return [
        ((name, each.partition_index), each.error_code, each.high_watermark, each.log_start_offset, each.records or b"")
        for each in topic.partitions
    ]


def played(seed: int) -> World:
    """A world after all its steps, whose readers have closed their sessions."""
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    if any(reader.waiting is not None and reader.epoch == 0 for reader in world.readers):
        world.advance(MAX_WAIT_MS + 1)  # a session that begins has no id yet by which it could be closed
        world.look_at_all()
    for reader in world.readers:
        world.close(reader)
    world.advance(MAX_WAIT_MS + 1)
    return world


@pytest.mark.parametrize("seed", seeds(300, found=FOUND))
def test_sessions(seed: int) -> None:
    world = played(seed)
    assert world.answered > STEPS
    assert not any(partition.watchers for partition in world.partitions)


@pytest.mark.parametrize("seed", range(40))
def test_sessions_in_slices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As sessions of more than a thousand partitions are looked at. A fetch without a session waits otherwise then: no seed here has one
    that must not.
    """
    monkeypatch.setattr(fetch, "AT_ONCE", 0)
    monkeypatch.setattr(usual_fetch, "AT_ONCE", 0)
    world = played(seed)
    assert world.answered > STEPS
    assert not any(partition.watchers for partition in world.partitions)


def test_the_seeds_meet_throttled_sessions() -> None:
    worlds = [World(seed) for seed in range(20)]
    for world in worlds:
        for _ in range(STEPS):
            world.step()
    assert sum(world.throttled for world in worlds) > 20
