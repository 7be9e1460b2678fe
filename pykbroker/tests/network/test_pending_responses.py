"""Responses wait for earlier ones, and are counted as held while they do."""

from __future__ import annotations

from pykbroker.network import pending_responses
from pykbroker.network.pending_responses import PendingResponses
from pykbroker.runtime.waits import Deferred


def test_responses_leave_in_the_order_of_requests() -> None:
    pending = PendingResponses()
    first, second, third = pending.add(), pending.add(), pending.add()
    assert (pending.fill(second, [b"22"]), pending.held_bytes) == ([], 2)
    answer = [b"1", b"1"]
    assert (pending.fill(first, answer), pending.held_bytes) == ([b"1", b"1", b"22"], 0)
    assert answer == [b"1", b"1"]
    assert pending.is_first(third)


def test_a_request_without_a_response_holds_up_no_later_one() -> None:
    pending = PendingResponses()
    silent, later = pending.add(), pending.add()
    assert pending.fill(later, [b"later"]) == []
    assert (pending.fill(silent, None), len(pending.queue)) == ([b"later"], 0)


def test_many_waiting_requests_or_many_held_bytes_are_the_limit() -> None:
    by_bytes = PendingResponses()
    by_bytes.add()
    by_bytes.fill(by_bytes.add(), [bytes(pending_responses._MAX_HELD_BYTES - 1)])
    assert not by_bytes.is_full
    by_bytes.fill(by_bytes.add(), [b"1"])
    assert by_bytes.is_full
    by_number = PendingResponses()
    for _ in range(pending_responses._MAX_WAITING):
        assert not by_number.is_full
        by_number.add()
    assert by_number.is_full


def test_the_first_response_is_not_counted_as_held() -> None:
    pending = PendingResponses()
    pending.fill(pending.add(), [b"1"])
    assert pending.held_bytes == 0


def test_abandoned_requests_are_told_so_and_their_bytes_are_released() -> None:
    pending = PendingResponses()
    told = []
    waiting: Deferred[None] = Deferred()
    waiting.when_abandoned = lambda: told.append("abandoned")
    pending.add().deferred = waiting  # type: ignore[assignment]
    pending.fill(pending.add(), [b"held"])
    pending.abandon()
    assert (told, pending.held_bytes, len(pending.queue)) == (["abandoned"], 0, 0)
