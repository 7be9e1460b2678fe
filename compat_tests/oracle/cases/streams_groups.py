"""Streams groups (KIP-1071): membership, topologies and their topics, tasks, static members, offsets, and the records of all that."""

from __future__ import annotations

import time
from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.consumer_groups import configure, joins
from compat_tests.oracle.group_records import recorded
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from pykbroker.wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TaskOffset,
    TopicInfo,
    Topology,
)
from pykbroker.wire.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    TopologyDescription,
)
from pykbroker.wire.messages.sync_group import SyncGroupRequest

BEAT, DESCRIBE = 1, 1
"""Versions of what a case asks besides the API it is about."""

_TOPIC = 2  # resource type


def enters(group: str, member: str, topology: Topology | None, **options: Any) -> StreamsGroupHeartbeatRequest:
    """The first heartbeat of a member."""
    stated = {
        "rebalance_timeout_ms": 60_000,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": f"process-{member}",
        "client_tags": [],
        **options,
    }
    return StreamsGroupHeartbeatRequest(group, member, 0, topology=topology, **stated)


def beats(group: str, member: str, epoch: int, **options: Any) -> StreamsGroupHeartbeatRequest:
    return StreamsGroupHeartbeatRequest(group, member, epoch, **options)


def owns(active: dict[str, list[int]], standby: dict[str, list[int]] | None = None) -> dict[str, Any]:
    """What a member reports that it has."""
    return {
        "active_tasks": [TaskIds(*each) for each in active.items()],
        "standby_tasks": [TaskIds(*each) for each in (standby or {}).items()],
        "warmup_tasks": [],
    }


def reads(*topics: str, epoch: int = 1) -> Topology:
    """A topology without state."""
    return Topology(epoch, [Subtopology("0", list(topics))])


def counts(topic: str, group: str) -> Topology:
    """A topology that repartitions a topic, and counts: a repartition topic and a changelog."""
    repartition, changelog = f"{group}-store-repartition", f"{group}-store-changelog"
    return Topology(
        0,
        [
            Subtopology("0", [topic], repartition_sink_topics=[repartition]),
            Subtopology(
                "1",
                repartition_source_topics=[
                    TopicInfo(repartition, 0, 0, [KeyValue("cleanup.policy", "delete"), KeyValue("retention.ms", "-1")])
                ],
                state_changelog_topics=[TopicInfo(changelog, 0, 0, [KeyValue("cleanup.policy", "compact")])],
            ),
        ],
    )


def new_group(ask: Ask, what: str = "group", **configs: str) -> str:
    """A group that assigns at once."""
    name = ask.name(what)
    settings = {"streams_initial_rebalance_delay_ms": "0", "streams_assignment_interval_ms": "0", **configs}
    for setting, value in settings.items():
        configure(ask, name, setting.replace("_", "."), value)
    return name


def keep_listed(ask: Ask, group: str, kind: str) -> None:
    """Keep how a group is listed among those of a kind, whatever other groups there are."""
    answer = ask.quietly(ListGroupsRequest([], [kind]), 5)
    answer.groups = [each for each in answer.groups if each.group_id == group]
    ask.keep(answer)


def keep_records(ask: Ask, group: str) -> None:
    ask.keep({"written": recorded(ask, group)})


def settled(ask: Ask, group: str, member: str, epoch: int, **options: Any) -> Any:
    """Beats until no topic is missing; quiet."""
    deadline = time.monotonic() + 20
    while True:
        answer = ask.quietly(beats(group, member, epoch, **options), BEAT)
        assert answer.error_code == 0, answer
        if not answer.status:
            return answer
        assert time.monotonic() < deadline, answer
        epoch = answer.member_epoch
        time.sleep(0.02)


# ---- membership


