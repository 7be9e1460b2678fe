"""The consumer protocol (KIP-848): ConsumerGroupHeartbeat and ConsumerGroupDescribe, alone and in scenarios."""

from __future__ import annotations

import time
from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pykbroker.wire.messages.list_groups import ListGroupsRequest

BEAT, DESCRIBE = 1, 1
"""Versions of what a case asks besides the API it is about."""

GROUP_RESOURCE = 32


def group(ask: Ask, what: str = "group") -> str:
    """A group whose targets are computed as soon as they are wanted, so that no case has to wait for that."""
    name = ask.name(what)
    configure(ask, name, "consumer.assignment.interval.ms", "0")
    return name


def configure(ask: Ask, group: str, setting: str, value: str) -> None:
    """Sets a group's setting and waits until the broker says so."""
    configs = [AlterableConfig(setting, 0, value)]
    ask.quietly(IncrementalAlterConfigsRequest([AlterConfigsResource(GROUP_RESOURCE, group, configs)]), 1)
    request = DescribeConfigsRequest([DescribeConfigsResource(GROUP_RESOURCE, group, [setting])])
    deadline = time.monotonic() + 10
    while [each.value for each in ask.quietly(request, 4).results[0].configs] != [value]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_until_applied(ask: Ask, what: str = "fence") -> None:
    """Waits until the coordinator goes by the settings of groups so far: Apache Kafka describes them a little before, and applies
    them in order, so the setting of another group tells, which is new each time.
    """
    fence = ask.name(what)
    ask.quietly(joins(fence, "f"), ask.version)
    configure(ask, fence, "consumer.heartbeat.interval.ms", "7000")
    deadline = time.monotonic() + 10
    while ask.quietly(beats(fence, "f", 1), ask.version).heartbeat_interval_ms != 7000:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def joins(group: str, member: str, *topics: str, **options: Any) -> ConsumerGroupHeartbeatRequest:
    stated = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": list(topics), "topic_partitions": [], **options}
    return ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=0, **stated)


def beats(group: str, member: str, epoch: int, **options: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **options)


def owns(ask: Ask, owned: dict[str, list[int]]) -> list[TopicPartitions]:
    return [TopicPartitions(ask.topic_ids[topic], partitions) for topic, partitions in owned.items()]


def looks(ask: Ask, *groups: str, version: int = DESCRIBE) -> None:
    ask(ConsumerGroupDescribeRequest(list(groups)), version)


# ---- what is refused


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def refused_as_it_stands(ask: Ask) -> None:
    name = ask.name("group")
    for request in (
        joins("", "m"),
        joins(" ", "m"),
        joins(name, "", "t"),
        joins(name, " ", "t"),
        joins(name, "m", instance_id=""),
        joins(name, "m", instance_id="  "),
        joins(name, "m", rack_id=""),
        joins(name, "m", rebalance_timeout_ms=-1),
        joins(name, "m", topic_partitions=None),
        joins(name, "m", topic_partitions=[TopicPartitions(bytes(range(16)), [0])]),
        joins(name, "m", subscribed_topic_names=None),
        joins(name, "m", server_assignor="sticky"),
        joins(name, "m", server_assignor=""),
        beats(name, "", 1),
        beats(name, "", -1),
        beats(name, "", -2, instance_id="i"),
        beats(name, "m", -2),
        beats(name, "m", -3),
        beats(name, "m", 1),
        beats(name, "m", -1),
        beats(name, "m", -2, instance_id="i"),
    ):
        if request.member_id or ask.version or request.member_epoch != 0:
            ask(request)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def of_a_group_that_knows_others(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask(joins(name, "one", topic))
    ask(beats(name, "two", 2))
    ask(beats(name, "two", -1))
    ask(beats(name, "two", -2, instance_id="i"))
    ask(beats(name, "one", 2, instance_id="i"))
    ask(beats(name, "one", 3))
    ask(beats(name, "one", 1))
    ask(beats(name, "one", 1, topic_partitions=[]))
    ask(beats(name, "one", 1, topic_partitions=owns(ask, {topic: [0, 1]})))
    ask(beats(name, "one", 1, topic_partitions=owns(ask, {topic: [0, 1, 2]})))
    ask(beats(name, "one", 0))
    looks(ask, name)


# ---- one member


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def one_member(ask: Ask) -> None:
    topic, name = ask.topic(partitions=3), group(ask)
    ask(joins(name, "one", topic, rack_id="r", server_assignor="range"))
    looks(ask, name)
    ask(beats(name, "one", 2))
    ask(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0, 1, 2]})))
    ask(
        beats(
            name,
            "one",
            2,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=[topic],
            topic_partitions=owns(ask, {topic: [0, 1, 2]}),
        )
    )
    ask(joins(name, "one", topic))
    ask(beats(name, "one", -1))
    looks(ask, name)
    ask(beats(name, "one", 2))
    ask(joins(name, "one", topic))
    looks(ask, name)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT, until=0)
