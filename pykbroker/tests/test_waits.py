import pytest

from pykbroker.waits import Deferred, WakeQueue


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
