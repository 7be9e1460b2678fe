from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.runtime.rates import Rate, TokenBucket, Windows, rounded

windows = st.builds(Windows, st.integers(1, 15), st.sampled_from([1000, 2000, 5000]))
limits = st.floats(1, 1e7)
#: What is used, and how many milliseconds pass before it.
uses = st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 3000)), min_size=1, max_size=30)


def test_ten_seconds_worth_pass_at_once() -> None:
    rate = Rate(Windows(), 0)
    rate.record(10_000, 0)
    assert rate.throttle_ms(1000, 0) == 0
    rate.record(1000, 0)
    assert rate.throttle_ms(1000, 0) == 1000


def test_the_throttle_time_is_what_was_used_at_the_quota_less_the_time_that_it_took() -> None:
    rate = Rate(Windows(), 0)
    for second in range(15):
        rate.record(2000, second * 1000)
    used, passed_ms = rate.measure(14_000)
    assert (used, passed_ms) == (22_000, 10_000)  # the oldest that is left began at 4 s
    assert rate.throttle_ms(1000, 14_000) == 22_000 - 10_000


def test_what_was_not_used_after_all_does_not_count() -> None:
    rate = Rate(Windows(), 0)
    rate.record(500, 0)
    rate.record(9000, 100)
    rate.record(-9000, 100)
    assert rate.measure(100) == (500, 10_100)


def test_a_single_window_of_no_time_is_a_millisecond() -> None:
    rate = Rate(Windows(1, 1000), 5)
    rate.record(3, 5)
    assert rate.measure(5) == (3, 1)


@given(windows, limits, uses)
def test_who_waits_as_told_is_within_the_quota_soon(
    windows: Windows, limit: float, uses: list[tuple[int, int]]
) -> None:
    """Perhaps not at the first try: a window that begins takes from the time that counts."""
    rate, now = Rate(windows, 0), 0
    for value, pause_ms in uses:
        now += pause_ms
        rate.record(value, now)
        until = now + rate.throttle_ms(limit, now) + windows.total_ms
        while wait := rate.throttle_ms(limit, now):
            now += wait
        assert now <= until


@settings(max_examples=20)
@given(st.integers(1, 2), st.integers(1, 20), st.integers(1, 20))
def test_who_takes_all_that_he_may_gets_the_quota(number: int, value: int, pause_ms: int) -> None:
    """With few windows, and in small pieces, over any ten seconds; with more windows they come in gusts."""
    rate, now, used = Rate(Windows(number, 1000), 0), 0, []
    while now < 25_000:
        rate.record(value, now)
        used.append((now, value))
        now += max(pause_ms, rate.throttle_ms(1000, now))
    for begin in (5000, 10_000, 15_000):
        got = sum(value for at, value in used if begin <= at < begin + 10_000)
        assert got <= 10_000 * 1.05
        assert got >= min(10_000, 10_000 * value // pause_ms) * 0.95


@given(windows, uses)
def test_the_time_is_all_windows_but_one_at_least(windows: Windows, uses: list[tuple[int, int]]) -> None:
    rate, now = Rate(windows, 0), 0
    for value, pause_ms in uses:
        now += pause_ms
        rate.record(value, now)
        used, passed_ms = rate.measure(now)
        assert used >= value
        assert passed_ms >= max(1, (windows.number - 1) * windows.size_ms)


@given(windows, uses)
def test_windows_of_nothing_leave_a_new_rate(windows: Windows, uses: list[tuple[int, int]]) -> None:
    rate, now = Rate(windows, 0), 0
    for value, pause_ms in uses:
        now += pause_ms
        rate.record(value, now)
        assert not rate.is_idle(now)
    now += windows.total_ms
    assert rate.is_idle(now)
    assert rate.measure(now) == Rate(windows, now).measure(now)


def test_tokens_are_there_at_first_and_come_back() -> None:
    bucket = TokenBucket(Windows())
    assert bucket.tokens(2, 1000) == 22
    bucket.take(30, 2, 1000)
    assert bucket.throttle_ms(2, 1000) == 4000
    assert bucket.throttle_ms(2, 5000) == 0
    assert not bucket.is_full(2, 15_999)
    assert bucket.is_full(2, 16_000)


@given(windows, st.floats(0.1, 100), st.lists(st.tuples(st.integers(0, 50), st.integers(0, 3000)), max_size=40))
def test_nobody_takes_more_tokens_than_came_and_one_request(
    windows: Windows, limit: float, asked: list[tuple[int, int]]
) -> None:
    bucket, now, taken, last = TokenBucket(windows), 0, 0, 0
    bucket.tokens(limit, 0)
    for count, pause_ms in asked:
        now += pause_ms
        if bucket.throttle_ms(limit, now) == 0:
            bucket.take(count, limit, now)
            taken, last = taken + count, count
    assert taken - last <= limit * (windows.total_ms + now + 1) / 1000 + 1e-6


def test_times_are_rounded_as_java_does_and_fit_the_field() -> None:
    assert [rounded(0.5), rounded(1.5), rounded(2.4), rounded(1e12)] == [1, 2, 2, 2**31 - 1]
