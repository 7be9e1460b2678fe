"""GetTelemetrySubscriptions and PushTelemetry as requests: what a client is told, and the errors of what it sends."""

from __future__ import annotations

import pytest

from pykbroker.tests.telemetry.test_manager import GOOD, INTERVAL_MS, Telemetry
from pykbroker.wire.compression import Compression, compress
from pykbroker.wire.errors import ErrorCode


def test_what_a_client_is_told() -> None:
    world = Telemetry(telemetry_max_bytes="5000")
    told = world.get()
    assert (told.error_code, told.push_interval_ms, told.requested_metrics) == (0, INTERVAL_MS, ["*"])
    assert (told.telemetry_max_bytes, told.delta_temporality) == (5000, True)
    assert told.accepted_compression_types == [4, 3, 1, 2]
    assert world.get(bytes(16)).client_instance_id != bytes(16)  # a new client gets its id


@pytest.mark.parametrize("codec", list(Compression))
def test_what_it_pushes_is_taken_in_every_codec(codec: Compression) -> None:
    world = Telemetry()
    told = world.get()
    world.advance(INTERVAL_MS)
    data = GOOD if codec is Compression.NONE else compress(codec, GOOD)
    assert world.push(told.subscription_id, bytes(data), int(codec)) is ErrorCode.NONE
    world.settle()
    assert world.values() == {"a.rate": 2.5}


def test_what_is_refused() -> None:
    world = Telemetry(telemetry_max_bytes="5000")
    told = world.get()
    world.advance(INTERVAL_MS)
    assert world.push(told.subscription_id + 1) is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    world.advance(INTERVAL_MS)
    assert world.push(told.subscription_id, bytes(5001)) is ErrorCode.TELEMETRY_TOO_LARGE
    world.advance(INTERVAL_MS)
    assert world.push(told.subscription_id, GOOD, 9) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert world.push(told.subscription_id, client=bytes(16)) is ErrorCode.INVALID_REQUEST
    assert world.values() == {}
