import pytest

from pykbroker.runtime.waits import Deferred, WakeQueue, all_done


def test_callbacks_run_when_completed_and_at_once_afterwards() -> None:
    deferred: Deferred[int] = Deferred()
    seen: list[int] = []
    deferred.then(lambda done: seen.append(done.value))
    deferred.then(lambda done: seen.append(done.value + 1))
    assert not seen
    deferred.complete(1)
    deferred.then(lambda done: seen.append(done.value + 2))
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
    queue.schedule = scheduled.append
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


def test_a_failing_callback_does_not_stop_the_others(caplog) -> None:
    queue = WakeQueue()
    ran: list[int] = []
    queue.add(lambda: 1 // 0)
    queue.add(lambda: ran.append(1))
    queue.run()
    assert ran == [1]
    assert "others go on" in caplog.text


def failed(error: Exception) -> Deferred:
    deferred: Deferred = Deferred()
    deferred.fail(error)
    return deferred


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


def test_all_are_done_when_the_last_is_however_they_went() -> None:
    slow: Deferred[int] = Deferred()
    over = all_done([Deferred.completed(1), failed(KeyError()), slow])
    assert not over.done
    slow.fail(KeyError())
    assert over.value is None
    assert all_done([]).done
