"""One fetch session, asked at random the same way of both brokers: the same answers in the same order, step by step.

Between fetches, batches are appended, records deleted, and topics deleted and created under the same name. A fetch names, forgets
and repeats partitions, also such that are not there, with limits of every size, and sometimes with a wrong epoch.
"""

from __future__ import annotations

import random
from contextlib import closing
from typing import Any

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.requests import Ask, records
from compat_tests.oracle.transacting import quiet_until
from pykbroker.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.records import encode_batch

STEPS = 60
PARTITIONS = 3
UNKNOWN_TOPIC = 3
#: The third has not been created when the session begins.
TOPICS = ("a", "b", "c")
#: Of what is not there: no topic has so many partitions.
NOT_THERE = PARTITIONS
LIMITS = (1, 200, 500, 2000, 1_000_000)
#: Of a whole answer: where Apache Kafka has filled one up with part of a batch, a later partition here still has room.
LIMITS_OF_ALL = (1, 1_000_000, 1_000_000)


class Session:
    """The requests of one session, drawn from ``random``; both brokers get the same ones."""

    def __init__(self, ask: Ask, version: int, seed: int) -> None:
        self.ask, self.version = ask, version
        self.random = random.Random(seed)
        self.id = self.epoch = 0
        self.there: dict[str, str] = {what: ask.topic(what, PARTITIONS) for what in TOPICS[:2]}
        #: Ids by topic; one that is deleted may still be asked for.
        self.ids: dict[str, bytes] = {what: ask.topic_ids[name] for what, name in self.there.items()}
        self._names = {topic_id: f"{name} at first" for name, topic_id in ask.topic_ids.items()}
        self.answers: list[Any] = []
        self.ends: dict[tuple[str, int], int] = {}

    def run(self) -> list[Any]:
        for _ in range(STEPS):
            self._change()
            self._fetch()
        return self.answers

    # ---- what happens between fetches

    def _change(self) -> None:
        for _ in range(self.random.randrange(4)):
            kind = self.random.random()
            if kind < 0.85:
                self._append()
            elif kind < 0.92:
                self._delete_records()
            else:
                self._delete_or_create()

    def _some(self) -> tuple[str, int] | None:
        what, index = self.random.choice(TOPICS), self.random.randrange(PARTITIONS)
        return (what, index) if what in self.there else None

    def _append(self) -> None:
        where, count = self._some(), self.random.randrange(1, 9)
        if where is not None:
            end = self.ends.get(where, 0)
            self.ask.produce(self.there[where[0]], encode_batch(records(end, count)), where[1])
            self.ends[where] = end + count

    def _delete_records(self) -> None:
        where = self._some()
        if where is not None:
            upto = self.random.randrange(self.ends.get(where, 0) + 1)
            wanted = DeleteRecordsTopic(self.there[where[0]], [DeleteRecordsPartition(where[1], upto)])
            self.ask(DeleteRecordsRequest([wanted], 10_000), 2)

    def _delete_or_create(self) -> None:
        what = self.random.choice(TOPICS)
        name = self.there.pop(what, None)
        if name is None:
            self.there[what] = name = self.ask.topic(what, PARTITIONS)
            self.ids[what] = self.ask.topic_ids[name]
            self._names[self.ids[what]] = f"{name}, number {len(self._names)}"
            return
        for index in range(PARTITIONS):
            self.ends.pop((what, index), None)
        self.ask.quietly(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)
        request = MetadataRequest([MetadataRequestTopic(name=name)], False)
        quiet_until(self.ask, lambda found: found.topics[0].error_code == UNKNOWN_TOPIC, request, 12)

    # ---- fetching

    def _reference(self, what: str) -> dict[str, Any]:
        if self.version >= 13:
            return {"topic_id": self.ids.get(what, bytes(range(16)))}
        return {"topic": self.ask.name(what)}

    def _drawn(self, most: int) -> list[tuple[str, int]]:
        count = self.random.randrange(most + 1)
        return [(self.random.choice(TOPICS), self.random.randrange(NOT_THERE + 1)) for _ in range(count)]

    def _named(self, most: int) -> list[FetchTopic]:
        named = []
        for what, index in self._drawn(most):
            offset = self.random.randint(0, self.ends.get((what, index), 0) + (self.random.random() < 0.1))
            part = FetchPartition(index, fetch_offset=offset, partition_max_bytes=self.random.choice(LIMITS))
            named.append(FetchTopic(partitions=[part], **self._reference(what)))
        return named

    def _fetch(self) -> None:
        begins = self.epoch == 0
        named = self._named(8 if begins else 3)
        forgotten = [] if begins else [ForgottenTopic(partitions=[i], **self._reference(w)) for w, i in self._drawn(1)]
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=self.random.choice(LIMITS_OF_ALL),
            session_id=self.id,
            session_epoch=self.epoch,
            topics=named,
            forgotten_topics_data=forgotten,
            replica_id=-1,
        )
        odd = self.random.random()
        if odd < 0.03:
            request.session_epoch = self.epoch + 1 if not begins else 0
        answer = self.ask.quietly(request, self.version)
        self.answers.append(self._plain(answer))
        if answer.error_code == 0:
            self.id, self.epoch = answer.session_id, self.epoch + 1
            if odd > 0.96:
                self.epoch = 0  # this one is closed, and the next request begins another

    def _plain(self, answer: FetchResponse) -> list[Any]:
        """The partitions in their order. Which of one topic are one entry of the answer does not matter to clients, and they
        throw away the part of a batch up to which Apache Kafka fills an answer.
        """
        plain: list[Any] = [answer.error_code, answer.session_id != 0]
        for topic in answer.responses:
            for partition in topic.partitions:
                told = self.ask.normalise(partition)
                if told["records"][-1:] == [{"incomplete": True}]:
                    del told["records"][-1]
                plain.append((topic.topic or self._names.get(topic.topic_id), told))
        return plain


@pytest.mark.parametrize("version", [12, 17])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_answers_in_the_same_order(kafka: ApacheKafka, pykbroker: Pykbroker, version: int, seed: int) -> None:
    seen = []
    for broker in (kafka, pykbroker):
        with closing(Ask(broker.bootstrap, version, f"in-session-{version}-{seed}")) as ask:
            seen.append(Session(ask, version, seed).run())
    for number, (theirs, ours) in enumerate(zip(*seen, strict=True)):
        assert ours == theirs, f"fetch {number}"
