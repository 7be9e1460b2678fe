"""Share groups whose partition, group coordinator and share coordinator are at brokers of ours and of Apache Kafka, in any distribution."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest

from compat_tests.conftest import takes_long
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import Member, consume, create, produce
from compat_tests.quorum.test_coordinators import GROUP, coordinator, values
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.primitives import uuid_to_str

SHARE = 2


@pytest.mark.parametrize(
    ("leads", "keeps_state"), [(4, 1), *(pytest.param(*each, marks=takes_long) for each in ((1, 4), (4, 4), (1, 1)))]
)
def test_a_share_group_over_both(
    leads: int, keeps_state: int, java: ApacheKafka, ours: Member, kafka_tools: KafkaTools
) -> None:
    """What the group has taken is not taken again, since its state is kept, wherever that is."""
    topic = create(java.bootstrap, [leads])
    with closing(Connection(java.bootstrap, patience_s=60)) as connection:
        (found,) = connection.ask(MetadataRequest([MetadataRequestTopic(name=topic)]), 12).topics  # type: ignore[attr-defined]
    group = group_at(java.bootstrap, uuid_to_str(found.topic_id), keeps_state)
    to = ("--bootstrap-server", java.bootstrap)
    altered = kafka_tools(
        "configs", *to, "--alter", "--group", group, "--add-config", "share.auto.offset.reset=earliest"
    )
    assert altered.status == 0, altered.text
    for some in ([b"first", b"second"], [b"third"]):
        produce(java.bootstrap, topic, some)
        read = kafka_tools(
            "console-share-consumer",
            *(*to, "--topic", topic, "--group", group),
            *("--max-messages", str(len(some)), "--timeout-ms", "60000"),
        )
        assert [line.encode() for line in read.lines if line] == some, read.text

    def start_and_lag() -> tuple[str, ...]:
        described = kafka_tools("share-groups", "--bootstrap-server", ours.bootstrap, "--describe", "--group", group)
        (row,) = (line.split() for line in described.lines if topic in line)
        return tuple(row[3:5])

    until_in_thread(
        lambda: start_and_lag() in (("2", "0"), ("3", "0"))
    )  # Apache Kafka writes where it starts with the next acknowledgement


@pytest.fixture(scope="module")
def other(java: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Member]:
    """Another broker of ours there."""
    member = Member(tmp_path_factory.mktemp("other"), java, 5)
    member.start()
    yield member
    member.stop()


@pytest.mark.parametrize(
    ("leads", "has_letters"), [(4, 1), *(pytest.param(*each, marks=takes_long) for each in ((1, 4), (4, 5)))]
)
def test_dead_letters_go_to_a_leader_elsewhere(
    leads: int,
    has_letters: int,
    java: ApacheKafka,
    ours: Member,
    kafka_tools: KafkaTools,
    request: pytest.FixtureRequest,
) -> None:
    """What a member rejects where one broker leads is in the partition that another one leads, once, and is given up."""
    if has_letters == 5:
        request.getfixturevalue("other")
    topic = create(java.bootstrap, [leads])
    letters = create(java.bootstrap, [has_letters], prefix="dlq.", errors_deadletterqueue_group_enable="true")
    group = f"g-{uuid.uuid4()}"
    to = ("--bootstrap-server", java.bootstrap)
    settings = [
        "share.auto.offset.reset=earliest",
        f"errors.deadletterqueue.topic.name={letters}",
        "errors.deadletterqueue.copy.record.enable=true",
    ]
    altered = kafka_tools("configs", *to, "--alter", "--group", group, "--add-config", ",".join(settings))
    assert altered.status == 0, altered.text
    produce(java.bootstrap, topic, [b"first", b"second"])
    read = kafka_tools(
        "console-share-consumer",
        *(*to, "--topic", topic, "--group", group, "--reject"),
        *("--max-messages", "2", "--timeout-ms", "60000"),
    )
    assert [line for line in read.lines if line] == ["first", "second"], read.text
    consume(ours.bootstrap, letters, 2)
    assert sorted(values(ours.bootstrap, [letters], "read_committed")[letters]) == [b"first", b"second"]
    with closing(Connection(java.bootstrap, patience_s=60)) as connection:
        (found,) = connection.ask(MetadataRequest([MetadataRequestTopic(name=letters)]), 12).topics  # type: ignore[attr-defined]
    assert found.partitions[0].leader_id == has_letters


def group_at(bootstrap: str, topic_id: str, node: int) -> str:
    """A share group whose state of the topic's partition is kept at this node, and which the other one coordinates."""
    while True:
        group = f"g-{uuid.uuid4()}"
        if coordinator(bootstrap, SHARE, f"{group}:{topic_id}:0") == node != coordinator(bootstrap, GROUP, group):
            return group
