"""ApiVersions: what it says of features."""

from __future__ import annotations

from pykbroker.handlers import api_versions
from pykbroker.tests.handlers.cluster_stub import StubBroker
from pykbroker.wire.messages.api_versions import ApiVersionsRequest


def finalized(broker: StubBroker) -> dict[str, int]:
    answer = broker.ask(api_versions, ApiVersionsRequest("test", "1"), 4)
    return {each.name: each.max_version_level for each in answer.finalized_features}


def test_the_quorum_s_version_is_a_feature_unless_it_is_0() -> None:
    broker = StubBroker()
    broker.image.features["metadata.version"] = 30
    assert finalized(broker) == {"metadata.version": 30}
    broker.controller.log.quorum.kraft_version = 1
    assert finalized(broker) == {"metadata.version": 30, "kraft.version": 1}
