"""What HTTP tells a process and what the control socket tells it is one table of verbs."""

from __future__ import annotations

import pytest

from pykbroker.http.api.table import ROUTES
from pykbroker.steered.verbs.table import VERBS
from pykbroker.testing import Kafka
from pykbroker.tests.steered.test_control import tell_blocking

#: What needs more than JSON, or is about who asks: of HTTP alone.
OF_HTTP = {"loadSeed", "dumpSeed", "listRequests", "forgetRequests", "recordRequests", "listLoggers", "setLevel"}


def test_each_route_is_a_verb_or_of_http_alone() -> None:
    assert {route.name for route in ROUTES if route.handler is None} == set(VERBS)
    assert {route.name for route in ROUTES if route.handler is not None} <= OF_HTTP


def test_the_control_socket_does_what_http_does() -> None:
    with Kafka(clock="manual") as kafka:
        directory = kafka.node.directory

        def tell(line: str) -> dict:
            return tell_blocking(directory, line.encode())

        assert tell('{"command": "addFault", "text": "Produce error=NOT_LEADER_OR_FOLLOWER"}')["number"] == 1
        assert len(tell('{"command": "listFaults"}')["faults"]) == 1
        assert tell('{"command": "keepSnapshot", "name": "s"}') == {"snapshots": ["s"]}
        kafka.create_topic("t")
        before = tell('{"command": "getClock"}')["now_ms"]
        assert tell('{"command": "advanceClock", "by": "2s"}')["now_ms"] == before + 2000
        assert tell('{"command": "restoreSnapshot", "name": "s"}') == {}
        assert kafka.topics() == {}
        assert tell('{"command": "reset"}') == {}
        assert tell('{"command": "listFaults"}') == {"faults": []}
        assert "no snapshot" in tell('{"command": "restoreSnapshot", "name": "u"}')["error"]
        assert "BadFault" not in tell('{"command": "addFault", "text": "Nothing"}')["error"]


@pytest.mark.parametrize("line", [b"[]", b"7", b'{"command": {}}', b'{"command": "addFault"}'])
def test_nonsense_is_refused(line: bytes) -> None:
    with Kafka() as kafka:
        directory = kafka.node.directory
        assert tell_blocking(directory, line)["error"]
