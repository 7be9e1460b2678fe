"""The way of CONTRIBUTING.md, walked: an API that answers a constant is one module, a row in the table, and a row of rights."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from pykbroker.access import checks
from pykbroker.access.step import authorise
from pykbroker.access.table import CHECKS
from pykbroker.access.whole import OfCluster
from pykbroker.handlers.table import SUPPORTED, ServedApi
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.security.operations import CLUSTER_ACTION
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

ADDED = ServedApi(ApiKey.ALLOCATE_PRODUCER_IDS, 0, 0, "added_here")


@pytest.fixture
def dispatcher(monkeypatch: pytest.MonkeyPatch) -> Dispatcher:
    module = ModuleType(f"pykbroker.handlers.{ADDED.handler}")
    module.handle = lambda broker, ctx, request: AllocateProducerIdsResponse(producer_id_start=7, producer_id_len=1000)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(CHECKS, ADDED.key, (OfCluster(CLUSTER_ACTION),))
    monkeypatch.setitem(checks._HANDLERS, int(ADDED.key), ADDED.handler)
    return Dispatcher([*SUPPORTED, ADDED])


def test_it_is_answered(dispatcher: Dispatcher) -> None:
    answer = MemoryCluster(dispatcher=dispatcher).ask(AllocateProducerIdsRequest(), 0)
    assert (answer.error_code, answer.producer_id_start, answer.producer_id_len) == (0, 7, 1000)


def test_it_is_refused_without_rights_though_the_module_has_nothing_for_that(dispatcher: Dispatcher) -> None:
    """The error is in a field of the answer's own, and in no list."""
    world = MemoryCluster(dispatcher=dispatcher, authorizer_class_name=STANDARD_AUTHORIZER)
    dispatcher.places.fill(Place.AUTHORISE, authorise)
    answer = world.ask(AllocateProducerIdsRequest(), 0)
    assert (answer.error_code, answer.producer_id_len) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, 0)
