import asyncio
import gc
from collections.abc import Callable
from pathlib import Path

import pytest

import pykbroker
from pykbroker.runtime.waits import Deferred, WakeQueue, all_of, apply, as_wait, attempt, gather
from pykbroker.wire.errors import ErrorCode, KafkaError


def test_callbacks_run_when_completed_and_at_once_afterwards() -> None:
    deferred: Deferred[int] = Deferred()
    seen: list[int] = []
    deferred.when_done(lambda done: seen.append(done.value))
    deferred.when_done(lambda done: seen.append(done.value + 1))
    assert not seen
    deferred.complete(1)
    deferred.when_done(lambda done: seen.append(done.value + 2))
    assert seen == [1, 2, 3]


def test_the_first_result_stands() -> None:
    deferred = Deferred.completed(1)
    deferred.complete(2)
    deferred.fail(ValueError("late"))
    assert deferred.value == 1


def test_a_failure_is_raised_where_the_value_is_read() -> None:
    deferred: Deferred[int] = Deferred()
    with pytest.raises(RuntimeError, match="not done"):
        _ = deferred.value
    deferred.fail(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        _ = deferred.value


def test_the_wake_queue_runs_each_callback_once_a_turn() -> None:
    queue = WakeQueue()
    scheduled: list[object] = []
    queue.run_by(scheduled.append)
    runs: list[str] = []

    def again() -> None:
        runs.append("again")
        if len(runs) < 3:
            queue.add(again)

    queue.add(again)
    queue.add(again)
    assert len(scheduled) == 1
    queue.run()
    assert runs == ["again"]
    assert len(scheduled) == 2
    queue.run()
    queue.run()
    queue.run()
    assert runs == ["again"] * 3


def test_what_was_queued_before_there_was_a_loop_runs() -> None:
    """Else it would be queued for ever, and nothing behind it would run: the queue would never become non-empty again."""
    queue = WakeQueue()
    ran: list[int] = []
    queue.add(lambda: ran.append(1))
    scheduled: list[Callable[[], None]] = []
    queue.run_by(scheduled.append)
    (run,) = scheduled
    run()
    queue.add(lambda: ran.append(2))
    scheduled[-1]()
    assert ran == [1, 2]


def test_a_failing_callback_does_not_stop_the_others(caplog) -> None:
    queue = WakeQueue()
    ran: list[int] = []
    queue.add(lambda: 1 // 0)
    queue.add(lambda: ran.append(1))
    queue.run()
    assert ran == [1]
    assert "others run" in caplog.text


failed = Deferred.failed


def test_a_mapped_result_comes_when_the_first_does() -> None:
    first: Deferred[int] = Deferred()
    mapped = first.map(lambda value: value + 1)
    assert not mapped.done
    first.complete(1)
    assert mapped.value == 2


def test_whoever_waits_for_a_mapped_result_hears_of_every_failure() -> None:
    with pytest.raises(KeyError):
        _ = failed(KeyError("first")).map(str).value
    with pytest.raises(ZeroDivisionError):
        _ = Deferred.completed(0).map(lambda value: 1 // value).value


def test_a_chained_result_waits_for_both() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[str] = Deferred()
    chained = first.chain(lambda _: second)
    first.complete(1)
    assert not chained.done
    second.complete("both")
    assert chained.value == "both"


def test_whoever_waits_for_a_chained_result_hears_of_every_failure() -> None:
    with pytest.raises(KeyError):
        _ = failed(KeyError("first")).chain(Deferred.completed).value
    with pytest.raises(KeyError):
        _ = Deferred.completed(1).chain(lambda _: failed(KeyError("second"))).value
    with pytest.raises(ZeroDivisionError):
        _ = Deferred.completed(0).chain(lambda value: Deferred.completed(1 // value)).value


def test_a_failure_alone_can_be_passed_on() -> None:
    told: Deferred[str] = Deferred()
    Deferred.completed(1).pass_failure_to(told)
    assert not told.done
    failed(KeyError("late")).pass_failure_to(told)
    with pytest.raises(KeyError):
        _ = told.value


def test_one_failing_callback_neither_starves_the_others_nor_reaches_who_completes(caplog) -> None:
    deferred: Deferred[int] = Deferred()
    seen: list[int] = []
    deferred.when_done(lambda _: 1 // 0)
    deferred.when_done(lambda done: seen.append(done.value))
    deferred.complete(1)
    deferred.when_done(lambda _: 1 // 0)
    assert seen == [1]
    assert caplog.text.count("Unhandled error in a callback") == 2


def test_one_kind_of_error_is_recovered_from_and_others_are_passed_on() -> None:
    assert failed(KeyError("k")).recover(KeyError, lambda error: error.args[0]).value == "k"
    assert Deferred.completed(1).recover(KeyError, lambda _: 2).value == 1
    with pytest.raises(ValueError, match="other"):
        _ = failed(ValueError("other")).recover(KeyError, lambda _: 2).value
    with pytest.raises(ZeroDivisionError):
        _ = failed(KeyError()).recover(KeyError, lambda _: 1 // 0).value


def test_settled_is_done_however_it_went() -> None:
    slow: Deferred[int] = Deferred()
    over = slow.settled()
    assert not over.done
    slow.fail(KeyError())
    assert over.value is None


def test_a_call_that_raises_and_one_that_fails_are_the_same() -> None:
    assert attempt(Deferred.completed, 1).value == 1
    with pytest.raises(TypeError):
        _ = attempt(int, 1, 2, 3).value


def test_results_are_gathered_in_their_order_once_all_are_done() -> None:
    first: Deferred[int] = Deferred()
    second: Deferred[int] = Deferred()
    both = gather([first, second])
    second.complete(2)
    assert not both.done
    first.complete(1)
    assert both.value == [1, 2]
    assert gather([]).value == []


def test_a_gathered_failure_waits_for_the_others() -> None:
    slow: Deferred[int] = Deferred()
    both = gather([failed(KeyError("first")), slow, failed(ValueError("second"))])
    assert not both.done
    slow.complete(1)
    with pytest.raises(KeyError):
        _ = both.value


def test_a_failure_for_which_nobody_waits_is_logged(caplog) -> None:
    Deferred.completed(1).or_log("looking after %s", "t-0")
    assert not caplog.records
    failed(KeyError("lost")).or_log("looking after %s", "t-0")
    assert "Unhandled error while looking after t-0" in caplog.text
    assert "lost" in caplog.text


#: The ends of the line, where a callback may listen for itself: the verbs, and the socket.
ENDS = {"runtime/waits.py", "network/connection.py", "network/streaming.py"}


def test_waits_go_on_by_the_verbs_that_lose_no_failure() -> None:
    root = Path(pykbroker.__file__).parent
    rooms = {room.name for room in root.iterdir()} - {"tests", "simulation", "wire"}
    raw = {
        str(path.relative_to(root))
        for room in rooms
        for path in (root / room).rglob("*.py")
        if ".when_done(" in path.read_text()
    }
    assert raw == ENDS


def test_what_is_here_needs_no_wait() -> None:
    assert apply(str, 1) == "1"
    assert all_of([1, 2]) == [1, 2]
    assert as_wait(1).value == 1
    with pytest.raises(ZeroDivisionError):
        apply(lambda number: 1 / number, 0)


def test_what_is_not_here_is_waited_for() -> None:
    late: Deferred[int] = Deferred()
    assert as_wait(late) is late
    text, both = apply(str, late), all_of([1, late])
    assert isinstance(text, Deferred)
    assert isinstance(both, Deferred)
    assert not text.done
    assert not both.done
    late.complete(2)
    assert text.value == "2"
    assert both.value == [1, 2]


@pytest.mark.parametrize("early", [True, False])
def test_a_failure_is_folded_too_and_what_folding_raises_is_passed_on(early: bool) -> None:
    failing: Deferred[int] = Deferred()
    if early:
        failing.fail(ValueError("broken"))
    told = failing.fold(lambda done: repr(done.error))
    passed = failing.fold(lambda done: done.value)
    failing.fail(ValueError("broken"))
    assert told.value == "ValueError('broken')"
    assert isinstance(passed.error, ValueError)


def test_a_cancellation_reaches_who_waits() -> None:
    cancelled: Deferred[int] = Deferred()
    mapped, told = cancelled.map(str), cancelled.fold(lambda done: "handled")
    cancelled.fail(asyncio.CancelledError())
    assert isinstance(mapped.error, asyncio.CancelledError)
    assert isinstance(told.error, asyncio.CancelledError)


def test_a_refusal_leaves_no_cycle() -> None:
    """Its traceback has frames that refer to the wait that keeps it: a request with many refused items would leave all of them to a
    collection that holds the loop. What is no answer keeps its traceback, for the log.
    """

    def refuse() -> Deferred[int]:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)

    def ask() -> ErrorCode:
        wait = attempt(refuse)
        found = wait.recover(KafkaError, lambda error: error.code)
        assert wait.error is not None
        return found.value  # type: ignore[return-value]

    gc.collect()
    gc.disable()
    try:
        assert ask() is ErrorCode.GROUP_ID_NOT_FOUND
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert attempt(lambda: 1 / 0).error.__traceback__ is not None  # type: ignore[arg-type, return-value, union-attr]
