from __future__ import annotations

import pytest

from pykbroker.quotas.limits import Limit, QuotaLimits
from pykbroker.quotas.usage import RateUsage, TokenUsage
from pykbroker.runtime.rates import Rate, TokenBucket, Windows

NONE = QuotaLimits({}, "producer_byte_rate")


def test_use_is_counted_by_holder() -> None:
    usage = RateUsage(NONE, Windows())
    assert usage.record(Limit(("a", ""), 10), 110, 0) == 1000
    assert usage.record(Limit(("b", ""), 10), 100, 0) == 0
    usage.take_back(Limit(("a", ""), 10), 110, 0)
    assert usage.rates(0) == {("a", ""): 0, ("b", ""): 10}


def test_nobody_waits_longer_than_the_most() -> None:
    assert RateUsage(NONE, Windows(), most_ms=1000).record(Limit(("a", ""), 1), 1_000_000, 0) == 1000


def test_who_uses_nothing_for_long_is_forgotten() -> None:
    usage, tokens = RateUsage(NONE, Windows()), TokenUsage(NONE, Windows())
    for number in range(5000):
        limit = Limit((str(number), ""), 1)
        usage.record(limit, 1, number * 100)
        tokens.bucket(limit, number * 100).take(1, 1, number * 100)
    assert len(usage.rates(500_000)) <= 1000
    assert len(tokens.tokens(500_000)) <= 1000


def test_who_owes_is_not_forgotten() -> None:
    tokens = TokenUsage(NONE, Windows())
    tokens.bucket(Limit(("owing", ""), 1), 0).take(1_000_000, 1, 0)
    for number in range(2000):
        tokens.bucket(Limit((str(number), ""), 1), 20_000)
    assert ("owing", "") in tokens.tokens(20_000)


def test_a_new_holder_has_only_some_others_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def counted(*_: object) -> bool:
        nonlocal looked
        looked += 1
        return False

    monkeypatch.setattr(Rate, "is_idle", counted)
    monkeypatch.setattr(TokenBucket, "is_full", counted)
    usage, tokens = RateUsage(NONE, Windows()), TokenUsage(NONE, Windows())
    for number in range(2500):
        limit, looked = Limit((str(number), ""), 1), 0
        usage.record(limit, 1, 0)
        tokens.bucket(limit, 0)
        assert looked <= 10
    assert len(usage.rates(0)) == len(tokens.tokens(0)) == 2500
