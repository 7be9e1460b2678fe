"""An answer that is built in parts is the answer that is built at once."""

from __future__ import annotations

import importlib

import pytest

from pykbroker.handlers.table import SUPPORTED
from pykbroker.refusals.in_parts import parts, refused
from pykbroker.tests.kit.large_requests import LARGE, MANY, ROWS
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)

HANDLERS = {api.key: importlib.import_module(f"pykbroker.handlers.{api.handler}") for api in SUPPORTED}
#: These name nothing, though their answers may be large; the answer to a topology has nothing of it.
NAMELESS = (
    ApiKey.LIST_GROUPS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.PUSH_TELEMETRY,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
)
REFUSING = [key for key in LARGE if hasattr(HANDLERS[key], "failed") and key not in NAMELESS]


def in_full(work):
    """The result, and the number of steps."""
    steps = 0
    while True:
        try:
            next(work)
        except StopIteration as ended:
            return ended.value, steps
        steps += 1


@pytest.mark.parametrize("key", REFUSING, ids=lambda key: key.name)
def test_a_large_request_is_refused_part_by_part(key: ApiKey) -> None:
    request, version = ROWS[key]()
    error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "why")

    def refuse(part):
        return HANDLERS[key].failed(part, version, error)

    answer, steps = in_full(refused(request, refuse))
    assert steps >= MANY // 120
    assert answer == refuse(request)


def test_an_item_is_divided_at_every_level() -> None:
    topics = [AlterReplicaLogDirTopic(f"t{number}", list(range(number * 70))) for number in range(5)]
    request = AlterReplicaLogDirsRequest([AlterReplicaLogDir("a", topics), AlterReplicaLogDir("b", topics[:2])])
    seen = []
    for part, divided in parts(request):
        flat = [(d.path, t.name, p) for d in part.dirs for t in d.topics for p in t.partitions]
        assert len(flat) <= 100
        assert divided <= 2
        seen += flat
    assert seen == [(d.path, t.name, p) for d in request.dirs for t in d.topics for p in t.partitions]


def test_a_small_request_is_one_part() -> None:
    request = AlterReplicaLogDirsRequest([AlterReplicaLogDir("a", [AlterReplicaLogDirTopic("t", [1, 2])])])
    assert [(part, divided) for part, divided in parts(request)] == [(request, 0)]
    assert in_full(refused(request, lambda part: part)) == (request, 0)
