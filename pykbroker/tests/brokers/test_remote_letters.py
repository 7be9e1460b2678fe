"""Dead letters to a leader in another process: broker 1 of a cluster, which is asked over the messages, as it is one itself."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import pytest

from pykbroker.brokers.remote_letters import LetterLeader, RemoteLetters
from pykbroker.controller.topics import NewTopic
from pykbroker.runtime.waits import Deferred
from pykbroker.share_partitions.manager import SharePartitions
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.share_groups import ShareCluster, ShareMember
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.fetch import FetchRequest
from pykbroker.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from pykbroker.wire.records import Record, decode_records, encode_batch

LEADER = 7
REJECT = Acknowledge.REJECT
LETTERS = "dlq.work"


class Elsewhere(ShareCluster):
    """The broker takes itself for another one where letters go. ``lost`` are the numbers of questions whose answers do not arrive."""

    def __init__(self, *, most_bytes: int = 1_000_000, **enabled: str) -> None:
        self.lost: set[int] = set()
        self.is_gone = False
        #: What the first question is answered.
        self.refusal: ErrorCode | None = None
        self.asked: list[Any] = []
        self.most_bytes = most_bytes
        super().__init__()
        configs = {name.replace("_", "."): value for name, value in enabled.items()}
        self.create(NewTopic(LETTERS, configs={"errors.deadletterqueue.group.enable": "true", **configs}))
        self.configure("errors.deadletterqueue.topic.name", LETTERS)
        self.configure("errors.deadletterqueue.copy.record.enable", "true")
        self.joined()

    def start(self) -> None:
        super().start()
        self.broker.started_share_partitions = SharePartitions(Host(self))

    def place(self, topic: str, index: int = 0) -> RemoteLetters:
        place = LetterLeader(LEADER, topic, self.image.topics[topic].id, index)
        return RemoteLetters(Peers(self), place, self.cluster.runtime, self.most_bytes)

    def ask_peer(self, request: Any, version: int) -> Deferred[Any]:
        lost = len(self.asked) in self.lost
        self.asked.append(request)
        if self.refusal is not None and len(self.asked) == 1:
            refused = PartitionProduceResponse(error_code=self.refusal)
            return Deferred.completed(ProduceResponse([TopicProduceResponse(partition_responses=[refused])]))
        answer = None if self.is_gone else self.post(request, max(version, request.VERSIONS[1]))
        if answer is None or lost:
            return Deferred.failed(KafkaError(ErrorCode.NETWORK_EXCEPTION, "it does not answer"))
        return answer


class Peers:
    """The way to the leader."""

    def __init__(self, world: Elsewhere) -> None:
        self._world = world

    def ask(self, node_id: int, request: Any, version: int) -> Deferred[Any]:
        assert node_id == LEADER
        return self._world.ask_peer(request, version)


class Host:
    """The broker, as one that leads no letters."""

    def __init__(self, world: Elsewhere) -> None:
        self._world = world
        self._broker = world.broker

    def at_leader(self, topic: str, index: int) -> None:
        return None

    def remote_letters(self, topic: str, index: int) -> RemoteLetters:
        return self._world.place(topic, index)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._broker, name)


def letters(world: Elsewhere) -> list[tuple[int, bytes | None]]:
    """The offsets that letters are for, and their values."""
    batches = world.partition(LETTERS).log.batches()
    records = [record for header, batch in batches for record in decode_records(batch, header=header)]
    return [(int(dict(each.headers)["__dlq.errors.offset"] or b""), each.value) for each in records]


def given_up(world: Elsewhere) -> ShareMember:
    """A member that has rejected the first two records of four."""
    member = ShareMember(world)
    world.produce(4)
    member.acquired()
    member.post_acknowledge(0, 1, REJECT)
    return member


def later(world: Elsewhere) -> None:
    for _ in range(40):
        world.settle()
        world.advance(1000)


def test_letters_are_produced_with_acks_of_all() -> None:
    world = Elsewhere()
    given_up(world)
    later(world)
    assert letters(world) == [(0, b"0"), (1, b"1")]
    (produced,) = world.asked
    assert isinstance(produced, ProduceRequest)
    assert produced.acks == -1
    assert world.broker.share_partitions.letters_of == {"work": 2}


def test_as_many_batches_as_the_topic_wants() -> None:
    world = Elsewhere(most_bytes=500, max_message_bytes="500")
    member = ShareMember(world)
    world.produce(4)
    member.acquired()
    member.acknowledge(0, 3, REJECT)
    later(world)
    assert [offset for offset, _ in letters(world)] == [0, 1, 2, 3]
    assert len(world.asked) > 1


@pytest.mark.parametrize("lost", [{0}, {0, 1}, {0, 2}, {0, 3}, {0, 1, 2, 3}])
def test_an_answer_that_is_lost_leaves_no_letter_twice(lost: set[int]) -> None:
    """Those to Produce, ListOffsets, Fetch and Produce again."""
    world = Elsewhere()
    world.lost = lost
    given_up(world)
    later(world)
    assert letters(world) == [(0, b"0"), (1, b"1")]


@pytest.mark.parametrize(
    "refusal", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
)
def test_a_leader_that_does_not_know_it_yet_is_asked_again(refusal: ErrorCode) -> None:
    """That it leads, or the topic, which may be a moment old."""
    world = Elsewhere()
    world.refusal = refusal
    given_up(world)
    later(world)
    assert letters(world) == [(0, b"0"), (1, b"1")]


@pytest.mark.parametrize("turns", range(12))
def test_one_letter_for_each_record_whenever_the_broker_is_killed(turns: int) -> None:
    world = Elsewhere()
    given_up(world)
    for _ in range(turns):
        world.run_turn()
    world.restart(kill=True)
    again = ShareMember(world)
    for _ in range(6):
        for first, last, _ in again.acquired():
            again.acknowledge(first, last, *(REJECT if n < 2 else Acknowledge.ACCEPT for n in range(first, last + 1)))
        world.settle()
    assert Counter(letters(world)) == {(0, b"0"): 1, (1, b"1"): 1}


def test_a_leader_that_is_not_reached_is_asked_five_times(caplog: pytest.LogCaptureFixture) -> None:
    world = Elsewhere()
    world.is_gone = True
    given_up(world)
    later(world)
    assert "0-1 without dead letters" in caplog.text
    assert "it does not answer" in caplog.text
    assert [type(each).__name__ for each in world.asked] == ["ProduceRequest"] + 4 * ["ListOffsetsRequest"]


def test_what_the_leader_refuses_is_said(caplog: pytest.LogCaptureFixture) -> None:
    world = Elsewhere(max_message_bytes="200")
    caplog.set_level(logging.WARNING)
    given_up(world)
    later(world)
    assert "without dead letters" in caplog.text
    assert ErrorCode.MESSAGE_TOO_LARGE.name in caplog.text
    assert len(world.asked) == 1


def test_records_are_read_over_several_fetches_and_without_control_records() -> None:
    world = Elsewhere()
    now_ms = world.clock.now_ms()
    world.create(NewTopic("big"))
    for number in range(4):
        record = Record(timestamp=now_ms + number, value=b"%d" % number + bytes(700_000))
        world.partition("big").append_at_once(memoryview(bytearray(encode_batch([record]))))
    world.settle()
    found = []
    for each in world.place("big").since(now_ms + 1):
        if isinstance(each, Deferred):
            world.settle()
            assert each.done
        else:
            found += [bytes(record.value or b"")[:1] for record in each]
    assert found == [b"1", b"2", b"3"]
    assert sum(isinstance(each, FetchRequest) for each in world.asked) == 3
    assert list(map(type, world.place("big").since(now_ms + 10))) == [Deferred]


def test_a_leader_that_sends_the_same_batch_again_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Elsewhere()
    world.create(NewTopic("u"))
    for value in (b"a", b"b"):
        world.partition("u").append_at_once(
            memoryview(bytearray(encode_batch([Record(timestamp=world.clock.now_ms(), value=value)])))
        )
    world.settle()
    ask = world.ask_peer

    def first_again(request: Any, version: int) -> Deferred[Any]:
        if isinstance(request, FetchRequest):
            assert len(world.asked) < 9
            request.topics[0].partitions[0].fetch_offset = 0
            request.topics[0].partitions[0].partition_max_bytes = 1
        return ask(request, version)

    monkeypatch.setattr(world, "ask_peer", first_again)
    found = []
    for each in world.place("u").since(0):
        world.settle()
        found += [] if isinstance(each, Deferred) else [record.value for record in each]
    assert found == [b"a"]


def test_a_leader_that_answers_for_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Elsewhere()
    monkeypatch.setattr(world, "ask_peer", lambda *_: Deferred.completed(ProduceResponse()))
    error = world.place(LETTERS).append([Record(value=b"a")]).error
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.UNKNOWN_SERVER_ERROR
