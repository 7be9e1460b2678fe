from __future__ import annotations

from pykbroker.replication.isr import CommittedIsr, Isr, IsrMember
from pykbroker.replication.leading import UNKNOWN_OFFSET, Leading

LAG_MS = 30_000


class Brokers:
    def __init__(self, *brokers: int) -> None:
        self.epochs = {broker: broker * 10 for broker in brokers}

    def epoch_of(self, broker_id: int) -> int | None:
        return self.epochs.get(broker_id)


class Case:
    """Broker 1 leads since offset ``start``; ``isr`` is what the controller has."""

    def __init__(self, isr: tuple[int, ...] = (1, 2, 3), *, start: int = 0, min_in_sync: int = 1, end: int = 0) -> None:
        self.brokers = Brokers(1, 2, 3)
        self.times: dict[int, int] = {}
        self.end = max(end, start)
        self.leading = Leading(
            1,
            Isr(5, 1, isr),
            [1, 2, 3],
            self.brokers,
            self.times,
            epoch_start=start,
            min_in_sync=min_in_sync,
            lag_ms=LAG_MS,
            now_ms=0,
        )

    def append(self, number: int = 1) -> None:
        self.leading.appended(self.end, self.end + number, number * 100)
        self.end += number

    def fetch(self, replica: int, offset: int, now_ms: int = 0, *, epoch: int | None = None, start: int = 0) -> bool:
        self.times[replica] = now_ms
        broker_epoch = replica * 10 if epoch is None else epoch
        return self.leading.fetched(replica, broker_epoch, offset, start, self.end, now_ms)

    def mark(self, now_ms: int = 0) -> int:
        return self.leading.high_watermark(self.end, now_ms)


def test_the_high_watermark_is_what_all_in_sync_have() -> None:
    case = Case()
    case.append(5)
    assert case.mark() == -1  # nobody has fetched yet
    case.fetch(2, 5)
    case.fetch(3, 2)
    assert case.mark() == 2
    case.fetch(3, 5)
    assert case.mark() == 5


def test_a_replica_out_of_sync_holds_nothing_up_until_it_is_caught_up() -> None:
    case = Case((1, 2))
    case.append(5)
    case.fetch(2, 5)
    case.fetch(3, 2)
    assert case.mark() == 5
    case.fetch(3, 5)
    case.append()
    case.fetch(2, 6)
    assert case.mark() == 5  # it could not join otherwise
    assert case.mark(LAG_MS + 1) == 6
    del case.brokers.epochs[3]
    assert case.mark() == 6


def test_the_high_watermark_stands_still_with_too_few_in_sync() -> None:
    case = Case((1,), min_in_sync=2)
    case.append()
    assert case.mark() == UNKNOWN_OFFSET
    assert not case.leading.enough_in_sync
    alone = Case((1,), min_in_sync=2)
    alone.leading.published([1], 2, [1], 0)
    alone.append()
    assert alone.mark() == 1  # no more replicas than one


def test_a_follower_that_has_everything_joins() -> None:
    case = Case((1, 2), start=3)
    case.fetch(3, 2)
    assert case.leading.expansion(0, 0) is None  # it lacks something of an epoch before
    case.fetch(3, 3)
    change = case.leading.expansion(0, 0)
    assert change is not None
    assert change.members == (IsrMember(1, 10), IsrMember(2, -1), IsrMember(3, 30))
    assert case.leading.expansion(0, 0) is None  # one at a time
    assert case.leading.isr.granted(change, CommittedIsr(5, 2, (1, 2, 3)))
    assert case.leading.expansion(0, 0) is None


def test_who_has_stopped_fetching_does_not_join() -> None:
    case = Case((1, 2))
    case.fetch(3, 0)
    assert case.leading.expansion(0, LAG_MS + 1) is None
    case.times[3] = 2  # in a session
    assert case.leading.expansion(0, LAG_MS + 1) is not None


def test_who_is_fenced_or_has_started_anew_does_not_join() -> None:
    case = Case((1, 2))
    case.fetch(3, 0)
    case.brokers.epochs[3] = 31
    assert case.leading.expansion(0, 0) is None
    assert not case.fetch(3, 0)  # an incarnation that has ended
    assert case.fetch(3, 0, epoch=31)
    del case.brokers.epochs[3]
    assert case.leading.expansion(0, 0) is None
    case.brokers.epochs[3] = 31
    assert case.leading.expansion(0, 0) is not None


def test_a_late_fetch_of_an_ended_incarnation_does_not_hide_the_later_one() -> None:
    """The metadata are behind; the later one fetches in a session, and names the partition no more."""
    case = Case((1, 2))
    assert case.fetch(3, 0, epoch=31)
    assert not case.fetch(3, 0)
    case.brokers.epochs[3] = 31
    assert case.leading.expansion(0, 0) is not None


def test_who_lags_leaves() -> None:
    case = Case()
    case.fetch(2, 0)
    case.fetch(3, 0)
    case.append()
    case.fetch(2, 1, 1_000)
    assert case.leading.shrinking(case.end, LAG_MS) is None
    change = case.leading.shrinking(case.end, LAG_MS + 1)
    assert change is not None
    assert [member.broker_id for member in change.members] == [1, 2]
    assert case.leading.shrinking(case.end, LAG_MS + 1) is None


def test_who_is_at_the_end_stays_however_long_ago_it_fetched() -> None:
    case = Case()
    case.append()
    case.fetch(2, 1)
    case.fetch(3, 1)
    assert case.leading.shrinking(case.end, 10 * LAG_MS) is None


def test_a_session_without_news_counts_at_the_next_append() -> None:
    """An idle minute, then an append: the ISR stays."""
    case = Case()
    case.fetch(2, 0)
    case.fetch(3, 0)
    case.times.update({2: 59_900, 3: 20_000})  # broker 3 has ended then
    case.append()
    change = case.leading.shrinking(case.end, 60_000)
    assert change is not None
    assert [member.broker_id for member in change.members] == [1, 2]


def test_whoever_has_what_the_leader_had_at_the_fetch_before_was_caught_up_then() -> None:
    """Under steady appends a follower is never at the end, and in sync nevertheless."""
    case = Case()
    now = 0
    case.fetch(2, 0)
    case.fetch(3, 0)
    for _ in range(10):
        before = case.end
        case.append()
        now += LAG_MS // 2
        case.fetch(2, before, now)
        case.fetch(3, before, now)
        assert case.leading.shrinking(case.end, now) is None


def test_bytes_count_for_readers_when_they_are_committed() -> None:
    case = Case()
    case.append(2)
    case.append(3)
    assert case.leading.committed_to(1) == 0
    assert case.leading.committed_to(2) == 200
    assert case.leading.committed_to(5) == 300


def test_the_low_watermark_is_that_of_living_replicas() -> None:
    case = Case()
    case.append(9)
    assert case.leading.low_watermark(7) == UNKNOWN_OFFSET
    case.fetch(2, 9, start=7)
    case.fetch(3, 9, start=4)
    assert case.leading.low_watermark(7) == 4
    del case.brokers.epochs[3]
    assert case.leading.low_watermark(7) == 7


def test_an_assignment_keeps_the_progress_of_those_who_stay() -> None:
    case = Case()
    case.fetch(2, 0)
    case.leading.published([1, 2, 4], 2, [1, 2], 0)
    assert set(case.leading.followers) == {2, 4}
    assert case.leading.followers[2].log_end == 0
    assert case.leading.followers[4].log_end == UNKNOWN_OFFSET
    assert not case.fetch(3, 0)
