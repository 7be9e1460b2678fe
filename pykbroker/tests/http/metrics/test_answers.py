"""Every error code of an answer is counted, wherever it stands."""

from __future__ import annotations

from collections import Counter

import pytest

from pykbroker.http.metrics.answers import count_errors
from pykbroker.wire.messages.api_versions import ApiVersionsResponse
from pykbroker.wire.messages.describe_cluster import DescribeClusterResponse
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeResponse


def _committed(*codes: list[int]) -> OffsetCommitResponse:
    topics = [[OffsetCommitResponsePartition(0, code) for code in some] for some in codes]
    return OffsetCommitResponse(topics=[OffsetCommitResponseTopic("t", partitions=some) for some in topics])


def _fetched(of_group: int, *codes: int) -> OffsetFetchResponse:
    partitions = [OffsetFetchResponsePartitions(0, 1, error_code=code) for code in codes]
    topics = [OffsetFetchResponseTopics("t", partitions=partitions)]
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("g", topics=topics, error_code=of_group)])


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        (SaslHandshakeResponse(error_code=33), {33: 1}),
        (ApiVersionsResponse(), {0: 1}),
        (DescribeClusterResponse(error_code=0), {0: 1}),
        (_committed([0, 3], [3]), {0: 1, 3: 2}),
        (_committed([], []), {0: 1}),
        (_committed(), {0: 1}),
        (_committed([22] * 1200, [0] * 5), {22: 1000}),
        (_committed(*([0] for _ in range(1200))), {0: 1000}),
        (_fetched(16), {16: 1, 0: 1}),
        (_fetched(0, 3, 0), {0: 3, 3: 1}),
        (None, {}),
    ],
)
def test_codes_are_counted(answer: object, counted: dict[int, int]) -> None:
    errors: Counter[int] = Counter()
    count_errors(answer, errors)
    assert errors == counted
