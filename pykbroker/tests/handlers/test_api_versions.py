"""ApiVersions: what it says of features, and to a client that expected another broker."""

from __future__ import annotations

import pytest

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


def finalized(broker: MemoryCluster) -> dict[str, int]:
    answer = broker.ask(ApiVersionsRequest("test", "1"), 4)
    return {each.name: each.max_version_level for each in answer.finalized_features}


def test_the_quorum_s_version_is_a_feature_unless_it_is_0() -> None:
    broker = MemoryCluster()
    features = dict(broker.image.features)
    assert finalized(broker) == features
    broker.image.kraft_version = 1
    assert finalized(broker) == features | {"kraft.version": 1}


def test_features_and_their_epoch_are_those_of_the_image_of_that_moment() -> None:
    """A change that the controller has decided, and not published yet, is not in the answer; the log is further then."""
    world = MemoryCluster()
    before, log = world.image.offset, world.controller.log
    assert world.image.features["group.version"] == 1
    threads = world.hold_threads()
    changed = world.post(UpdateFeaturesRequest(60_000, [FeatureUpdateKey("group.version", 0, upgrade_type=2)]), 2)
    world.settle()
    assert not changed.done
    assert log.end_offset > before + 1
    assert levels_and_epoch(world) == (1, before)
    while threads:
        threads.run_one()
        world.settle()
    assert changed.value.error_code == ErrorCode.NONE
    assert levels_and_epoch(world) == (0, world.image.offset)
    assert world.image.offset == log.end_offset - 1 > before


def levels_and_epoch(world: MemoryCluster) -> tuple[int, int]:
    """The finalized group.version, and the epoch of all features."""
    answer = world.ask(ApiVersionsRequest("test", "1"), 4)
    levels = {each.name: each.max_version_level for each in answer.finalized_features}
    return levels.get("group.version", 0), answer.finalized_features_epoch


@pytest.mark.parametrize(
    ("cluster", "node", "code"),
    [
        (None, -1, ErrorCode.NONE),
        ("own", 1, ErrorCode.NONE),
        ("own", 2, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("other", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        (None, 1, ErrorCode.INVALID_REQUEST),
        ("own", -1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_client_may_name_the_broker_that_it_expects(cluster: str | None, node: int, code: ErrorCode) -> None:
    broker = MemoryCluster()
    own = broker.image.cluster_id if cluster == "own" else cluster
    answer = broker.ask(ApiVersionsRequest("test", "1", own, node), 5)
    assert (answer.error_code, bool(answer.api_keys)) == (code, code is ErrorCode.NONE)
