"""Groups: pages of them, one with members and lag, and what an operator does to it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer

from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.tests.http.http_client import WithHttp
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

_EVIL = "<img src=x onerror=alert(1)>"


@contextmanager
def consuming(http: WithHttp, group: str, topic: str, **settings: Any) -> Iterator[None]:
    """A consumer that has read and committed all of a topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": http.kafka.bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            **settings,
        }
    )
    consumer.subscribe([topic])
    try:
        message = consumer.poll(60)
        assert message is not None
        consumer.commit(message, asynchronous=False)
        yield
    finally:
        consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_its_members_offsets_and_lag(http: WithHttp, protocol: str) -> None:
    topic, group = f"read-{protocol}", f"group-{protocol}"
    http.kafka.create_topic(topic, 2)
    http.kafka.produce(topic, "one", partition=0)
    with consuming(http, group, topic, **{"group.protocol": protocol, "client.id": _EVIL}):
        for _ in range(4):
            http.kafka.produce(topic, "more", partition=0)
        found = http.look("/group", group=group)
        assert (found["type"], found["lag"], found["members_in_all"]) == (protocol, 4, 1)
        (member,) = found["members"]
        assert (member["client"], member["assigned"]) == (_EVIL, 2)
        assert member["partitions"] == [f"{topic}-0", f"{topic}-1"]
        zero, one = found["offsets"]
        assert (zero["committed"], zero["end"], zero["lag"], zero["member"]) == (1, 5, 4, _EVIL)
        assert (one["committed"], one["lag"]) == (None, None)
        page = http.look("/group", group=group, start=1, limit=1)
        assert (page["total"], [each["partition"] for each in page["offsets"]]) == (2, [1])
        refused = http.changed("/groups/reset", group=group, topic=topic, to="earliest")
        assert (refused.status, "stop the consumers" in refused.json["title"]) == (409, True)
        assert http.changed("/groups/delete", group=group).json["title"].startswith("NON_EMPTY_GROUP")


def test_pages_of_groups(http: WithHttp) -> None:
    http.kafka.create_topic("for-pages")
    for name in ("page-1", "page-2", "page-3", ".."):
        http.change("/groups/reset", group=name, topic="for-pages", to="latest")
    found = http.look("/groups", match="PAGE-", start=1, limit=1)
    assert (found["total"], [each["group"] for each in found["groups"]]) == (3, ["page-2"])
    assert http.look("/group", group="..")["state"] == "Empty"


@pytest.mark.parametrize(
    ("said", "offsets"),
    [
        ({"to": "earliest"}, [0, 0]),
        ({"to": "latest"}, [10, 0]),
        ({"to": "offset", "offset": 4}, [4, 0]),
        ({"to": "offset", "offset": 99, "partitions": "0"}, [10]),
        ({"to": "time", "time": 1007}, [7, 0]),
        ({"to": "time", "time": 2**50}, [10, 0]),
    ],
)
def test_reset(http: WithHttp, said: dict[str, Any], offsets: list[int]) -> None:
    if "resets" not in http.kafka.topics():
        http.kafka.create_topic("resets", 2)
        for number in range(10):
            http.kafka.produce("resets", "x", partition=0, timestamp_ms=1000 + number)
    http.change("/groups/reset", group="to-reset", topic="resets", **said)
    committed = http.kafka.committed("to-reset")
    assert [committed["resets", index] for index in range(len(offsets))] == offsets


def test_resets_that_mean_nothing(http: WithHttp) -> None:
    http.kafka.create_topic("no-resets")
    for said in ({"to": "there"}, {"to": "offset"}, {"to": "time", "time": "x"}, {}):
        assert http.changed("/groups/reset", group="g", topic="no-resets", **said).status == 400, said
    assert http.changed("/groups/reset", group="g", topic="nobody", to="latest").status == 404


def test_delete(http: WithHttp) -> None:
    http.kafka.create_topic("for-delete")
    http.change("/groups/reset", group="goes", topic="for-delete", to="latest")
    http.change("/groups/delete", group="goes")
    assert http.look("/groups", match="goes")["total"] == 0
    assert http.changed("/groups/delete", group="goes").json["title"].startswith("GROUP_ID_NOT_FOUND")
    gone = http.look("/group", group="goes")
    assert (gone["state"], gone["members"], gone["offsets"]) == ("Dead", [], [])


def test_a_share_group_has_start_offsets_and_is_reset(http: WithHttp) -> None:
    http.kafka.create_topic("jobs")
    for number in range(5):
        http.kafka.produce("jobs", f"job {number}")
    member = str(uuid.UUID(int=7))
    with Client(parse_bootstrap(http.kafka.bootstrap_servers), timeout_s=30) as client:

        def beat(epoch: int) -> None:
            request = ShareGroupHeartbeatRequest("work", member, epoch, None, ["jobs"] if epoch == 0 else None)
            answer = client.coordinator("work").call(request, ShareGroupHeartbeatResponse)
            assert answer.error_code == 0, answer.error_message

        beat(0)
        http.kafka.wait_for_share_group("work", lambda group: ("jobs", 0) in group.partitions)
        found = http.look("/group", group="work")
        assert (found["type"], found["state"], found["members_in_all"]) == ("share", "Stable", 1)
        assert http.changed("/groups/reset", group="work", topic="jobs", to="offset", offset=2).status == 409
        beat(-1)
    http.change("/groups/reset", group="work", topic="jobs", to="offset", offset=2)
    found = http.look("/group", group="work")
    (row,) = found["offsets"]
    assert (row["committed"], row["end"], row["lag"], found["lag"]) == (2, 5, 3, 3)
    http.change("/groups/delete", group="work")
    assert http.kafka.share_group("work").state == "Dead"
