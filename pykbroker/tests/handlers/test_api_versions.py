"""ApiVersions: what it says of features, and to a client that expected another broker."""

from __future__ import annotations

import pytest

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.errors import ErrorCode
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
