"""StreamsGroupDescribe: epochs, topology, members and their tasks."""

from __future__ import annotations

from pykbroker.tests.kit.streams_groups import CHANGELOG, INPUT, STREAMS_GROUP, StreamsCluster, StreamsThread, settle
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.streams_group_describe import StreamsGroupDescribeRequest


def test_a_group_with_its_topology_and_tasks() -> None:
    world = StreamsCluster(standbys=1)
    one, two = StreamsThread(world, "a", "one"), StreamsThread(world, "b", "two")
    settle(one, two)
    group = world.described()
    assert (group.error_code, group.group_state, group.group_epoch) == (0, "Stable", one.epoch)
    assert group.assignment_epoch == group.group_epoch
    assert group.topology is not None
    assert [each.subtopology_id for each in group.topology.subtopologies] == ["0", "1"]
    assert group.topology.subtopologies[0].source_topics == [INPUT]
    (changelog,) = group.topology.subtopologies[1].state_changelog_topics
    assert (changelog.name, changelog.partitions) == (CHANGELOG, 3)
    for thread, member in zip((one, two), sorted(group.members, key=lambda each: each.member_id), strict=True):
        active = {(each.subtopology_id, index) for each in member.assignment.active_tasks for index in each.partitions}
        standby = {
            (each.subtopology_id, index) for each in member.assignment.standby_tasks for index in each.partitions
        }
        assert (member.member_id, member.process_id, member.member_epoch) == (thread.name, thread.process, thread.epoch)
        assert (active, standby) == (thread.active, thread.standby)
        assert member.target_assignment == member.assignment


def test_descriptions_of_topologies_are_not_kept() -> None:
    world = StreamsCluster()
    settle(StreamsThread(world, "a"))
    for wanted, status in ((False, 0), (True, 1)):
        request = StreamsGroupDescribeRequest([STREAMS_GROUP], include_topology_description=wanted)
        (group,) = world.ask(request, 1).groups
        assert (group.topology_description_status, group.topology_description) == (status, None)


def test_what_is_no_streams_group() -> None:
    world = StreamsCluster()
    (group,) = world.ask(StreamsGroupDescribeRequest(["unknown"]), 1, broker=world.coordinator("unknown")).groups
    assert group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
