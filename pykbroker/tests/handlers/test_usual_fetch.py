"""The same fetches, usual and odd, through the shorter path and through the handler: answers and sessions must be the same."""

from __future__ import annotations

from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.handlers import usual_fetch
from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.fetching import attempt
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log.validate import Origin
from pykbroker.tests.kit.both_ways import ELSEWHERE, OneWay, answers_of
from pykbroker.tests.kit.cluster import START_MS
from pykbroker.tests.kit.depth import examples
from pykbroker.wire.control_records import EndTxnMarker, encode_end_txn_batch
from pykbroker.wire.headers import RequestHeader, decode_response_header, encode_request_header
from pykbroker.wire.message import Message
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

#: Settings of topics that decide what is read: all, what is synced, from several segments.
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "synced": {"flush.messages": "1"},
    "rolled": {},
}
NAMES = [*TOPICS, "plain", ELSEWHERE, "absent"]
VERSIONS = (4, 10, 11, 11, 12, 12, 13, 15, 16, 17, 18)


class Twins:
    """Both ways, which are told the same."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.ways = OneWay(TOPICS, usual=True), OneWay(TOPICS, usual=False)
        self.numbers = 0
        #: Sessions, by the version of their requests: id and next epoch.
        self.sessions: dict[int, tuple[int, int]] = {}
        self.sequence = 0
        #: What waits: version, or 0 if the frame was spoilt, and the waits.
        self.waiting: list[tuple[int, list[Deferred[Any]]]] = []

    def frame(self, request: Message, version: int) -> bytes:
        self.numbers += 1
        frame = bytearray()
        encode_request_header(frame, RequestHeader(request.API_KEY, version, self.numbers, "client"))
        request.encode(frame, version)
        return bytes(frame)

    def tell(self, request: Message, version: int) -> None:
        frame = self.frame(request, version)
        answers = [way.answer(frame) for way in self.ways]
        assert answers[0] == answers[1]

    def act(self) -> None:
        """One thing that happens."""
        match self.rng.choices(
            ["fetch", "produce", "time", "delete", "epoch", "roll", "transaction"], [12, 6, 3, 1, 1, 1, 1]
        )[0]:
            case "fetch":
                self.fetch()
            case "produce":
                self.produce()
            case "time":
                self.turn(self.rng.choice([0, 50, 500]))
            case "delete":
                part = DeleteRecordsPartition(0, self.rng.choice([-1, 1, 3]))
                self.tell(DeleteRecordsRequest([DeleteRecordsTopic("plain", [part])], 1000), 2)
            case "epoch":
                for way in self.ways:
                    partition = way.world.partition("plain", 1)
                    partition.leader_epoch += 1
                    partition.log.begin_epoch(partition.leader_epoch)
                    partition.tell_changed()
            case "roll":
                for way in self.ways:
                    way.world.partition("rolled").log.roll(START_MS)
            case "transaction":
                self.transact()
        self.turn(0)

    def turn(self, ms: int) -> None:
        for way in self.ways:
            way.world.advance(ms)
            way.world.settle()
        still = []
        for version, waits in self.waiting:
            assert waits[0].done == waits[1].done
            if waits[0].done:
                self.compare(version, [b"".join(map(bytes, wait.value)) for wait in waits])
            else:
                still.append((version, waits))
        self.waiting = still
        assert self.session_states(0) == self.session_states(1)

    def produce(self) -> None:
        rng = self.rng
        name = rng.choice([*TOPICS])
        producer = rng.random() < 0.15
        values = [rng.randbytes(rng.choice([10, 300, 2000, 9000])) for _ in range(rng.randint(1, 2))]
        batch = encode_batch(
            [Record(timestamp=START_MS, value=value) for value in values],
            producer_id=7 if producer else -1,
            producer_epoch=0 if producer else -1,
            base_sequence=0 if producer else -1,
        )
        parts = [PartitionProduceData(rng.randrange(2), batch)]
        self.tell(
            ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name, partition_data=parts)]), 9
        )

    def transact(self) -> None:
        """Begin a transaction, or end the one that is open."""
        is_committed = self.rng.random() < 0.5
        for way in self.ways:
            partition = way.world.partition("plain")
            if partition.log.has_open_transaction(9):
                marker = EndTxnMarker(is_committed, 0)
                batch = encode_end_txn_batch(marker, producer_id=9, producer_epoch=0, timestamp=START_MS)
            else:
                record = Record(timestamp=START_MS, value=b"in a transaction")
                batch = encode_batch(
                    [record], producer_id=9, producer_epoch=0, base_sequence=self.sequence, transactional=True
                )
            partition.append(bytearray(batch), now_ms=START_MS, origin=Origin.COORDINATOR)
        self.sequence += 1

    def fetch(self) -> None:
        version = self.rng.choice(VERSIONS)
        whole = self.frame(self.request(version), version)
        frame = spoilt(self.rng, whole)
        found = []
        is_cold = self.rng.random() < 0.1
        for way in self.ways:
            way.world.disk.cold = is_cold
            try:
                found.append(way.hand_in(frame))
            except CloseConnection as error:
                found.append(Deferred.completed([str(error).encode()]))
            way.world.disk.cold = False
        self.waiting.append((version if frame == whole else 0, found))

    def request(self, version: int) -> FetchRequest:
        rng = self.rng
        session_id, epoch = (0, -1) if version < 7 else rng.choice([(0, -1), (0, 0), *[self.session(version)] * 4])
        names = [rng.choice(NAMES) for _ in range(rng.choice([0, 1, 1, 2, 3] if session_id else [0, 1, 1, 1, 2, 3]))]
        forgotten = []
        if version >= 7 and rng.random() < 0.1:
            forgotten = [ForgottenTopic(**self.named(rng.choice(NAMES), version), partitions=[rng.randrange(2)])]
        return FetchRequest(
            replica_id=-1 if version >= 15 or rng.random() < 0.97 else 1,
            max_wait_ms=rng.choice([0, 0, 100, 400]),
            min_bytes=rng.choice([-1, 0, 1, 1, 1, 500, 5000]),
            max_bytes=rng.choice([100, 3000, 1 << 20, 1 << 24]),
            isolation_level=rng.choice([0, 0, 0, 1, 1, 1, 2]),
            session_id=session_id,
            session_epoch=epoch,
            topics=[
                FetchTopic(
                    **self.named(name, version), partitions=[self.part(version) for _ in range(rng.randint(1, 3))]
                )
                for name in names
            ],
            forgotten_topics_data=forgotten,
            rack_id="rack" if version >= 11 and rng.random() < 0.3 else "",
        )

    def session(self, version: int) -> tuple[int, int]:
        found = self.sessions.get(version, (0, 0))
        return found if self.rng.random() < 0.95 else (found[0], found[1] + 1)

    def named(self, name: str, version: int) -> dict[str, Any]:
        if version < 13:
            return {"topic": name}
        found = self.ways[0].world.image.topics.get(name)
        return {"topic_id": b"n" * 16 if found is None else found.id}

    def part(self, version: int) -> FetchPartition:
        rng = self.rng
        return FetchPartition(
            rng.choice([0, 0, 0, 1, 1, 2]),
            current_leader_epoch=rng.choice([-1, -1, -1, 0, 0, 1]) if version >= 9 else -1,
            fetch_offset=rng.choice([0, 0, 1, 2, 3, 5, 8, 13, rng.randrange(30)]),
            last_fetched_epoch=rng.choice([-1, -1, 0, 0, 1]) if version >= 12 else -1,
            partition_max_bytes=rng.choice([0, 100, 1000, 4000, 1 << 20]),
        )

    def compare(self, version: int, answers: list[bytes]) -> None:
        assert answers[0] == answers[1]
        if version < 7:
            return
        _, start = decode_response_header(answers[0], 4, 1, version)
        response = FetchResponse.decode(answers[0], start, version)[0]
        known, epoch = self.sessions.get(version, (0, 0))
        if response.session_id:
            self.sessions[version] = (response.session_id, epoch + 1 if response.session_id == known else 1)
        elif response.error_code:
            self.sessions.pop(version, None)

    def session_states(self, way: int) -> Any:
        sessions = self.ways[way].world.broker.fetch_sessions
        return [
            (
                (session.id, session.epoch, session.last_used, session.waiter is not None, [*session.ready]),
                [(key, values(item)) for key, item in session.items.items()],
            )
            for session in sessions._sessions.values()
        ]


def values(item: Any) -> dict[str, Any]:
    """What a session knows of a partition."""
    return {name: repr(getattr(item, name)) for name in item.__slots__}


def spoilt(rng: Random, whole: bytes) -> bytes:
    """Mostly as it is; else with a byte changed, cut, or with something behind."""
    data = bytearray(whole)
    match rng.choices(["whole", "changed", "cut", "longer"], [30, 1, 1, 1])[0]:
        case "changed":
            data[rng.randrange(len(data))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        case "cut":
            del data[rng.randrange(len(data)) :]
        case "longer":
            data += rng.randbytes(rng.randint(1, 40))
    return bytes(data)


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**32))
def test_both_paths_answer_alike(seed: int) -> None:
    with patch.object(attempt, "INLINE_BYTES", 0):  # as little of an answer is read into memory as may be
        twins = Twins(Random(seed))
        for _ in range(80):
            twins.act()
        twins.turn(1000)
    assert not twins.waiting


def test_the_shorter_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By usual fetches as long as nothing is around the handler, those that wait included; odd ones are left to the handler."""
    taken = answers_of(usual_fetch, monkeypatch)
    way = OneWay(TOPICS, usual=True)
    batch = encode_batch([Record(timestamp=START_MS, value=b"v")])
    part = PartitionProduceData(0, batch)
    way.world.ask(ProduceRequest(acks=-1, topic_data=[TopicProduceData("plain", partition_data=[part])]), 9)

    def fetch(topic: str = "plain", *, offset: int = 0, version: int = 12, **other: Any) -> Any:
        """How it was answered: at once, as ``fetch.py`` goes on, or by the handler alone; None if the shorter path was not tried."""
        taken.clear()
        asked = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1000)
        topics = [FetchTopic(topic, partitions=[asked])] if topic else []
        waiting = way.world.post(FetchRequest(min_bytes=1, max_wait_ms=100, topics=topics, **other), version)
        way.world.advance(101)
        found.append(waiting.value)
        return {list: "at once", tuple: "later", type(None): "by the handler"}[type(taken[0])] if taken else None

    found: list[Any] = []
    assert fetch() == "at once"
    assert fetch(version=11) == "at once"
    assert fetch(isolation_level=1) == "at once"
    assert fetch(offset=1) == "later"
    assert fetch(offset=2) == "at once"  # out of range
    assert fetch(version=10) is None
    assert fetch(ELSEWHERE) == "later"
    assert fetch("absent") == fetch(isolation_level=2) == "by the handler"
    assert fetch(session_epoch=0) == "by the handler"
    session = found[-1].session_id
    assert session
    assert fetch("", session_id=session, session_epoch=1) == "at once"
    assert fetch(session_id=session, session_epoch=2, offset=1) == "later"
    assert fetch("", session_id=session, session_epoch=2) == "by the handler"
    places = way.world.dispatcher.places
    places.fill(Place.OBSERVE, through(lambda broker, ctx, request, proceed: proceed()))
    assert fetch() is None
    places.empty(Place.OBSERVE)
    assert fetch() == "at once"
