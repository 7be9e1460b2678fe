from __future__ import annotations

from pykbroker.replication.isr import CommittedIsr, Isr, IsrMember, ProposedIsr
from pykbroker.wire.errors import ErrorCode


def members(*brokers: int) -> list[IsrMember]:
    return [IsrMember(broker, broker * 10) for broker in brokers]


def proposed() -> tuple[Isr, ProposedIsr]:
    isr = Isr(5, 1, [1, 2])
    return isr, isr.propose(members(1, 3))


def test_a_proposal_counts_beside_what_is_committed() -> None:
    isr, change = proposed()
    assert change == ProposedIsr(5, 1, (IsrMember(1, 10), IsrMember(3, 30)))
    assert isr.committed == {1, 2}
    assert isr.maximal == {1, 2, 3}


def test_an_answer_commits() -> None:
    isr, change = proposed()
    assert isr.granted(change, CommittedIsr(5, 2, (1, 3)))
    assert (isr.committed, isr.maximal, isr.partition_epoch, isr.proposed) == ({1, 3}, {1, 3}, 2, None)


def test_answers_of_other_epochs_and_to_other_proposals_are_ignored() -> None:
    isr, change = proposed()
    assert not isr.granted(change, CommittedIsr(4, 2, (1, 3)))
    assert not isr.granted(change, CommittedIsr(5, 0, (1, 3)))
    assert isr.published(2, [1])
    assert not isr.granted(change, CommittedIsr(5, 2, (1, 3)))
    assert isr.committed == {1}


def test_a_refusal_says_what_is_committed_only_where_nothing_was_applied() -> None:
    for code in (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA):
        isr, change = proposed()
        assert not isr.refused(change, code)
        assert isr.maximal == {1, 2}
    for code in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.NEW_LEADER_ELECTED):
        isr, change = proposed()
        assert not isr.refused(change, code)
        assert isr.maximal == {1, 2, 3}  # until metadata say which
    isr, change = proposed()
    assert isr.refused(change, ErrorCode.UNKNOWN_SERVER_ERROR)  # again
    assert isr.maximal == {1, 2, 3}


def test_metadata_of_the_same_epoch_leave_a_proposal() -> None:
    isr, _ = proposed()
    assert not isr.published(1, [1, 2])
    assert not isr.published(0, [1])
    assert isr.maximal == {1, 2, 3}
    assert isr.published(2, [1])
    assert isr.maximal == {1}
