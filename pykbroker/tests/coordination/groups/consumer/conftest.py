"""Each heartbeat that is answered at once is also taken as a step of its group, in all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykbroker.coordination.groups.consumer import requests
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.heartbeats import Heartbeat
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

at_once = requests.nothing_new


def as_a_step(
    group: ConsumerGroup, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | None:
    answer = at_once(group, context, request)
    if answer is not None:
        outcome = Heartbeat(context, request, Deferred(), {group.group_id: group}.get, group.around).beat(group, [])
        assert (outcome.records, [found for _, found in outcome.replies]) == ([], [answer])
        assert outcome.then is not None
        assert not outcome.then().effects
    return answer


@pytest.fixture(autouse=True)
def _compared() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests, "nothing_new", as_a_step)
        yield
