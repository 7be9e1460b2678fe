from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.replication.following import FetchPlace, FollowerDecision, FollowerStep, Following
from pykbroker.storage.log.epochs import LeaderEpochs
from pykbroker.tests.kit.depth import examples
from pykbroker.wire.errors import ErrorCode


class EpochsAlone:
    """A log of which only the leader epoch of each record is known."""

    def __init__(self, epochs: list[int], high_watermark: int = 0) -> None:
        self.epochs = list(epochs)
        self.high_watermark = high_watermark

    @property
    def cache(self) -> LeaderEpochs:
        entries = [(epoch, at) for at, epoch in enumerate(self.epochs) if not at or self.epochs[at - 1] != epoch]
        return LeaderEpochs(entries)

    @property
    def log_end_offset(self) -> int:
        return len(self.epochs)

    @property
    def latest_epoch(self) -> int:
        return self.cache.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.cache.end_offset(epoch, len(self.epochs))


def test_it_fetches_from_its_end() -> None:
    following = Following(4, EpochsAlone([1, 1, 3]))
    assert following.begin() is None
    assert following.place == FetchPlace(4, 3, 3)
    assert following.answered(FetchPlace(4, 3, 3), 0, None) == FollowerDecision(FollowerStep.APPEND)


def test_an_answer_to_another_place_is_ignored() -> None:
    log = EpochsAlone([1, 1])
    following = Following(4, log)
    asked = following.place
    assert asked is not None
    log.epochs.append(4)
    following.appended()
    assert following.answered(asked, 0, None) == FollowerDecision(FollowerStep.IGNORE)
    assert following.leader_has(asked, 0, 0) == FollowerDecision(FollowerStep.IGNORE)


def test_errors() -> None:
    following = Following(4, EpochsAlone([1]))
    asked = following.place
    assert asked is not None
    assert following.answered(asked, ErrorCode.UNKNOWN_LEADER_EPOCH, None) == FollowerDecision(FollowerStep.BACK_OFF)
    assert following.answered(asked, ErrorCode.NOT_LEADER_OR_FOLLOWER, None) == FollowerDecision(FollowerStep.BACK_OFF)
    assert following.answered(asked, ErrorCode.OFFSET_OUT_OF_RANGE, None) == FollowerDecision(FollowerStep.ASK_OFFSETS)
    assert following.answered(asked, ErrorCode.FENCED_LEADER_EPOCH, None) == FollowerDecision(FollowerStep.STOP)
    assert following.place is None


def test_out_of_range() -> None:
    log = EpochsAlone([1, 1, 1])
    following = Following(4, log)
    asked = following.place
    assert asked is not None
    assert following.leader_has(asked, 0, 9) == FollowerDecision(FollowerStep.BACK_OFF)
    assert following.leader_has(asked, 0, 2) == FollowerDecision(FollowerStep.TRUNCATE, 2)
    assert following.place is None  # while it is truncated
    del log.epochs[2:]
    following.moved()
    asked = following.place
    assert asked == FetchPlace(4, 2, 1)
    assert following.leader_has(asked, 7, 9) == FollowerDecision(FollowerStep.START_OVER, 7)


def test_a_log_without_epochs_is_cut_to_its_high_watermark() -> None:
    class OldLog(EpochsAlone):
        latest_epoch = -1

    following = Following(4, OldLog([0, 0, 0], high_watermark=2))
    assert following.begin() == FollowerDecision(FollowerStep.TRUNCATE, 2)
    assert following.place is None


_logs = st.lists(st.integers(0, 4), max_size=6).map(sorted)


@settings(max_examples=examples(200))
@given(_logs, _logs, _logs)
def test_any_two_logs_become_alike(common: list[int], mine: list[int], theirs: list[int]) -> None:
    """Whatever both have after what is common, a few fetches cut the follower's log to what the leader has too (KIP-279).

    Two logs have the same records where they have the same epoch since the same offset, which is what an election sees to.
    """
    floor = max(common, default=0)
    log = EpochsAlone(common + [floor + 2 * epoch + 1 for epoch in mine])
    leader = EpochsAlone(common + [floor + 2 * epoch + 2 for epoch in theirs])
    following = Following(100, log)
    for _ in range(20):
        place = following.place
        assert place is not None
        epoch, end = leader.end_offset_for_epoch(place.last_fetched_epoch)
        if place.last_fetched_epoch >= 0 and epoch < 0:
            decision = following.leader_has(place, 0, leader.log_end_offset)
        elif place.last_fetched_epoch >= 0 and (epoch < place.last_fetched_epoch or end < place.offset):
            decision = following.answered(place, 0, (epoch, end))
        else:
            decision = following.answered(place, 0, None)
        if decision.step is FollowerStep.APPEND:
            break
        if decision.step is not FollowerStep.BACK_OFF:
            del log.epochs[decision.offset :]
            following.moved()
        else:
            return  # the leader knows no epoch that old, and has more: it will refuse until it has one
    assert log.epochs == leader.epochs[: len(log.epochs)]
