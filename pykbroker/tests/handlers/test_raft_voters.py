"""AddRaftVoter, RemoveRaftVoter: a quorum of one refuses, in the codes and words that Apache Kafka 4.4.0 answered."""

from __future__ import annotations

import pytest

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from pykbroker.wire.messages.remove_raft_voter import RemoveRaftVoterRequest

CONTROLLER, ELSEWHERE = Listener("CONTROLLER", "127.0.0.1", 9), Listener("PLAINTEXT", "127.0.0.1", 9)
X, ZERO = b"x" * 16, bytes(16)
_KEY = "ReplicaKey(id={}, directoryId=eHh4eHh4eHh4eHh4eHh4eA)"


@pytest.mark.parametrize(
    ("level", "request_", "code", "said"),
    [
        (
            0,
            AddRaftVoterRequest(None, 9, 2, X, [CONTROLLER]),
            35,
            "adding voter because the kraft.version feature is 0",
        ),
        (0, AddRaftVoterRequest(None, 9, 2, X, [ELSEWHERE]), 42, "{ListenerName(PLAINTEXT)=127.0.0.1/<unresolved>:9})"),
        (0, AddRaftVoterRequest("other", 9, 2, X, [CONTROLLER]), 104, 'The given id "other" doesn\'t match'),
        (0, AddRaftVoterRequest(None, 9, 2, ZERO, [CONTROLLER]), 42, "Add voter request didn't include a valid voter"),
        (1, AddRaftVoterRequest(None, 9, 2, X, [CONTROLLER]), 7, f"New voter {_KEY.format(2)} is not ready"),
        (
            1,
            AddRaftVoterRequest(None, 9, 1, X, [CONTROLLER]),
            126,
            f"The voter id for {_KEY.format(1)} is already part",
        ),
        (0, RemoveRaftVoterRequest(None, 2, X), 35, "removing voter because the kraft.version feature is 0"),
        (0, RemoveRaftVoterRequest(None, -1, X), 42, "Remove voter request didn't include a valid voter"),
        (
            1,
            RemoveRaftVoterRequest(None, 2, X),
            127,
            f"Cannot remove voter {_KEY.format(2)} from the set of voters [Rep",
        ),
        (1, RemoveRaftVoterRequest("other", 2, X), 104, "doesn't match the cluster id"),
    ],
)
def test_refusals(level: int, request_: AddRaftVoterRequest | RemoveRaftVoterRequest, code: int, said: str) -> None:
    broker = MemoryCluster()
    broker.image.kraft_version = level
    answer = broker.ask(request_, 0)
    assert (answer.error_code, said in answer.error_message) == (code, True), answer.error_message
