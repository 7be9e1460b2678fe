from __future__ import annotations

from pykbroker.replication.altering import Altering
from pykbroker.replication.isr import CommittedIsr, IsrMember, ProposedIsr


def change(partition_epoch: int) -> ProposedIsr:
    return ProposedIsr(1, partition_epoch, (IsrMember(1, 10),))


GRANTED = CommittedIsr(1, 2, (1,))


def test_one_request_is_under_way() -> None:
    altering: Altering[str, ProposedIsr] = Altering()
    assert altering.next_request() is None
    altering.submit("a", change(1))
    first = altering.next_request()
    assert first is not None
    assert first.changes == {"a": change(1)}
    altering.submit("b", change(1))
    assert altering.next_request() is None
    assert altering.answered(first.number, {"a": GRANTED}) == [("a", change(1), GRANTED)]
    second = altering.next_request()
    assert second is not None
    assert second.changes == {"b": change(1)}


def test_what_an_answer_leaves_out_goes_again() -> None:
    altering: Altering[str, ProposedIsr] = Altering()
    altering.submit("a", change(1))
    altering.submit("b", change(1))
    first = altering.next_request()
    assert first is not None
    altering.answered(first.number, {"a": 42})
    second = altering.next_request()
    assert second is not None
    assert second.changes == {"b": change(1)}


def test_what_a_lost_request_had_goes_again() -> None:
    altering: Altering[str, ProposedIsr] = Altering()
    altering.submit("a", change(1))
    first = altering.next_request()
    assert first is not None
    altering.failed(first.number)
    second = altering.next_request()
    assert second is not None
    assert second.changes == first.changes
    assert altering.answered(first.number, {"a": GRANTED}) == []  # late
    altering.failed(first.number)
    assert altering.next_request() is None


def test_a_newer_proposal_takes_the_place_of_one_under_way() -> None:
    altering: Altering[str, ProposedIsr] = Altering()
    older, newer = change(1), change(2)
    altering.submit("a", older)
    first = altering.next_request()
    assert first is not None
    altering.submit("a", newer)
    assert altering.answered(first.number, {"a": 42}) == [("a", older, 42)]
    second = altering.next_request()
    assert second is not None
    assert second.changes["a"] is newer


def test_nothing_is_sent_while_it_rests() -> None:
    altering: Altering[str, ProposedIsr] = Altering()
    altering.submit("a", change(1))
    altering.resting = True
    assert altering.next_request() is None
    altering.resting = False
    assert altering.next_request() is not None