@case(ApiKey.STREAMS_GROUP_HEARTBEAT)
def heartbeats_refused(ask: Ask) -> None:
    topic, group = ask.topic(), new_group(ask)
    topology = reads(topic)
    ask(enters(group, "", topology))
    ask(enters("", "member", topology))
    ask(enters(group, " ", topology))
    ask(enters(group, "member", topology, instance_id=""))
    ask(enters(group, "member", topology, rack_id=" "))
    ask(enters(group, "member", None))
    ask(enters(group, "member", topology, rebalance_timeout_ms=-1))
    ask(enters(group, "member", topology, active_tasks=None))
    ask(enters(group, "member", topology, standby_tasks=[TaskIds("0", [0])]))
    ask(enters(group, "member", topology, warmup_tasks=None))
    ask(beats(group, "member", -2))
    ask(beats(group, "member", -3))
    ask(beats(group, "member", 1, active_tasks=[]))
    ask(beats(group, "member", 1, topology=topology))
    ask(beats(group, "member", 1))
    ask(beats(group, "member", -1))
    ask(beats(group, "member", -2, instance_id="instance"))
    epoch = ask.quietly(enters(group, "member", topology), BEAT).member_epoch
    ask(beats(group, "member", epoch + 1))
    ask(beats(group, "member", epoch - 2))
    ask(beats(group, "stranger", epoch))
    ask(beats(group, "stranger", -1))
    ask(beats(group, "stranger", -2, instance_id="instance"))
    ask(beats(group, "member", epoch, **owns({"9": [0]})))
    ask(beats(group, "member", epoch, **owns({"0": [1]})))
    ask(beats(group, "member", epoch, task_offsets=[TaskOffset("0", 0, 1), TaskOffset("0", 0, 2)]))
    keep_records(ask, group)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT)
def a_member_enters_beats_and_leaves(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask)
    epoch = ask(enters(group, "member", reads(topic))).member_epoch
    ask(beats(group, "member", epoch))
    ask(beats(group, "member", epoch, **owns({"0": [0, 1]})))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    keep_listed(ask, group, "streams")
    ask(DeleteGroupsRequest([group]), 2)
    ask(enters(group, "member", reads(topic), process_id="another", client_tags=[KeyValue("zone", "a")]))
    ask(beats(group, "member", -1))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    ask(enters(group, "second", reads(topic)))
    ask(beats(group, "second", -1))
    ask(DeleteGroupsRequest([group]), 2)
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    keep_records(ask, group)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def a_new_group_waits_for_members(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask, streams_initial_rebalance_delay_ms="2000")
    first = ask(enters(group, "first", reads(topic)))
    second = ask(enters(group, "second", reads(topic)))
    ask(beats(group, "first", first.member_epoch))
    for member, epoch in (("first", first.member_epoch), ("second", second.member_epoch)):
        found = ask.until(lambda found, epoch=epoch: found.member_epoch > epoch, beats(group, member, epoch))
        assert found.member_epoch > epoch, found
    keep_records(ask, group)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def assignments_wait_for_the_interval(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask, streams_assignment_interval_ms="15000")
    first = ask(enters(group, "first", reads(topic)))
    ask(enters(group, "second", reads(topic)))
    ask(beats(group, "first", first.member_epoch, **owns({"0": [0, 1]})))


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def tasks_move_to_a_second_member(ask: Ask) -> None:
    topic, group = ask.topic(partitions=5), new_group(ask)
    first = ask(enters(group, "first", reads(topic))).member_epoch
    second = ask(enters(group, "second", reads(topic))).member_epoch
    ask(beats(group, "first", first))
    ask(beats(group, "first", first, **owns({"0": [0, 1, 2, 3, 4]})))
    ask(beats(group, "second", second, **owns({})))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    answer = ask(beats(group, "first", first, **owns({"0": [0, 1, 2]})))
    ask(beats(group, "first", first, **owns({"0": [0, 1, 2]})))
    ask(beats(group, "second", second, **owns({})))
    ask(beats(group, "second", second, **owns({"0": [3, 4]})))
    ask(beats(group, "first", -1))
    ask(beats(group, "second", answer.member_epoch, **owns({"0": [3, 4]})))
    keep_records(ask, group)


