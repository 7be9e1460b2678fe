"""From a frame to its answer, around places that are filled."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.table import SUPPORTED
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place, through
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def ask(dispatcher: Dispatcher, request: Any = None, version: int = 4) -> Deferred[Any]:
    """The answer of a new cluster behind this dispatcher."""
    return MemoryCluster(dispatcher=dispatcher).post(request or HeartbeatRequest(group_id="g", member_id="m"), version)


def test_a_guard_stands_around_every_handler_from_when_it_is_there() -> None:
    refused = Deferred.failed(KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    dispatcher = Dispatcher()
    assert ask(dispatcher).value.error_code == ErrorCode.NOT_COORDINATOR
    dispatcher.places.fill(Place.AUTHORISE, lambda _key, _handle: lambda *_: refused)
    assert ask(dispatcher).value.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    dispatcher.places.empty(Place.AUTHORISE)
    assert ask(dispatcher).value.error_code == ErrorCode.NOT_COORDINATOR


def test_a_step_may_answer_by_itself_and_later() -> None:
    later: Deferred[Any] = Deferred()
    answer = ask(Dispatcher(filled={Place.INTERCEPT: through(lambda *_: later)}))
    assert not answer.done
    later.complete(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    assert answer.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("when", ["at once", "in a wait that is over", "later"])
def test_a_steps_refusal_is_told_as_the_handlers_own(when) -> None:
    error = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    waiting: Deferred[Any] = Deferred()

    def refuse(*_: Any) -> Any:
        if when == "at once":
            raise error
        if when != "later":
            waiting.fail(error)
        return waiting

    answer = ask(Dispatcher(filled={Place.INTERCEPT: through(refuse)}))
    assert answer.done == (when != "later")
    waiting.fail(error)
    assert answer.value.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_a_step_may_see_that_nothing_is_sent() -> None:
    assert ask(Dispatcher(filled={Place.INTERCEPT: through(lambda *_: None)})).value is None


def test_a_dispatcher_may_have_a_table_of_its_own() -> None:
    few = Dispatcher([api for api in SUPPORTED if api.key == ApiKey.FIND_COORDINATOR])
    found = ask(few, FindCoordinatorRequest(coordinator_keys=["g"])).value
    assert len(found.coordinators) == 1
    with pytest.raises(CloseConnection, match="UNSUPPORTED_VERSION"):
        ask(few)