def an_id_from_the_broker(ask: Ask) -> None:
    topic, name = ask.topic(partitions=1), group(ask)
    answer = ask(joins(name, "", topic))
    assert answer.member_id
    ask.answers[-1]["member_id"] = "<given>"
    assert ask.quietly(beats(name, answer.member_id, answer.member_epoch), 0).error_code == 0


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def of_nothing(ask: Ask) -> None:
    name = group(ask)
    ask(joins(name, "one"))
    looks(ask, name)
    ask(beats(name, "one", 1, topic_partitions=[]))
    missing = ask.name("missing")
    ask(beats(name, "one", 1, subscribed_topic_names=[missing], topic_partitions=[]))
    looks(ask, name)
    ask(beats(name, "one", 2, topic_partitions=[]))
    ask(beats(name, "one", -1))
    looks(ask, name)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def another_subscription(ask: Ask) -> None:
    first, second, name = ask.topic("t1", 2), ask.topic("t2", 2), group(ask)
    ask(joins(name, "one", first))
    ask(beats(name, "one", 2, subscribed_topic_names=[second], topic_partitions=owns(ask, {first: [0, 1]})))
    looks(ask, name)
    ask(beats(name, "one", 2, topic_partitions=owns(ask, {first: [1]})))
    looks(ask, name)
    ask(beats(name, "one", 2, topic_partitions=[]))
    looks(ask, name)
    ask(beats(name, "one", 3, subscribed_topic_names=[first, second], topic_partitions=owns(ask, {second: [0, 1]})))
    ask(beats(name, "one", 4, subscribed_topic_names=[], topic_partitions=owns(ask, {first: [0, 1], second: [0, 1]})))
    ask(beats(name, "one", 4, topic_partitions=[]))
    looks(ask, name)