class _Application:
    """Members that take what they are told, one after another, and say so."""

    def __init__(self, ask: Ask, group: str) -> None:
        self._ask = ask
        self._group = group
        self._epochs: dict[str, int] = {}
        self._tasks: dict[str, tuple[dict[str, list[int]], dict[str, list[int]], dict[str, list[int]]]] = {}

    def enters(self, member: str, topology: Topology, **options: Any) -> None:
        self._reported(member, self._ask.quietly(enters(self._group, member, topology, **options), BEAT))

    def beats(self, member: str, **options: Any) -> bool:
        """A heartbeat with all that the member has; whether it is told anything new."""
        active, standby, warmup = ([TaskIds(*each) for each in kind.items()] for kind in self._tasks[member])
        has = {"active_tasks": active, "standby_tasks": standby, "warmup_tasks": warmup, **options}
        return self._reported(member, self._ask.quietly(beats(self._group, member, self._epochs[member], **has), BEAT))

    def leaves(self, member: str) -> None:
        self._ask.quietly(beats(self._group, member, -1), BEAT)
        del self._epochs[member], self._tasks[member]

    def settles(self) -> None:
        """Beats until nobody is told anything new, and keeps the group's description."""
        deadline = time.monotonic() + 20
        while True:
            news = [self.beats(member) for member in self._epochs]
            (group,) = self._ask.quietly(StreamsGroupDescribeRequest([self._group]), DESCRIBE).groups
            if not any(news) and group.group_state == "Stable" and len(set(self._epochs.values())) == 1:
                break
            assert time.monotonic() < deadline, group
        self._ask(StreamsGroupDescribeRequest([self._group]), DESCRIBE)

    def _reported(self, member: str, answer: Any) -> bool:
        assert answer.error_code == 0, answer
        before = self._epochs.get(member), self._tasks.get(member)
        self._epochs[member] = answer.member_epoch
        if answer.active_tasks is not None or member not in self._tasks:
            self._tasks[member] = (
                _by_subtopology(answer.active_tasks),
                _by_subtopology(answer.standby_tasks),
                _by_subtopology(answer.warmup_tasks),
            )
        return bool(answer.status) or before != (self._epochs[member], self._tasks[member])


def _by_subtopology(tasks: list[TaskIds] | None) -> dict[str, list[int]]:
    return {each.subtopology_id: list(each.partitions) for each in tasks or ()}


@case(ApiKey.STREAMS_GROUP_DESCRIBE, since=1)
def standbys_are_assigned(ask: Ask) -> None:
    topic, group = ask.topic(partitions=6), new_group(ask, streams_num_standby_replicas="1")
    application = _Application(ask, group)
    for member in ("one", "two", "three"):
        application.enters(member, counts(topic, group))
        application.settles()
    application.enters("four", counts(topic, group), process_id="process-one")
    application.settles()
    configure(ask, group, "streams.num.standby.replicas", "2")
    application.settles()
    application.leaves("two")
    application.settles()


@case(ApiKey.STREAMS_GROUP_DESCRIBE, since=1)
def standbys_of_racks(ask: Ask) -> None:
    topic = ask.topic(partitions=6)
    group = new_group(ask, streams_num_standby_replicas="1", streams_rack_aware_assignment_tags="zone,cluster")
    application = _Application(ask, group)
    places = {"one": ("a", "x"), "two": ("a", "x"), "three": ("b", "x"), "four": ("b", "y")}
    for member, (zone, cluster) in places.items():
        tags = [KeyValue("zone", zone), KeyValue("cluster", cluster)]
        application.enters(member, counts(topic, group), client_tags=tags, rack_id=f"rack-{zone}")
        application.settles()
    application.leaves("three")
    application.settles()
    configure(ask, group, "streams.rack.aware.assignment.tags", "cluster")
    application.settles()


