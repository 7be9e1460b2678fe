"""Quotas: listed, set, taken away, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.tests.http.http_client import WithHttp


def entity(*parts: tuple[str, str | None]) -> list[dict[str, Any]]:
    return [{"type": kind, "name": name} for kind, name in parts]


def test_set_listed_and_taken_away(http: WithHttp) -> None:
    alice, both, rest = entity(("user", "alice")), entity(("user", "alice"), ("client-id", None)), entity(("ip", None))
    http.change("/quotas/alter", entity=alice, quota="producer_byte_rate", value="1048576")
    http.change("/quotas/alter", entity=both, quota="request_percentage", value="12.5")
    http.change("/quotas/alter", entity=rest, quota="connection_creation_rate", value="7")
    listed = [
        {"entity": rest, "quota": "connection_creation_rate", "value": 7},
        {"entity": alice, "quota": "producer_byte_rate", "value": 1048576},
        {"entity": both, "quota": "request_percentage", "value": 12.5},
    ]
    assert http.look("/quotas") == {"total": 3, "start": 0, "quotas": listed}
    assert http.look("/quotas", start=1, limit=1)["quotas"] == listed[1:2]
    assert http.look("/quotas", match="ALICE")["quotas"] == listed[1:]
    assert http.look("/quotas", match="creation")["quotas"] == listed[:1]
    for each in listed:
        http.change("/quotas/alter", entity=each["entity"], quota=each["quota"], value=None)
    assert http.look("/quotas")["total"] == 0


@pytest.mark.parametrize(
    ("status", "change"),
    [
        (400, {"value": "many"}),
        (400, {"value": "nan"}),
        (400, {"value": "1e999"}),
        (400, {"value": 5}),
        (400, {"quota": None}),
        (400, {"entity": "user"}),
        (400, {"entity": entity(("group", "g"))}),
        (400, {"entity": [{"type": "user", "name": 1}]}),
        (400, {"entity": entity(*[("user", "a")] * 4)}),
        (409, {"quota": "colour"}),
        (409, {"value": "-1"}),
        (409, {"entity": []}),
        (409, {"entity": entity(("user", "a"), ("ip", "10.0.0.1"))}),
        (409, {"entity": entity(("ip", "<script>"))}),
    ],
)
def test_what_is_none(http: WithHttp, status: int, change: dict[str, Any]) -> None:
    said = {"entity": entity(("user", "a")), "quota": "producer_byte_rate", "value": "1"} | change
    assert http.changed("/quotas/alter", **said).status == status
    assert http.look("/quotas")["total"] == 0
