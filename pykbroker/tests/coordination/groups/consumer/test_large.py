"""Hundreds of members in one group of the consumer protocol, through all its states."""

from __future__ import annotations

import pytest

from pykbroker.coordination.groups.consumer.group import ConsumerGroupState
from pykbroker.tests.coordination.groups.consumer.harness import SESSION_MS, Client, ConsumerHarness, settle

MEMBERS = 400


@pytest.mark.deep
def test_a_group_of_hundreds_lives_through_all_its_states():
    h = ConsumerHarness()
    h.topic("t", MEMBERS)
    clients = [Client(h, f"m{number:03}", "t") for number in range(MEMBERS)]
    for client in clients:
        client.beat()
    settle(*clients)
    assert [len(client.owned) for client in clients] == [1] * MEMBERS
    assert h.consumers.state is ConsumerGroupState.STABLE

    # All but every fourth fall silent; those who stay share everything.
    h.advance(SESSION_MS - 1)
    staying = clients[::4]
    for client in staying:
        client.beat()
    h.advance(1)
    settle(*staying)
    assert [len(client.owned) for client in staying] == [4] * len(staying)

    # A restart changes nothing; then all leave.
    h.restart()
    assert h.consumers.state is ConsumerGroupState.STABLE
    for client in staying:
        client.leave()
    assert h.consumers.state is ConsumerGroupState.EMPTY