@case(ApiKey.STREAMS_GROUP_DESCRIBE, since=1)
def warm_ups_of_who_lags(ask: Ask) -> None:
    topic = ask.topic(partitions=4)
    group = new_group(ask, streams_num_warmup_replicas="1", streams_acceptable_recovery_lag="0")
    application = _Application(ask, group)
    application.enters("one", counts(topic, group))
    application.settles()
    ends = [TaskOffset("1", index, 1000) for index in range(4)]
    application.beats("one", task_offsets=ends, task_end_offsets=ends)
    lags = [TaskOffset("1", index, 10) for index in range(4)]
    application.enters("two", counts(topic, group), task_offsets=lags, task_end_offsets=ends)
    application.settles()
    application.beats("two", task_offsets=ends, task_end_offsets=ends)
    application.settles()


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def answers_are_lost(ask: Ask) -> None:
    """A member repeats what it said, in the epoch that it knows, and with what it had."""
    topic, group = ask.topic(partitions=4), new_group(ask)
    first = ask(enters(group, "first", reads(topic))).member_epoch
    ask(enters(group, "first", reads(topic)))
    ask(beats(group, "first", first, **owns({"0": [0, 1, 2, 3]})))
    ask(beats(group, "first", first, **owns({})))
    second = ask(enters(group, "second", reads(topic))).member_epoch
    had = owns({"0": [0, 1, 2, 3]})
    ask(beats(group, "first", first, **had))
    ask(beats(group, "first", first, **had))
    ask(beats(group, "first", first))
    gave = owns({"0": [0, 1]})
    now = ask(beats(group, "first", first, **gave)).member_epoch
    ask(beats(group, "first", first, **gave))
    ask(beats(group, "first", first, **owns({"0": [0, 1, 2]})))
    ask(beats(group, "first", first))
    ask(beats(group, "first", now, **gave))
    ask(beats(group, "first", first, **gave))
    ask(beats(group, "second", second, **owns({})))
    ask(beats(group, "second", second, **owns({})))
    ask(beats(group, "second", second, **owns({"0": [2, 3]})))
    ask(beats(group, "first", -1))
    ask(beats(group, "first", -1))
    ask(beats(group, "second", second, **owns({"0": [2, 3]})))
    ask(beats(group, "second", second, **owns({"0": [2, 3]})))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    keep_records(ask, group)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def an_application_is_shut_down(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask)
    first = ask(enters(group, "first", reads(topic), shutdown_application=True)).member_epoch
    ask(beats(group, "first", first))
    ask(beats(group, "first", first, shutdown_application=True))
    second = ask(enters(group, "second", reads(topic))).member_epoch
    ask(beats(group, "second", second, shutdown_application=True))
    ask(beats(group, "first", -1))
    ask(beats(group, "second", second))
    ask(beats(group, "second", -1, shutdown_application=True))
    ask(enters(group, "second", reads(topic)))
    ask(enters(group, "third", reads(topic)))
    ask(beats(group, "third", -1, shutdown_application=True))
    ask(beats(group, "second", 0))


