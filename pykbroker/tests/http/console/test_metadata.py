"""The metadata log as it is shown: all of it, in pages, without secrets, and to nobody who may not see it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pykbroker.controller.scram import Upsertion
from pykbroker.tests.http.http_client import WithHttp, with_http


def newest(http: WithHttp, kind: str) -> dict[str, Any]:
    rows = http.look("/metadata", limit=200)["records"]
    return next(row["value"] for row in rows if row["type"] == kind)


def test_what_was_decided_the_newest_first(http: WithHttp) -> None:
    http.kafka.create_topic("decided", 3)
    alice = [{"type": "user", "name": "alice"}]
    http.change("/quotas/alter", entity=alice, quota="producer_byte_rate", value="1000")
    assert newest(http, "ClientQuotaRecord") | {"unknown_tagged_fields": None} == {
        "entity": [{"entity_type": "user", "entity_name": "alice"}],
        "key": "producer_byte_rate",
        "value": 1000.0,
        "remove": False,
        "unknown_tagged_fields": None,
    }
    assert newest(http, "TopicRecord")["name"] == "decided"
    assert newest(http, "PartitionRecord")["partition_id"] == 2


def test_in_pages_it_is_the_same(http: WithHttp) -> None:
    http.kafka.create_topic("paged", 300)
    whole = http.look("/metadata", limit=1)
    total, first = whole["total"], whole["records"][0]["offset"]
    found: list[int] = []
    while len(found) < total:
        page = http.look("/metadata", start=len(found), limit=70)
        assert page["total"] == total
        found += [row["offset"] for row in page["records"]]
    assert found == list(range(first, first - total, -1))
    assert found[-1] == 0
    assert http.look("/metadata", start=total)["records"] == []
    last = http.look("/metadata", start=total - 1)["records"]
    assert [row["type"] for row in last] == ["LEADER_CHANGE"]


@pytest.mark.parametrize("said", [{"start": -1}, {"start": "x"}, {"limit": 201}, {"limit": 0}, {"start": 2**60}])
def test_pages_that_are_none(http: WithHttp, said: dict[str, Any]) -> None:
    assert http.refusal("/metadata", **said)[0] == 400


def test_secrets_are_hidden(http: WithHttp) -> None:
    secret = "hunter2hunter2"
    upsertion = Upsertion("carol", 1, 4096, b"a-grain-of-salt", b"salted" * 8)
    http.kafka._ask(lambda cluster: cluster.controller.alter_scram_credentials([], [upsertion]))
    http.change("/settings/alter", of="broker", name="1", setting="a.plugin.secret", value=secret)
    http.change("/settings/alter", of="broker", name="1", setting="log.cleaner.threads", value="2")
    record = newest(http, "UserScramCredentialRecord")
    assert record["name"] == "carol"
    assert {record["salt"], record["stored_key"], record["server_key"]} == {"(hidden)"}
    shown = http.look("/metadata", limit=200)["records"]
    assert secret not in json.dumps(shown)
    configs = {row["value"]["name"]: row["value"]["value"] for row in shown if row["type"] == "ConfigRecord"}
    assert (configs["a.plugin.secret"], configs["log.cleaner.threads"]) == ("(hidden)", "2")


def test_who_may_not_see_it() -> None:
    authorizer = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    with with_http(settings=authorizer) as http:
        status, why = http.refusal("/metadata")
        assert (status, "may not cluster action the cluster" in why) == (403, True)
