"""What a test sees of Connect from outside: lines in topics and files, and the group of its workers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from compat_tests.harness.awaiting import eventually
from compat_tests.harness.process import BrokerProcess
from compat_tests.harness.records import values
from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse


def await_lines(ask: Callable[[], list[str]], expected: list[str]) -> None:
    """Waits for the last of ``expected``; then these must be all there is, each once, in this order."""
    found = eventually(ask, lambda seen: len(seen) >= len(expected) and seen[-1] == expected[-1])
    assert found == expected


def await_values(
    broker: BrokerProcess, topic: str, expected: list[str], meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Waits until ``topic`` holds ``expected``, and no other committed value; ``meanwhile`` is called before each look."""

    def look() -> list[str]:
        meanwhile()
        return values(broker.bootstrap, topic)

    await_lines(look, expected)


def await_file(path: Path, expected: list[str]) -> None:
    """Waits until the file that a sink writes holds ``expected``, and no other line."""
    await_lines(lambda: path.read_text().splitlines() if path.exists() else [], expected)


def describe_group(broker: BrokerProcess, group: str) -> tuple[str, str, str, int]:
    """State, type of protocol, protocol and number of members. Asked in raw form: Python's admin clients read every
    group's members as consumers.
    """
    with closing(Connection(broker.bootstrap)) as connection:
        answer = connection.ask(DescribeGroupsRequest(groups=[group]), version=5)
    assert isinstance(answer, DescribeGroupsResponse)
    (found,) = answer.groups
    return found.group_state, found.protocol_type, found.protocol_data, len(found.members)