@case(ApiKey.STREAMS_GROUP_HEARTBEAT)
def tags_of_racks_are_missing(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    group = new_group(ask, streams_rack_aware_assignment_tags="zone,rack", streams_num_standby_replicas="1")
    epoch = ask(enters(group, "first", reads(topic), client_tags=[KeyValue("zone", "a")])).member_epoch
    settled_tags = [KeyValue("zone", "a"), KeyValue("rack", "r")]
    ask(beats(group, "first", epoch, client_tags=settled_tags))
    configure(ask, group, "streams.rack.aware.assignment.tags", "other")
    ask(beats(group, "first", epoch))


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def offsets_of_tasks_are_described(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask, streams_task_offset_interval_ms="30000")
    epoch = ask(enters(group, "first", reads(topic), task_offsets=[TaskOffset("0", 1, 7)])).member_epoch
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    ask(beats(group, "first", epoch, task_offsets=[TaskOffset("0", 1, 8), TaskOffset("0", 0, 5)]))
    ask(beats(group, "first", epoch, task_end_offsets=[TaskOffset("x", 1, 9)]))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def settings_of_the_group_are_answered(ask: Ask) -> None:
    topic = ask.topic()
    group = new_group(
        ask,
        streams_heartbeat_interval_ms="7000",
        streams_task_offset_interval_ms="20000",
        streams_acceptable_recovery_lag="5",
    )
    epoch = ask(enters(group, "first", reads(topic))).member_epoch
    configure(ask, group, "streams.num.standby.replicas", "1")
    ask(beats(group, "first", epoch))
    keep_records(ask, group)


# ---- endpoints


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def endpoints_of_instances(ask: Ask) -> None:
    topic, group = ask.topic(partitions=4), new_group(ask)
    first = ask(enters(group, "first", reads(topic), user_endpoint=Endpoint("one", 1))).member_epoch
    ask(beats(group, "first", first))
    ask(beats(group, "first", first, endpoint_information_epoch=5))
    second = ask(enters(group, "second", reads(topic), user_endpoint=Endpoint("two", 2))).member_epoch
    ask(beats(group, "first", first, **owns({"0": [0, 1]})))
    ask(beats(group, "second", second))
    ask(beats(group, "second", second, user_endpoint=Endpoint("three", 65535)))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    ask(enters(group, "second", reads(topic)))


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def an_endpoint_without_topics(ask: Ask) -> None:
    group = new_group(ask)
    ask(enters(group, "first", reads(ask.name("missing")), user_endpoint=Endpoint("one", 1)))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)


# ---- topologies and topics


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def source_topics_are_missing(ask: Ask) -> None:
    group, missing = new_group(ask), ask.name("missing")
    names = [ask.name(f"m{number}") for number in range(4)]
    ask(enters(ask.name("other"), "first", reads(*names)))
    epoch = ask(enters(group, "first", reads(missing))).member_epoch
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    ask(beats(group, "first", epoch, **owns({"0": [7]})))
    ask.quietly(CreateTopicsRequest([CreatableTopic(missing, 2, 1)], 10_000), 7)
    ask.learn(missing)
    ask.until(lambda found: bool(found.active_tasks), beats(group, "first", epoch))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    keep_records(ask, group)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT)
