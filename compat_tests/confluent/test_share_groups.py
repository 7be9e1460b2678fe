"""confluent-kafka (librdkafka): share groups (KIP-932), acknowledged implicitly and explicitly, by one member and by several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from compat_tests.confluent.conftest import dotted, send
from compat_tests.harness.awaiting import until

RECORDS = 20

Member = Callable[..., ShareConsumer]


@pytest.fixture
def group(admin: AdminClient, name: Callable[..., str]) -> str:
    """A share group that begins with the first record of a topic."""
    group = name("shares")
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=[earliest])
    for each in admin.incremental_alter_configs([resource]).values():
        each.result(60)
    return group


@pytest.fixture
def topic(make_topic: Callable[..., str], producer: Callable[..., Any]) -> str:
    """A topic of 20 records."""
    topic = make_topic()
    send(producer(), topic, [b"%d" % number for number in range(RECORDS)])
    return topic


@pytest.fixture
def member(bootstrap: str, group: str, topic: str) -> Iterator[Member]:
    """Creates members of the group that read the topic; they leave when the test ends."""
    created: list[ShareConsumer] = []

    def create(**settings: object) -> ShareConsumer:
        created.append(ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group, **dotted(settings)}))
        created[-1].subscribe([topic])
        return created[-1]

    yield create
    for each in created:
        each.close()


def explicit(member: Member) -> ShareConsumer:
    return member(share_acknowledgement_mode="explicit")


def polled(consumer: ShareConsumer) -> list[Any]:
    """The records of one poll, which may have none."""
    messages = list(consumer.poll(0.5))
    assert [each.error() for each in messages] == [None] * len(messages)
    return messages


def acknowledged(
    consumer: ShareConsumer, count: int, first_answers: dict[int, AcknowledgeType] | None = None
) -> list[tuple[int, int]]:
    """Poll until ``count`` records have come, and accept each but those that are named, once; offsets and delivery counts."""
    seen: list[tuple[int, int]] = []
    left = dict(first_answers or {})

    def is_done() -> bool:
        messages = polled(consumer)
        for each in messages:
            consumer.acknowledge(each, left.pop(each.offset(), AcknowledgeType.ACCEPT))
            seen.append((each.offset(), each.delivery_count()))
        if messages:
            assert set(consumer.commit_sync(60.0).values()) == {None}
        return len(seen) >= count

    until(is_done, "some records did not come", pause_s=0)
    return sorted(seen)


def test_what_is_polled_is_accepted_by_the_next_poll(member: Member, topic: str, producer: Callable[..., Any]) -> None:
    first, seen = member(), []
    until(lambda: seen.extend(polled(first)) or len(seen) >= RECORDS, "some records did not come", pause_s=0)
    assert [(each.offset(), each.delivery_count()) for each in seen] == [(number, 1) for number in range(RECORDS)]
    first.commit_sync(60.0)
    first.close()
    send(producer(), topic, [b"last"])
    later: list[Any] = []
    second = member()
    until(lambda: later.extend(polled(second)) or later, "the last record did not come", pause_s=0)
    assert [(each.offset(), each.value()) for each in later] == [(RECORDS, b"last")]


def test_released_records_come_again_and_rejected_ones_do_not(member: Member) -> None:
    answers = {3: AcknowledgeType.RELEASE, 4: AcknowledgeType.REJECT, 19: AcknowledgeType.RELEASE}
    seen = acknowledged(explicit(member), RECORDS + 2, answers)
    assert seen == sorted([*((number, 1) for number in range(RECORDS)), (3, 2), (19, 2)])


def test_what_a_member_leaves_behind_goes_to_another(member: Member) -> None:
    first = explicit(member)
    held: list[Any] = []
    until(lambda: held.extend(polled(first)) or held, "no record came", pause_s=0)
    first.close()
    counts = dict.fromkeys(range(RECORDS), 1) | {each.offset(): 2 for each in held}
    assert acknowledged(explicit(member), RECORDS) == sorted(counts.items())


def test_members_share_a_partition(member: Member, topic: str, producer: Callable[..., Any]) -> None:
    members = [member(), member()]
    seen: list[list[int]] = [[], []]

    def both_have_some() -> bool:
        send(producer(), topic, [b"more"] * 10)
        for each, offsets in zip(members, seen, strict=True):
            offsets += [message.offset() for message in polled(each)]
        return all(seen)

    until(both_have_some, "one member had nothing", pause_s=0)
    assert set(seen[0]).isdisjoint(seen[1])
