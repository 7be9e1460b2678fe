"""Fetch: offsets, limits, waiting, sessions, leader epochs."""

from __future__ import annotations

from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

IDS_FROM = 13


def fetch(ask: Ask, *topics: FetchTopic, **options: Any) -> FetchRequest:
    """A consumer's fetch that waits for nothing and starts no session."""
    settings = {
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 10_000_000,
        "session_id": 0,
        "session_epoch": -1,
        **options,
    }
    settings.setdefault("replica_id", -1)
    return FetchRequest(topics=list(topics), **settings)


def of(ask: Ask, topic: str, offset: int = 0, partition: int = 0, **options: Any) -> FetchTopic:
    settings = {
        "partition_max_bytes": 10_000_000,
        "current_leader_epoch": -1,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        **options,
    }
    part = FetchPartition(partition=partition, fetch_offset=offset, **settings)
    return FetchTopic(partitions=[part], **ask.reference(topic, IDS_FROM))


@case(ApiKey.FETCH)
def from_each_offset(ask: Ask) -> None:
    topic = ask.topic()
    ask.fill(topic, 10, per_batch=4)
    for offset in (0, 3, 4, 9, 10, 11, -1):
        ask(fetch(ask, of(ask, topic, offset)))


@case(ApiKey.FETCH)
def an_empty_partition(ask: Ask) -> None:
    ask(fetch(ask, of(ask, ask.topic())))


@case(ApiKey.FETCH)
def what_is_not_there(ask: Ask) -> None:
    topic = ask.topic()
    ask(fetch(ask, of(ask, topic, partition=7)))
    ask(fetch(ask, of(ask, topic, partition=-1)))
    ask(fetch(ask, of(ask, ask.name("none"))))
    ask(fetch(ask))


@case(ApiKey.FETCH)
def limits(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    ask.fill(topic, 20, per_batch=5)
    ask.fill(topic, 20, partition=1)
    for most in (0, 1, 300, 700, 10_000):
        ask(fetch(ask, of(ask, topic, partition_max_bytes=most)))
        ask(fetch(ask, of(ask, topic), of(ask, topic, partition=1), max_bytes=most))


@case(ApiKey.FETCH)
def read_committed(ask: Ask) -> None:
    topic = ask.topic()
    ask.fill(topic, 5)
    ask(fetch(ask, of(ask, topic), isolation_level=1))
    ask(fetch(ask, of(ask, topic), isolation_level=7))


@case(ApiKey.FETCH)
def an_error_does_not_wait(ask: Ask) -> None:
    topic = ask.topic()
    ask(fetch(ask, of(ask, topic, 500), max_wait_ms=15_000, min_bytes=1))
    ask.fill(topic, 5)
    ask(fetch(ask, of(ask, topic, 0), max_wait_ms=15_000, min_bytes=1))
    ask(fetch(ask, of(ask, topic, 5), max_wait_ms=50, min_bytes=1))


@case(ApiKey.FETCH)
def woken_by_a_produce(ask: Ask) -> None:
    topic = ask.topic()
    waiting = ask.send(fetch(ask, of(ask, topic), max_wait_ms=15_000, min_bytes=1))
    ask.fill(topic, 3)
    ask.answered(waiting, _without_high_watermark)


def _without_high_watermark(answer: Any) -> None:
    """Under load Apache Kafka was seen to answer with the records and the high watermark of before them."""
    answer.responses[0].partitions[0].high_watermark = 0


@case(ApiKey.FETCH, since=9)
def leader_epochs(ask: Ask) -> None:
    topic = ask.topic()
    ask.fill(topic, 5)
    for epoch in (0, 1, 9):
        ask(fetch(ask, of(ask, topic, current_leader_epoch=epoch)))


@case(ApiKey.FETCH, since=12)
def diverging_epochs(ask: Ask) -> None:
    topic = ask.topic()
    ask.fill(topic, 5)
    for epoch, offset in ((0, 3), (0, 9), (5, 3)):
        ask(fetch(ask, of(ask, topic, offset, last_fetched_epoch=epoch)))


@case(ApiKey.FETCH, since=7)
def a_session(ask: Ask) -> None:
    topic = ask.topic(partitions=3)
    ask.fill(topic, 2)
    everything = [of(ask, topic, partition=partition) for partition in range(3)]
    session = ask(fetch(ask, *everything, session_epoch=0)).session_id
    ask(fetch(ask, session_id=session, session_epoch=1))
    ask(fetch(ask, of(ask, topic, 2), session_id=session, session_epoch=2))
    ask.fill(topic, 1, partition=2)
    ask(fetch(ask, session_id=session, session_epoch=3))
    forgotten = ForgottenTopic(partitions=[2], **ask.reference(topic, IDS_FROM))
    ask(fetch(ask, session_id=session, session_epoch=4, forgotten_topics_data=[forgotten]))
    ask(fetch(ask, of(ask, topic, 9, partition=1), session_id=session, session_epoch=5))
    ask(fetch(ask, session_id=session, session_epoch=6))
    ask(fetch(ask, session_id=session, session_epoch=6))
    ask(fetch(ask, session_id=session, session_epoch=77))
    ask(fetch(ask, session_id=session, session_epoch=-1))
    ask(fetch(ask, session_id=session, session_epoch=7))


@case(ApiKey.FETCH, since=7)
def unknown_sessions(ask: Ask) -> None:
    ask(fetch(ask, session_id=999_999, session_epoch=1))
    ask(fetch(ask, session_id=999_999, session_epoch=-1))
    ask(fetch(ask, session_id=999_999, session_epoch=0))
    ask(fetch(ask, session_id=0, session_epoch=5))
    ask(fetch(ask, session_id=0, session_epoch=-5))


@case(ApiKey.FETCH, since=7)
def a_session_with_something_unknown(ask: Ask) -> None:
    topic = ask.topic()
    ask.fill(topic, 2)
    session = ask(
        fetch(ask, of(ask, topic), of(ask, topic, partition=9), of(ask, ask.name("none")), session_epoch=0)
    ).session_id
    ask(fetch(ask, session_id=session, session_epoch=1))


@case(ApiKey.FETCH)
def below_the_log_start(ask: Ask) -> None:
    from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic

    topic = ask.topic()
    ask.fill(topic, 10)
    ask.quietly(DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 7)])], 10_000), 2)
    for offset in (0, 6, 7):
        ask(fetch(ask, of(ask, topic, offset)))
