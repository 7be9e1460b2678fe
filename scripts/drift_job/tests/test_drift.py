"""What changed from 4.3.1 to 4.4.0, as the jars of both say, which other tests have."""

from __future__ import annotations

import os

import pytest

from scripts.drift_job.__main__ import changes, of_programs, of_schemas

SETS = ("kafka-4.3", "kafka")


@pytest.mark.parametrize(
    ("title", "line"),
    [
        ("Messages", "+ request UnregisterControllerRequest (key 94): versions 0, flexible 0+"),
        ("Messages", "- request ApiVersionsRequest (key 18): versions 0-4, flexible 3+"),
        ("Messages", "+ request ApiVersionsRequest (key 18): versions 0-5, flexible 3+"),
        ("Messages", "+ request ApiVersionsRequest: ApiVersionsRequest.nodeId int32 in 5+, default -1"),
        ("Records", "+ metadata UnregisterControllerRecord: UnregisterControllerRecord.controllerId int32 in 0+"),
    ],
)
def test_what_the_schemas_say(title: str, line: str) -> None:
    found = dict(of_schemas(SETS))
    assert line in found[title], "\n".join(found[title])


@pytest.mark.skipif("PYKBROKER_LONG" not in os.environ, reason="it takes long: PYKBROKER_LONG=1 has it run")
def test_what_the_classes_say() -> None:
    found = dict(of_programs(SETS))
    assert {
        "+ 136\tCONTROLLER_ID_NOT_REGISTERED\tfalse\tfalse\tThe given controller ID was not registered.",
    } <= set(found["Errors"])
    assert {
        "+ metadata.version: new clusters begin at 33",
        "+ share.version 2 since 4.4-IV0, needs {}",
    } <= set(found["Features"])
    assert {
        "+ group streams.num.warmup.replicas: INT = 2 [0,...], MEDIUM, internal",
        "+ broker log.remote.copy.lag.ms: LONG = 0 [-1,...], MEDIUM, cluster-wide",
    } <= set(found["Settings"])


def test_lines_that_both_have_are_no_change() -> None:
    assert changes(["a", "b", "---"], ["b", "c", "---"]) == ["- a", "+ c"]
    assert changes(["a"], ["a"]) == []
