"""Classic groups that no stock client at hand forms: hundreds of members, and protocols other than the consumers'."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from compat_tests.groups.members import GroupMember, generation
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import GROUP, coordinator_ready
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest

MEMBERS = 300
#: A consumer's metadata: version 0, no topics, no user data.
NO_TOPICS = b"\0\0" + b"\0\0\0\0" + b"\xff\xff\xff\xff"
#: What Kafka Connect's workers and schema registries offer; the coordinator must not look into it.
PROTOCOLS = {
    "connect": {"sessioned": b"\0\2worker's url and offset", "compatible": b"\0\1older", "default": b"\0\0oldest"},
    "sr": {"v0": b'{"version":1,"host":"registry-1","port":8081,"master_eligibility":true}'},
}


@pytest.fixture
def ask(bootstrap: str, name: Callable[..., str]) -> Iterator[Ask]:
    with closing(Ask(bootstrap, 0, name())) as asking:
        yield asking


@pytest.fixture
def members(bootstrap: str, ask: Ask) -> Iterator[Callable[..., list[GroupMember]]]:
    """Makes members of a group once it has a coordinator; closes them all in the end."""
    made: list[GroupMember] = []

    def make(count: int, group: str, protocol_type: str, protocols: dict[str, bytes]) -> list[GroupMember]:
        coordinator_ready(ask, group, GROUP)
        new = [GroupMember(bootstrap, group, protocol_type, protocols) for _ in range(count)]
        made.extend(new)
        return new

    yield make
    for member in made:
        member.close()


def described(ask: Ask, group: str) -> DescribedGroup:
    (found,) = ask.quietly(DescribeGroupsRequest([group]), 5).groups
    return found


def test_hundreds_of_members(ask, members, name):
    group = name("group")
    first = generation(members(MEMBERS, group, "consumer", {"range": NO_TOPICS}))
    assert len(first[0].joined.members) == MEMBERS
    assert all(member.beat() == ErrorCode.NONE for member in first)
    before = first[0].joined.generation_id

    (newcomer,) = members(1, group, "consumer", {"range": NO_TOPICS})
    everybody = generation([*first, newcomer])
    assert everybody[0].joined.generation_id > before
    found = described(ask, group)
    assert (found.group_state, len(found.members)) == ("Stable", MEMBERS + 1)
    assert {member.member_id: member.member_assignment for member in found.members} == {
        member.member_id: member.member_id.encode() for member in everybody
    }

    leaving = [MemberIdentity(member.member_id) for member in everybody]
    answer = ask.quietly(LeaveGroupRequest(group, members=leaving), 5)
    assert {member.error_code for member in answer.members} == {ErrorCode.NONE}
    assert described(ask, group).group_state == "Empty"


@pytest.mark.parametrize("protocol_type", PROTOCOLS)
def test_other_protocols_than_the_consumers(ask, members, name, protocol_type):
    group = name("group")
    protocols = PROTOCOLS[protocol_type]
    best, metadata = next(iter(protocols.items()))
    leader, follower = generation(members(2, group, protocol_type, protocols))
    assert leader.joined.protocol_type == protocol_type
    assert leader.joined.protocol_name == best
    assert {each.member_id: each.metadata for each in leader.joined.members} == {
        leader.member_id: metadata,
        follower.member_id: metadata,
    }
    found = described(ask, group)
    assert (found.protocol_type, found.protocol_data, found.group_state) == (protocol_type, best, "Stable")
    assert {each.member_metadata for each in found.members} == {metadata}
    listed = {each.group_id: each for each in ask.quietly(ListGroupsRequest([], ["classic"]), 5).groups}
    assert listed[group].protocol_type == protocol_type

    (consumer,) = members(1, group, "consumer", {"range": NO_TOPICS})
    assert consumer.ask_join().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    (deleted,) = ask.quietly(DeleteGroupsRequest([group]), 2).results
    assert deleted.error_code == ErrorCode.NON_EMPTY_GROUP

    leaving = [MemberIdentity(each.member_id) for each in (leader, follower)]
    ask.quietly(LeaveGroupRequest(group, members=leaving), 5)
    assert described(ask, group).protocol_type == protocol_type
    (deleted,) = ask.quietly(DeleteGroupsRequest([group]), 2).results
    assert deleted.error_code == ErrorCode.NONE
    assert described(ask, group).group_state == "Dead"


def test_a_member_of_another_protocol_commits(ask, members, name):
    group = name("group")
    (worker,) = generation(members(1, group, "connect", PROTOCOLS["connect"]))
    offset = OffsetCommitRequestTopic(ask.topic(), partitions=[OffsetCommitRequestPartition(0, 7)])
    request = OffsetCommitRequest(group, worker.joined.generation_id, worker.member_id, topics=[offset])
    answer = ask.quietly(request, 9)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    (found,) = ask.quietly(OffsetFetchRequest(group, None), 5).topics
    assert found.partitions[0].committed_offset == 7
