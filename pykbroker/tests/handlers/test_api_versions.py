"""ApiVersions: what it says of features."""

from __future__ import annotations

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.messages.api_versions import ApiVersionsRequest


def finalized(broker: MemoryCluster) -> dict[str, int]:
    answer = broker.ask(ApiVersionsRequest("test", "1"), 4)
    return {each.name: each.max_version_level for each in answer.finalized_features}


def test_the_quorum_s_version_is_a_feature_unless_it_is_0() -> None:
    broker = MemoryCluster()
    features = dict(broker.image.features)
    assert finalized(broker) == features
    broker.image.kraft_version = 1
    assert finalized(broker) == features | {"kraft.version": 1}
