"""Settings with what they mean, and their change."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.tests.http.http_client import WithHttp, with_http


def setting(http: WithHttp, of: str, name: str, which: str) -> dict[str, Any]:
    found = http.look("/settings", of=of, name=name)["settings"]
    assert [each["name"] for each in found] == sorted(each["name"] for each in found)
    (one,) = [each for each in found if each["name"] == which]
    return one


def test_of_a_topic(http: WithHttp) -> None:
    http.kafka.create_topic("set")
    before = setting(http, "topic", "set", "max.message.bytes")
    assert (before["value"], before["type"], before["source"]) == ("1048588", "int", "DEFAULT_CONFIG")
    assert before["documentation"]
    http.change("/settings/alter", of="topic", name="set", setting="max.message.bytes", value="1000")
    after = setting(http, "topic", "set", "max.message.bytes")
    assert (after["value"], after["source"]) == ("1000", "TOPIC_CONFIG")
    http.change("/settings/alter", of="topic", name="set", setting="max.message.bytes", value=None)
    assert setting(http, "topic", "set", "max.message.bytes")["source"] == "DEFAULT_CONFIG"
    bad = http.changed("/settings/alter", of="topic", name="set", setting="max.message.bytes", value="soon")
    assert (bad.status, bad.json["title"].partition(":")[0]) == (409, "INVALID_CONFIG")


@pytest.mark.parametrize("broker", ["1", "2"])
def test_of_each_broker(http: WithHttp, broker: str) -> None:
    """A broker speaks for itself alone: each is asked itself."""
    http.change("/settings/alter", of="broker", name=broker, setting="log.cleaner.threads", value="2")
    found = setting(http, "broker", broker, "log.cleaner.threads")
    assert (found["value"], found["source"]) == ("2", "DYNAMIC_BROKER_CONFIG")
    assert setting(http, "broker", broker, "node.id")["read_only"]


def test_of_nobody(http: WithHttp) -> None:
    assert http.refusal("/settings", of="topic", name="absent")[0] == 409
    assert http.refusal("/settings", of="broker", name="9") == (503, "broker 9 is stopped")


def test_secrets_are_kept() -> None:
    secret = "hunter2hunter2"
    with with_http(settings={"ssl.key.password": secret}) as http:
        found = http.ask("/console/api/settings?of=broker&name=1")
        assert secret not in found.text
        assert setting(http, "broker", "1", "ssl.key.password")["secret"]
