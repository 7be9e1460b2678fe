from __future__ import annotations

import struct
from typing import Any

import pytest

from pykbroker.network.handshake import Agreed, NodeCall, handshake
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.api_versions import ApiVersion, ApiVersionsResponse


def offers(**versions: tuple[int, int]) -> ApiVersionsResponse:
    keys = [ApiVersion(ApiKey[name], low, high) for name, (low, high) in versions.items()]
    return ApiVersionsResponse(api_keys=keys)


def agreed(answer: ApiVersionsResponse) -> Agreed:
    """What comes of a handshake with this answer."""
    exchange: Any = handshake("host", None)
    next(exchange)
    with pytest.raises(StopIteration) as ended:
        exchange.send(answer)
    value = ended.value.value
    assert isinstance(value, Agreed)
    return value


def test_the_highest_version_of_both() -> None:
    common = agreed(offers(FETCH=(4, 17), METADATA=(0, 99), VOTE=(7, 9)))
    assert common.version(ApiKey.FETCH, 0) == 17
    assert common.version(ApiKey.FETCH, 17) == 17
    assert common.version(ApiKey.METADATA, 0) == 13
    assert common.session_ms == 0
    for key, lowest in ((ApiKey.FETCH, 18), (ApiKey.VOTE, 0), (ApiKey.PRODUCE, 0)):
        with pytest.raises(KafkaError) as refused:
            common.version(key, lowest)
        assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_a_node_that_knows_an_older_version_is_asked_in_that() -> None:
    exchange: Any = handshake("host", None)
    first = next(exchange)
    old = offers(API_VERSIONS=(0, 2))
    old.error_code = ErrorCode.UNSUPPORTED_VERSION
    out = bytearray(struct.pack(">i", 5))
    old.encode(out, 0)
    again = exchange.send(first.decode(bytes(out), 5))
    assert isinstance(again, NodeCall)
    assert (first.version, again.version) == (4, 2)


def test_a_node_that_refuses() -> None:
    exchange: Any = handshake("host", None)
    next(exchange)
    with pytest.raises(KafkaError) as refused:
        exchange.send(ApiVersionsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    assert refused.value.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
