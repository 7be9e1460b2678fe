"""Access lists: listed, added, removed, and what is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykbroker.tests.http.http_client import WithHttp, with_http

_AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
_ONE = {
    "type": "TOPIC",
    "name": "orders",
    "pattern": "LITERAL",
    "principal": "User:alice",
    "host": "*",
    "operation": "READ",
    "permission": "ALLOW",
}


@pytest.fixture(scope="module")
def http() -> Iterator[WithHttp]:
    with with_http(settings=_AUTHORIZER | {"super.users": "User:console"}) as found:
        yield found


def test_added_listed_and_removed(http: WithHttp) -> None:
    others = [_ONE | {"principal": f"User:{name}"} for name in ("bob", "carol")]
    group = _ONE | {"type": "GROUP", "name": "g-", "pattern": "PREFIXED", "permission": "DENY", "host": "10.0.0.1"}
    for each in (_ONE, *others, group, _ONE):
        http.change("/acls/add", **each)
    assert http.look("/acls") == {"off": False, "total": 4, "start": 0, "acls": [group, _ONE, *others]}
    assert http.look("/acls", start=2, limit=1)["acls"] == [others[0]]
    assert http.look("/acls", match="DENY")["acls"] == http.look("/acls", match="g-")["acls"] == [group]
    assert http.change("/acls/remove", **others[0]) == {"removed": 1}
    assert http.change("/acls/remove", **others[0]) == {"removed": 0}
    assert others[0] not in http.look("/acls")["acls"]


@pytest.mark.parametrize(
    "change",
    [
        {"type": "ANY"},
        {"type": "topic"},
        {"pattern": "MATCH"},
        {"pattern": "ANY"},
        {"operation": "ANY"},
        {"permission": "ANY"},
        {"principal": None},
        {"principal": "User:" + "x" * 1000},
        {"name": ["a"]},
        {"host": 1},
        {"name": "\ud800"},
    ],
)
def test_no_filter_and_no_other_word_changes_anything(http: WithHttp, change: dict[str, object]) -> None:
    before = http.look("/acls")
    for path in ("/acls/add", "/acls/remove"):
        assert http.changed(path, **(_ONE | change)).status == 400, change
    assert http.look("/acls") == before


def test_what_the_broker_refuses_is_told(http: WithHttp) -> None:
    refused = http.changed("/acls/add", **(_ONE | {"type": "CLUSTER"}))
    assert (refused.status, refused.json["title"].partition(":")[0]) == (409, "INVALID_REQUEST")


def test_without_an_authorizer_there_are_none() -> None:
    with with_http() as http:
        assert http.look("/acls") == {"off": True, "total": 0, "start": 0, "acls": []}
        assert http.changed("/acls/add", **_ONE).json["title"].startswith("SECURITY_DISABLED")


def test_whom_the_authorizer_does_not_know() -> None:
    with with_http(settings=_AUTHORIZER | {"super.users": "User:ANONYMOUS"}) as http:
        assert "may not describe the cluster;" in http.refusal("/acls")[1]
        assert "may not alter the cluster;" in http.changed("/acls/add", **_ONE).json["title"]
        assert "may not alter the cluster;" in http.changed("/acls/remove", **_ONE).json["title"]
