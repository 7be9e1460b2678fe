"""kafka-streams-groups: lists, describes, resets and deletes a group of Kafka Streams, also of members that are there."""

from __future__ import annotations

import pytest

from compat_tests.oracle.cases.consumer_groups import configure
from compat_tests.oracle.cases.streams_groups import beats, commits, enters, reads
from compat_tests.oracle.requests import Ask
from compat_tests.tools.conftest import columns, table


@pytest.fixture
def ask(bootstrap):
    ask = Ask(bootstrap, 1, "tools")
    ask.wait_for_coordinators()
    yield ask
    ask.close()


def test_a_streams_group_from_its_first_member_to_its_deletion(tool, make_topic, fill, name, ask):
    topic, group = make_topic(), name("streams")
    of_group = ("--group", group)
    fill(topic)
    configure(ask, group, "streams.initial.rebalance.delay.ms", "0")
    member = ask.quietly(enters(group, "member", reads(topic)), 1)
    assert member.error_code == 0, member
    assert ask.quietly(commits(group, "member", member.member_epoch, topic), 9).topics[0].partitions[0].error_code == 0

    def offsets() -> list[tuple[str, ...]]:
        return columns(table(tool("streams-groups", "--describe", *of_group)), "TOPIC", "PARTITION", "OFFSET-LAG")

    assert group in tool("streams-groups", "--list").lines
    assert (group, "Stable") in columns(table(tool("streams-groups", "--list", "--state")), "GROUP", "STATE")
    assert (group, "Streams") in columns(table(tool("groups", "--list")), "GROUP", "TYPE")
    assert offsets() == [(topic, "0", "5")]
    described = tool("streams-groups", "--describe", *of_group, "--members")
    assert columns(table(described), "GROUP", "MEMBER", "PROCESS") == [(group, "member", "process-member")]
    state = tool("streams-groups", "--describe", *of_group, "--state", "--verbose")
    assert group in state.text
    ask.quietly(beats(group, "member", -1), 1)
    for end, offset in (("--to-latest", "10"), ("--to-earliest", "0")):
        reset = tool("streams-groups", "--reset-offsets", *of_group, "--input-topic", topic, end, "--execute")
        assert columns(table(reset), "TOPIC", "PARTITION", "NEW-OFFSET") == [(topic, "0", offset)]
    tool("streams-groups", "--delete-offsets", *of_group, "--input-topic", topic)
    tool("streams-groups", "--delete", *of_group)
    assert group not in tool("streams-groups", "--list").lines