# ---- several members


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def two_members(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask(joins(name, "one", topic))
    ask(joins(name, "two", topic))
    looks(ask, name)
    ask(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0, 1]})))
    looks(ask, name)
    ask(beats(name, "two", 3, topic_partitions=[]))
    ask(beats(name, "one", 2))
    ask(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0]})))
    looks(ask, name)
    ask(beats(name, "two", 3))
    looks(ask, name)
    ask(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0]})))
    ask(beats(name, "one", 3, topic_partitions=owns(ask, {topic: [0]})))
    ask(beats(name, "one", -1))
    looks(ask, name)
    ask(beats(name, "two", 3, topic_partitions=owns(ask, {topic: [1]})))
    looks(ask, name)
    ask(beats(name, "two", -1))
    looks(ask, name)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def a_member_that_rejoins_while_it_revokes(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask(joins(name, "one", topic))
    ask(joins(name, "two", topic))
    ask(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0, 1]})))
    ask(joins(name, "one", topic))
    looks(ask, name)
    ask(beats(name, "two", 3, topic_partitions=[]))
    looks(ask, name)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def a_member_that_leaves_while_it_revokes(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask(joins(name, "one", topic))
    ask(joins(name, "two", topic))
    ask(beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0, 1]})))
    ask(beats(name, "one", -1))
    ask(beats(name, "two", 3, topic_partitions=[]))
    looks(ask, name)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def a_target_that_has_to_wait(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    configure(ask, name, "consumer.assignment.interval.ms", "15000")
    wait_until_applied(ask, "first fence")
    ask(joins(name, "one", topic))
    ask(joins(name, "two", topic))
    looks(ask, name)
    configure(ask, name, "consumer.assignment.interval.ms", "0")
    wait_until_applied(ask)
    ask(beats(name, "two", 2, topic_partitions=[]))
    looks(ask, name)


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def settings_of_a_group(ask: Ask) -> None:
    name = group(ask)
    ask(joins(name, "one"))
    configure(ask, name, "consumer.heartbeat.interval.ms", "7000")
    wait_until_applied(ask)
    ask(beats(name, "one", 1))


# ---- static members


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def a_static_member(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask(joins(name, "one", topic, instance_id="i1"))
    ask(joins(name, "two", topic, instance_id="i1"))
    ask(beats(name, "one", 2))
    ask(beats(name, "two", 2, instance_id="i1"))
    ask(beats(name, "one", 2, instance_id="i1"))
    ask(beats(name, "two", -2, instance_id="i1"))
    ask(beats(name, "one", -2, instance_id="i2"))
    ask(beats(name, "one", -2, instance_id="i1"))
    looks(ask, name)
    ask(beats(name, "one", 2, instance_id="i1"))
    ask(joins(name, "two", topic, instance_id="i1"))
    looks(ask, name)
    ask(beats(name, "one", 2, instance_id="i1"))
    ask(beats(name, "two", 2, instance_id="i1"))
    ask(joins(name, "three", topic, instance_id="i2"))
    ask(beats(name, "two", 2, instance_id="i1", topic_partitions=owns(ask, {topic: [0, 1]})))
    ask(beats(name, "two", -2, instance_id="i1"))
    looks(ask, name)
    ask(joins(name, "four", topic, instance_id="i1"))
    looks(ask, name)
    ask(beats(name, "three", -1, instance_id="i1"))
    ask(beats(name, "three", -1, instance_id="i2"))
    ask(beats(name, "four", -1))
    looks(ask, name)


# ---- topics come and go


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT)
def topics_that_change(ask: Ask) -> None:
    topic, name = ask.topic("t1", 1), group(ask)
    later = ask.name("t2")
    ask(joins(name, "one", topic, later))
    ask.topic("t2", 1)
    ask.until(lambda answer: answer.member_epoch == 3, beats(name, "one", 2, topic_partitions=owns(ask, {topic: [0]})))
    ask.quietly(CreatePartitionsRequest([CreatePartitionsTopic(topic, 2, None)], 10_000), 3)
    owned = owns(ask, {topic: [0], later: [0]})
    ask.until(lambda answer: answer.member_epoch == 4, beats(name, "one", 3, topic_partitions=owned))
    looks(ask, name)
    ask.quietly(DeleteTopicsRequest(topic_names=[later], timeout_ms=10_000), 5)
    owned = owns(ask, {topic: [0, 1], later: [0]})
    request = beats(name, "one", 4, topic_partitions=owned)
    ask.until(lambda answer: answer.assignment is not None, request)
    looks(ask, name)
    ask(beats(name, "one", 4, topic_partitions=owns(ask, {topic: [0, 1]})))
    looks(ask, name)


# ---- patterns


@case(ApiKey.CONSUMER_GROUP_HEARTBEAT, since=1)
def patterns(ask: Ask) -> None:
    topic, name = ask.topic("t1", 1), group(ask)
    ask(joins(name, "bad", subscribed_topic_names=None, subscribed_topic_regex="("))
    ask(joins(name, "bad", subscribed_topic_names=None, subscribed_topic_regex="a(?=b)"))
    looks(ask, name)
    pattern = f"{ask.prefix}-t[0-9]"
    ask(joins(name, "one", subscribed_topic_names=None, subscribed_topic_regex=pattern))
    ask.until(lambda answer: answer.member_epoch == 2, beats(name, "one", 1, topic_partitions=[]))
    looks(ask, name)
    ask(joins(name, "two", subscribed_topic_names=None, subscribed_topic_regex=pattern))
    looks(ask, name)
    ask(beats(name, "two", 3, subscribed_topic_regex="", topic_partitions=[]))
    ask(beats(name, "two", 4, subscribed_topic_names=[topic], topic_partitions=[]))
    ask(beats(name, "one", -1))
    looks(ask, name)
    ask(beats(name, "two", -1))
    looks(ask, name)


# ---- the looks of groups


@case(ApiKey.CONSUMER_GROUP_DESCRIBE)
def looks_of_groups(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask(ConsumerGroupDescribeRequest([name, ""]))
    ask(ConsumerGroupDescribeRequest([]))
    ask.quietly(joins(name, "one", topic, instance_id="i", rack_id="r"), BEAT)
    ask(ConsumerGroupDescribeRequest([name]))
    ask(ConsumerGroupDescribeRequest([name, name], include_authorized_operations=True))
    for version in (0, 5, 6):
        ask(DescribeGroupsRequest([name]), version)
    ask(DeleteGroupsRequest([name]), 2)
    ask.quietly(beats(name, "one", -1, instance_id="i"), BEAT)
    ask(ConsumerGroupDescribeRequest([name]))
    ask(DeleteGroupsRequest([name]), 2)
    ask(ConsumerGroupDescribeRequest([name]))


@case(ApiKey.LIST_GROUPS, since=4)
def consumer_groups(ask: Ask) -> None:
    topic, name = ask.topic(partitions=2), group(ask)
    ask.quietly(joins(name, "one", topic), BEAT)

    def listed(**filters: Any) -> None:
        answer = ask.quietly(ListGroupsRequest(**filters), ask.version)
        ask.keep([found for found in answer.groups if found.group_id.startswith(ask.prefix)])

    listed()
    listed(states_filter=["stable"])
    listed(states_filter=["Stable", "assigning"])
    listed(states_filter=["Empty"])
    if ask.version >= 5:
        listed(types_filter=["consumer"])
        listed(types_filter=["Consumer"])
        listed(types_filter=["classic"])
        listed(types_filter=["made up"])
    ask.quietly(joins(name, "two", topic), BEAT)
    listed(states_filter=["Reconciling"])
    ask.quietly(beats(name, "one", -1), BEAT)
    listed(states_filter=["Assigning"])
    ask.quietly(beats(name, "two", -1), BEAT)
    listed()
