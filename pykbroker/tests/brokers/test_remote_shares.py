"""A share coordinator elsewhere: broker 1 of a cluster with its handlers, asked over the messages, is what it is when asked directly."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.brokers.remote_shares import RemoteShareCoordinator
from pykbroker.coordination.share.state import SharePartitionKey, ShareState, StateBatch
from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.initialize_share_group_state import InitializeShareGroupStateResponse

THERE = 1


class Beside:
    """Broker 1, as another one asks it."""

    def __init__(self) -> None:
        self.world = MemoryCluster()
        self.world.topic("t")
        self.world.topic(SHARE_GROUP_STATE)
        self.lost = False
        self.coordinator = RemoteShareCoordinator(self, THERE)
        self.key = SharePartitionKey("g", self.world.image.topics["t"].id, 0)

    def ask(self, node_id: int, request: Any, version: int) -> Deferred[Any]:
        assert node_id == THERE
        if self.lost:
            return Deferred.failed(KafkaError(ErrorCode.NETWORK_EXCEPTION, "it does not answer"))
        return Deferred.completed(self.world.ask(request, max(version, type(request).VERSIONS[1])))


@pytest.fixture
def beside() -> Beside:
    return Beside()


def test_what_is_written_there_is_read_there(beside: Beside) -> None:
    coordinator, key = beside.coordinator, beside.key
    assert coordinator.initialize(key, 1, 5).done
    batches = (StateBatch(5, 6, 2, 1), StateBatch(7, 9, 0, 3))
    written = coordinator.write(
        key, ShareState(state_epoch=1, leader_epoch=2, start_offset=5, delivery_complete_count=2, batches=batches)
    )
    assert written.value is None
    read = coordinator.read(key, 2).value
    assert (read.state_epoch, read.leader_epoch, read.start_offset, read.batches) == (1, 2, 5, batches)
    summary = coordinator.summary(key).value
    assert (summary.state_epoch, summary.leader_epoch, summary.start_offset) == (1, 2, 5)
    assert summary.delivery_complete_count == 2
    assert coordinator.delete(key).value is None
    assert coordinator.summary(key).value.start_offset == ShareState().start_offset


def test_what_it_refuses(beside: Beside) -> None:
    coordinator, key = beside.coordinator, beside.key
    assert coordinator.initialize(key, 3, 0).done
    refused = coordinator.write(key, ShareState(state_epoch=1)).error
    assert isinstance(refused, KafkaError)
    assert refused.code is ErrorCode.FENCED_STATE_EPOCH
    beside.lost = True
    lost = coordinator.read(key, 0).error
    assert isinstance(lost, KafkaError)
    assert (lost.code, lost.message) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "it does not answer")


def test_an_answer_for_others_is_refused(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    coordinator, key = beside.coordinator, beside.key
    monkeypatch.setattr(beside, "ask", lambda *_: Deferred.completed(InitializeShareGroupStateResponse()))
    error = coordinator.initialize(key, 1, 5).error
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.UNKNOWN_SERVER_ERROR
