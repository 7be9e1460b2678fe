from __future__ import annotations

import pytest

from pykbroker.quotas.mutations import Mutations
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.rates import TokenBucket, Windows
from pykbroker.wire.errors import ErrorCode, KafkaError


def test_the_last_token_lets_any_number_pass_and_then_it_is_refused() -> None:
    clock = ManualClock()
    bucket = TokenBucket(Windows())
    first = Mutations(bucket, 1, clock, strict=True)
    first.record(11)
    first.record(4)  # none is owed yet
    assert first.throttle_ms() == 0
    second = Mutations(bucket, 1, clock, strict=True)
    with pytest.raises(KafkaError) as refused:
        second.record(1)
    assert refused.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert second.throttle_ms() == 4000
    clock.advance(1500)
    assert second.throttle_ms() == 2500
    clock.advance(2500)
    Mutations(bucket, 1, clock, strict=True).record(1)


def test_who_cannot_be_refused_waits() -> None:
    clock = ManualClock()
    old = Mutations(TokenBucket(Windows()), 1, clock, strict=False)
    old.record(11)
    assert old.throttle_ms() == 0
    old.record(4)
    assert old.throttle_ms() == 4000