def internal_topics_are_created(ask: Ask) -> None:
    topic, group = ask.topic(partitions=3), new_group(ask)
    epoch = ask(enters(group, "first", counts(topic, group))).member_epoch
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    answer = settled(ask, group, "first", epoch)
    ask.keep(answer)
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    made = [f"{group}-store-repartition", f"{group}-store-changelog"]
    for name in made:
        ask.learn(name)
    ask(MetadataRequest([MetadataRequestTopic(name=name) for name in made], False), 12)
    wanted = ["cleanup.policy", "retention.ms"]
    ask(DescribeConfigsRequest([DescribeConfigsResource(_TOPIC, name, wanted) for name in made]), 4)
    keep_records(ask, group)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def internal_topics_cannot_be_created(ask: Ask) -> None:
    topic, group = ask.topic(partitions=3), new_group(ask)
    name = f"{group}-store-changelog"
    changelog = TopicInfo(name, 0, 7, [])
    topology = Topology(0, [Subtopology("0", [topic], state_changelog_topics=[changelog])])
    # Not kept: Apache Kafka's first answer says that the creation failed where its controller was faster than the answer.
    epoch = ask.quietly(enters(group, "first", topology), ask.version).member_epoch
    ask.until(lambda found: "failed" in found.status[0].status_detail, beats(group, "first", epoch))


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def topics_with_other_partitions(ask: Ask) -> None:
    # Created first: the group coordinator of Apache Kafka knows of a topic somewhat later than Metadata answers with it.
    changelog = ask.topic("changelog-store-changelog", partitions=2)
    one, three = ask.topic("one"), ask.topic("three", partitions=3)
    joined = Topology(0, [Subtopology("0", [one, three], copartition_groups=[CopartitionGroup([0, 1])])])
    ask(enters(new_group(ask), "first", joined))
    group = new_group(ask, "changelog")
    topology = Topology(0, [Subtopology("0", [three], state_changelog_topics=[TopicInfo(changelog)])])
    ask(enters(group, "first", topology))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    fixed = [TopicInfo(ask.name("r1"), 2), TopicInfo(ask.name("r2"), 3)]
    both = Topology(
        0,
        [Subtopology("0", [], repartition_source_topics=fixed, copartition_groups=[CopartitionGroup([], [], [0, 1])])],
    )
    ask(enters(new_group(ask, "fixed"), "first", both))
    follows = Subtopology(
        "0",
        [three],
        repartition_source_topics=[TopicInfo(ask.name("r3"), 2)],
        copartition_groups=[CopartitionGroup([0], [], [0])],
    )
    ask(enters(new_group(ask, "follows"), "first", Topology(0, [follows])))


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def topologies_refused(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask)
    loop = ask.name("loop")

    def reported(*subtopologies: Subtopology) -> None:
        ask(enters(group, "first", Topology(0, list(subtopologies))))

    reported(Subtopology("0", ["__consumer_offsets", topic]), Subtopology("1", ["__transaction_state"]))
    reported(Subtopology("0", [topic, "a b", "", "."]))
    reported(Subtopology("0", [topic], ["a.*"]))
    reported(Subtopology("0", [topic], state_changelog_topics=[TopicInfo("changelog", 2)]))
    reported(Subtopology("0", [topic], state_changelog_topics=[TopicInfo("bad name")]))
    reported(Subtopology("0", [], state_changelog_topics=[TopicInfo(ask.name("changelog"))]))
    reported(Subtopology("0", [], repartition_sink_topics=[loop], repartition_source_topics=[TopicInfo(loop)]))
    reported(Subtopology("0", [topic], repartition_source_topics=[TopicInfo(loop)]))
    reported(Subtopology("0", [topic]), Subtopology("0", [topic]))
    reported(Subtopology("0", [topic], copartition_groups=[CopartitionGroup([1])]))
    reported(Subtopology("0", [topic], copartition_groups=[CopartitionGroup([-1])]))
    reported(Subtopology("0", [topic], copartition_groups=[CopartitionGroup([])]))
    reported(Subtopology("0", [topic], repartition_source_topics=[TopicInfo(loop, -1)]))
    reported()


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def topologies_of_other_epochs(ask: Ask) -> None:
    topic, other, group = ask.topic(), ask.topic("other"), new_group(ask)
    ask(enters(group, "first", reads(topic, epoch=5)))
    ask(enters(group, "second", reads(topic, epoch=5)))
    ask(enters(group, "second", reads(topic, epoch=6)))
    ask(enters(group, "second", reads(other, epoch=5)))
    stale = ask(enters(group, "third", reads(other, epoch=4))).member_epoch
    ask(beats(group, "third", stale))
    ask(enters(ask.name("negative"), "first", reads(topic, epoch=-1)))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    keep_records(ask, group)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT)
def standby_tasks(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask, streams_num_standby_replicas="1")
    topology = counts(topic, group)
    first = ask(enters(group, "first", topology)).member_epoch
    answer = settled(ask, group, "first", first)
    ask.keep(answer)
    second = ask(enters(group, "second", topology)).member_epoch
    answer = ask(beats(group, "first", answer.member_epoch, **owns({"0": [0, 1], "1": [0, 1]})))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    answer = ask(beats(group, "first", answer.member_epoch, **owns({"0": [0], "1": [0]})))
    ask(beats(group, "second", second, **owns({})))
    third = ask(enters(group, "third", topology, process_id="process-first")).member_epoch
    ask(beats(group, "third", third, **owns({})))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    keep_records(ask, group)


# ---- static members


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def static_members(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask)
    topology = reads(topic)
    epoch = ask(enters(group, "first", topology, instance_id="instance")).member_epoch
    ask(beats(group, "first", epoch, instance_id="instance", **owns({"0": [0, 1]})))
    ask(enters(group, "second", topology, instance_id="instance"))
    ask(beats(group, "second", epoch, instance_id="instance"))
    ask(beats(group, "second", -1, instance_id="instance"))
    ask(beats(group, "first", epoch, instance_id="unknown"))
    ask(beats(group, "first", -2, instance_id="instance"))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    returned = ask(enters(group, "second", topology, instance_id="instance")).member_epoch
    ask(beats(group, "second", returned, instance_id="instance", **owns({"0": [0, 1]})))
    ask(beats(group, "first", epoch, instance_id="instance"))
    ask(beats(group, "second", -1, instance_id="instance"))
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    keep_records(ask, group)


# ---- offsets and other kinds of groups


def commits(group: str, member: str, epoch: int, *topics: str) -> OffsetCommitRequest:
    named = [OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 5)]) for topic in topics]
    return OffsetCommitRequest(group, epoch, member, None, -1, named)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def offsets_of_streams_groups(ask: Ask) -> None:
    topic, other, group = ask.topic(partitions=2), ask.topic("other"), new_group(ask)
    epoch = ask.quietly(enters(group, "first", reads(topic)), BEAT).member_epoch
    ask.quietly(enters(group, "second", reads(topic)), BEAT)
    epoch = ask.quietly(beats(group, "first", epoch, **owns({"0": [0, 1]})), BEAT).member_epoch
    later = ask.quietly(beats(group, "first", epoch, **owns({"0": [0]})), BEAT).member_epoch
    for version in (8, 9):
        ask(commits(group, "first", later, topic, other), version)
        ask(commits(group, "first", epoch, topic), version)
        ask(commits(group, "first", epoch, other), version)
        ask(commits(group, "first", later + 1, topic), version)
        ask(commits(group, "first", epoch - 2, topic), version)
        ask(commits(group, "", -1, topic), version)
        ask(commits(group, "stranger", later, topic), version)
    wanted = [OffsetFetchRequestTopics(topic, partition_indexes=[0])]
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, "first", later, wanted)]), 9)
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, "first", epoch - 1, wanted)]), 9)
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, "stranger", later, wanted)]), 9)
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, None, -1, wanted)]), 9)
    deleted = [OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(0)]) for name in (topic, other)]
    ask(OffsetDeleteRequest(group, deleted), 0)
    ask.quietly(beats(group, "first", -1), BEAT)
    ask.quietly(beats(group, "second", -1), BEAT)
    ask(commits(group, "", -1, topic), 9)
    ask(OffsetDeleteRequest(group, deleted), 0)
    ask(DeleteGroupsRequest([group]), 2)


def joins_classically(group: str) -> JoinGroupRequest:
    return JoinGroupRequest(group, 10_000, 10_000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")])


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def groups_of_other_kinds(ask: Ask) -> None:
    topic, group = ask.topic(), new_group(ask)
    ask(enters(group, "first", reads(topic)))
    ask(DescribeGroupsRequest([group]), 6)
    ask(ConsumerGroupDescribeRequest([group]), 1)
    ask(joins(group, "consumer", topic), 1)
    ask(joins_classically(group), 3)
    ask(beats(group, "first", -1))
    ask(joins(group, "consumer", topic), 1)
    consumers, classic, simple = new_group(ask, "consumers"), new_group(ask, "classic"), new_group(ask, "simple")
    ask.quietly(joins(consumers, "consumer", topic), 1)
    ask(enters(consumers, "first", reads(topic)))
    ask(beats(consumers, "first", 1))
    ask(beats(consumers, "first", -1))
    ask(StreamsGroupDescribeRequest([consumers]), DESCRIBE)
    ask.quietly(joins_classically(classic), 3)
    ask(enters(classic, "first", reads(topic)))
    ask.quietly(commits(simple, "", -1, topic), 9)
    ask(enters(simple, "first", reads(topic)))
    ask(StreamsGroupDescribeRequest([simple]), DESCRIBE)
    keep_records(ask, simple)


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def a_group_becomes_classic(ask: Ask) -> None:
    topic, group = ask.topic(), new_group(ask)
    ask(enters(group, "first", reads(topic)))
    ask(beats(group, "first", -1))
    ask.quietly(joins_classically(group), 3)
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    keep_listed(ask, group, "classic")


@case(ApiKey.STREAMS_GROUP_HEARTBEAT, since=1)
def a_classic_group_moves_over_and_back(ask: Ask) -> None:
    """The group keeps its offsets; nobody may come while members of the other protocol are there."""
    topic, group = ask.topic(partitions=2), new_group(ask)
    member = _joined_classically(ask, group)
    ask.quietly(commits(group, member, 1, topic), 9)
    ask(enters(group, "first", reads(topic)))
    ask(LeaveGroupRequest(group, members=[MemberIdentity(member)]), 5)
    _look_at(ask, group, topic)
    ask(enters(group, "first", reads(topic)))
    ask(beats(group, "first", 2, **owns({"0": [0, 1]})))
    ask(joins_classically(group), 3)
    ask(HeartbeatRequest(group, 1, member), 4)
    ask(commits(group, member, 1, topic), 9)
    _look_at(ask, group, topic)
    ask(beats(group, "first", -1))
    keep_listed(ask, group, "streams")
    member = _joined_classically(ask, group)
    ask(beats(group, "first", 3))
    ask(enters(group, "first", reads(topic)))
    ask(LeaveGroupRequest(group, members=[MemberIdentity(member)]), 5)
    _look_at(ask, group, topic)
    keep_records(ask, group)


def _joined_classically(ask: Ask, group: str) -> str:
    """The id of the only member of a classic group, which has synced."""
    answer = ask.until(lambda found: not found.error_code, joins_classically(group), 3)
    ask(SyncGroupRequest(group, answer.generation_id, answer.member_id), 3)
    return str(answer.member_id)


def _look_at(ask: Ask, group: str, topic: str) -> None:
    wanted = [OffsetFetchRequestTopics(topic, partition_indexes=[0])]
    ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, None, -1, wanted)]), 9)
    ask(StreamsGroupDescribeRequest([group]), DESCRIBE)
    ask(DescribeGroupsRequest([group]), 6)


# ---- descriptions


@case(ApiKey.STREAMS_GROUP_DESCRIBE)
def groups_that_are_none(ask: Ask) -> None:
    ask(StreamsGroupDescribeRequest([ask.name("nobody"), ""]))


@case(ApiKey.STREAMS_GROUP_DESCRIBE)
def a_described_group(ask: Ask) -> None:
    topic, group = ask.topic(partitions=2), new_group(ask)
    ask.quietly(enters(group, "first", counts(topic, group)), BEAT)
    settled(ask, group, "first", 2)
    ask(StreamsGroupDescribeRequest([group], True, ask.version > 0))


@case(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE)
def a_description_without_a_plugin(ask: Ask) -> None:
    topic, group = ask.topic(), new_group(ask)
    ask.quietly(enters(group, "first", reads(topic)), BEAT)
    ask(StreamsGroupTopologyDescriptionUpdateRequest(group, "first", 1, TopologyDescription()))
    ask(StreamsGroupTopologyDescriptionUpdateRequest("", "", 1, TopologyDescription()))
